internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that were in a shared store before the test began.
///
/// A row is one of them only if all rows are known that the test inserted.
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
            guard keys.count < 1000, let own = store.insertedKeys(of: table.name) else { continue }
            let left = keys.filter { !own.contains($0) }
            guard !left.isEmpty else { continue }
            // The superfluous rows are the ones that the assertion counted too many of.
            let isExact = relevance.links.contains {
                $0.table == folded(table.name) && $0.column == nil && -$0.delta == Double(left.count)
            }
            let keysLeft = Set(left)
            let last = store.lastStep(
                where: { _, change in change.kind == .inserted && keysLeft.contains(change.key) },
                of: table.name)
            let writers = store.earlierWriters(of: table.name, inStep: last?.index)
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
                    }, transaction: last.flatMap { store.steps[$0.index].number },
                    statement: writers.count == 1 ? writers[0] : nil,
                    statements: writers.count > 1 ? writers : [],
                    explanation: "This test didn't insert \(left.count == 1 ? "it" : "them")." + by,
                    relevance: isExact ? 60 : 15))
        }
        return findings
    }
}

extension StoreEvidence {
    /// Returns the statements that can have inserted rows of a table in a step, or before the test if the step is nil; empty
    /// if there may be others.
    fileprivate func earlierWriters(of table: String, inStep step: Int?) -> [StatementRecord] {
        let earlier = statements.filter { $0.record.phase == .earlier }
        let known = step.map { steps[$0].statements } ?? (hasAllWrites(of: table) ? earlier : [])
        let found = Blame.statements(
            known.map(\.record), changing: folded(table), [.inserted], among: linked)
        return found.count <= Self.maximumCandidates ? found : []
    }
}
