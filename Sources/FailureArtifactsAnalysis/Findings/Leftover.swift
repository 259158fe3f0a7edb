internal import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that were in a shared store before the test began.
enum Leftover: FindingRule {
    static let code = Finding.Code.leftover

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let hasEarlier = store.statements.contains {
            $0.record.phase == .earlier && $0.writes && $0.record.changes != 0
        }
        guard store.store.shared == true || store.store.openedBy != nil || hasEarlier else { return [] }
        let relevance = store.relevance(to: failure.message)
        var findings: [Finding] = []
        for table in store.tables where relevance.readTables.contains(folded(table.name)) {
            let name = quotedIdentifier(table.name)
            let key = store.keyColumns(of: table.name)
            let keys = try store.rows(
                "SELECT \(key.map(quotedIdentifier).joined(separator: ", ")) FROM \(name)", limit: 1000)
            guard keys.count < 1000 else { continue }
            let own = Set(
                store.steps.filter { !$0.isEarlier }.compactMap { $0.table(table.name) }.flatMap {
                    $0.rows
                }
                .filter { $0.kind == .inserted }.map(\.key))
            let isKnown = store.steps.contains { !$0.statements.isEmpty }
            let left = keys.filter { !own.contains($0) }
            let writers = store.statements.filter {
                $0.record.phase == .earlier && $0.outline.kind == .insert
                    && $0.outline.table == folded(table.name)
            }
            guard isKnown || !writers.isEmpty, !left.isEmpty else { continue }
            // The superfluous rows are the ones that the assertion counted too many of.
            let isExact = relevance.links.contains {
                $0.table == folded(table.name) && $0.column == nil && -$0.delta == Double(left.count)
            }
            let earlier = store.steps.lastIndex { $0.isEarlier && $0.table(table.name) != nil }
            let by = store.store.openedBy.map { " The store was opened by \($0.description)." } ?? ""
            findings.append(
                Finding(
                    code: code,
                    title: "\(Counted.items(Int64(left.count), "row")) of \(table.name) "
                        + "\(left.count == 1 ? "was" : "were") in the store before the test",
                    confidence: isExact ? .likely : .possible, store: store.name,
                    rows: left.prefix(20).map { rowKey in
                        Finding.Row(
                            table: table.name,
                            key: Finding.Row.key(key, rowKey),
                            change: .present)
                    }, transaction: earlier.flatMap { store.steps[$0].number },
                    statement: writers.last?.record,
                    explanation: "No transaction of this test inserted them." + by,
                    relevance: isExact ? 60 : 15))
        }
        return findings
    }
}
