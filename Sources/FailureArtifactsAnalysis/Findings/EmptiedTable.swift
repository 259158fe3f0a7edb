internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A transaction, such as a migration, that left a table without rows or a column without values.
enum EmptiedTable: FindingRule {
    static let code = Finding.Code.emptiedTable

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        var counts: [String: Int64] = [:]
        for table in store.tables {
            counts[folded(table.name)] = try store.count(
                "SELECT count(*) FROM \(quotedIdentifier(table.name))")
        }
        for (index, step) in store.steps.enumerated().reversed() {
            for changed in step.tables {
                let name = changed.table.name
                let after = counts[folded(name)] ?? 0
                let before = after - changed.counts.inserted + changed.counts.deleted
                counts[folded(name)] = before
                guard !step.isEarlier else { continue }
                let isMigration = step.changes.schema.contains { $0.type == "table" }
                if before > 0, after == 0, changed.counts.deleted > 0 {
                    let isDropped = store.schema.tables[folded(name)] == nil
                    let isRefilled =
                        try !isDropped
                        && store.count("SELECT EXISTS (SELECT 1 FROM \(quotedIdentifier(name)))") != 0
                    if isRefilled || (isDropped && isRenamed(name, in: step)) { continue }
                    let origin = store.origin(inStep: index, of: name, by: [.delete, .definition])
                    findings.append(
                        Finding(
                            code: code,
                            title: isDropped
                                ? "Table \(name) was dropped with its \(Counted.items(before, "row"))"
                                : "Table \(name) lost its \(Counted.items(before, "row"))",
                            confidence: isMigration && !isDropped ? .likely : .possible,
                            store: store.name,
                            rows: changed.rows.prefix(10).map { StoreEvidence.row($0, in: changed) },
                            transaction: step.number, statement: origin.statement?.record,
                            explanation: "It had \(Counted.items(before, "row")) before "
                                + (step.number.map { "transaction \($0)" } ?? "the open transaction")
                                + (isMigration ? ", which also changed the schema," : "")
                                + " and has none since.",
                            relevance: isMigration ? 45 : 20, likelyFrom: 75))
                }
                findings += emptiedColumns(changed, step, index, isMigration, rows: after, in: store)
            }
        }
        return findings
    }

    /// True if the same step created a table that may have the rows now.
    private static func isRenamed(_ table: String, in step: StoreEvidence.Step) -> Bool {
        step.tables.contains { $0.counts.inserted > 0 && folded($0.table.name) != folded(table) }
    }

    private static func emptiedColumns(
        _ changed: ChangedTable, _ step: StoreEvidence.Step, _ index: Int, _ isMigration: Bool,
        rows: Int64,
        in store: StoreEvidence
    ) -> [Finding] {
        let updated = changed.rows.filter { $0.kind == .updated }
        guard updated.count > 1 else { return [] }
        var findings: [Finding] = []
        for column in changed.table.commonColumns {
            let emptied = updated.filter { row in
                guard let cell = row.cell(column), let old = cell.old, let new = cell.new else {
                    return false
                }
                return !old.isNull && isEmpty(new) && !isEmpty(old)
            }
            guard emptied.count > 1, Int64(emptied.count) * 2 > min(rows, Int64(updated.count)),
                isMigration || Int64(emptied.count) >= rows
            else { continue }
            let origin = store.origin(
                inStep: index, of: changed.table.name, by: [.update, .insert, .definition])
            findings.append(
                Finding(
                    code: code,
                    title:
                        "\(Counted.items(Int64(emptied.count), "row")) of \(changed.table.name) lost the value of \(column)",
                    confidence: isMigration ? .likely : .possible, store: store.name,
                    rows: emptied.prefix(10).map {
                        StoreEvidence.row($0, in: changed, columns: [folded(column)])
                    },
                    transaction: step.number, statement: origin.statement?.record,
                    explanation: (step.number.map { "Transaction \($0)" } ?? "The open transaction")
                        + (isMigration ? ", which also changed the schema," : "")
                        + " replaced the values by NULL or nothing.",
                    relevance: isMigration ? 45 : 25, likelyFrom: 75))
        }
        return findings
    }

    private static func isEmpty(_ value: StoredValue) -> Bool {
        switch value.content {
        case .null: true
        case .text(let bytes), .blob(let bytes): bytes.isEmpty
        case .integer(let number): number == 0
        case .real(let number): number == 0
        }
    }
}
