internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Two writes of a column that were both computed from the same earlier read.
///
/// The second one overwrites the first. A write that refers to the old value, such as `SET n = n + 1`, can't.
enum LostUpdate: FindingRule {
    static let code = Finding.Code.lostUpdate

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let statements = store.testStatements.filter { $0.record.error == nil }
        var findings: [Finding] = []
        for (index, second) in statements.enumerated() where isAbsoluteUpdate(second) {
            guard let table = second.outline.table.flatMap({ store.schema.tables[$0]?.name }) else {
                continue
            }
            let columns = Set(StatementOutline.Parts(second.record.sql).assigned)
            // The previous write of the same columns, with no read by the second writer in between.
            let earlier = statements[..<index]
            guard let read = earlier.lastIndex(where: { reads($0, table, by: second) }) else { continue }
            let between = earlier[(read + 1)...]
            guard
                let first = between.first(where: { write in
                    isAbsoluteUpdate(write) && write.outline.table == second.outline.table
                        && !columns.isDisjoint(with: StatementOutline.Parts(write.record.sql).assigned)
                        && write.record.changes != 0
                })
            else { continue }
            // The first writer read the row, too, before it wrote.
            guard
                let otherRead = earlier.firstIndex(where: {
                    reads($0, table, by: first) && $0.order < first.order
                })
            else { continue }
            let isOther =
                first.record.connection != second.record.connection
                || first.record.thread != second.record.thread
            let isTwoReads =
                earlier[...read].count { reads($0, table, by: nil) } >= 2 && otherRead != read
            guard isOther || isTwoReads else { continue }
            let firstStep = step(of: first, in: store)
            let secondStep = step(of: second, in: store)
            let rows = overwritten(firstStep, secondStep, table, columns, in: store)
            if let firstStep, let secondStep, firstStep != secondStep, rows.isEmpty,
                store.steps[secondStep].counts(of: table) != nil
            {
                continue
            }
            findings.append(
                Finding(
                    code: code,
                    title:
                        "Two writes of \(table).\(columns.sorted().joined(separator: ", ")) were computed from the same "
                        + "earlier value",
                    confidence: .possible, store: store.name, rows: rows,
                    transaction: secondStep.flatMap { store.steps[$0].number }, statement: second.record,
                    explanation:
                        "The second writer read \(table) before the first one wrote, and not again. "
                        + (firstStep.flatMap { store.steps[$0].number }.map {
                            "Transaction \($0) made the first write"
                        }
                            ?? "The first write")
                        + (first.record.source.map { " (\($0.place))" } ?? "")
                        + ((firstStep.flatMap { store.steps[$0].number }) == nil
                            ? " is overwritten." : "; it is overwritten."),
                    relevance: (isOther ? 45 : 30) + (rows.isEmpty ? 0 : 15), likelyFrom: 75))
        }
        return Array(findings.suffix(2))
    }

    private static func isAbsoluteUpdate(_ statement: StoreEvidence.Statement) -> Bool {
        guard statement.outline.kind == .update else { return false }
        let parts = StatementOutline.Parts(statement.record.sql)
        return !parts.assigned.isEmpty && parts.relative.isEmpty
    }

    /// True if a query reads a table on the connection or the thread of a writer.
    private static func reads(
        _ statement: StoreEvidence.Statement, _ table: String, by writer: StoreEvidence.Statement?
    ) -> Bool {
        guard statement.outline.isQuery,
            StatementOutline.words(of: statement.record.sql, limit: 600).contains(folded(table))
        else { return false }
        guard let writer else { return true }
        return statement.record.thread == writer.record.thread
            || statement.record.connection == writer.record.connection
    }

    private static func step(of statement: StoreEvidence.Statement, in store: StoreEvidence) -> Int? {
        store.steps.firstIndex { $0.statements.contains { $0.order == statement.order } }
    }

    /// Returns the rows that both steps updated.
    private static func overwritten(
        _ first: Int?, _ second: Int?, _ table: String, _ columns: Set<String>, in store: StoreEvidence
    ) -> [Finding.Row] {
        guard let first, let before = store.steps[first].table(table) else { return [] }
        let after = second.flatMap { store.steps[$0].table(table) }
        let keys = Set(before.rows.filter { $0.kind == .updated }.map(\.key))
        if let after {
            return after.rows.filter { keys.contains($0.key) && $0.kind == .updated }.prefix(5).map {
                StoreEvidence.row($0, in: after, columns: columns)
            }
        }
        return before.rows.filter { $0.kind == .updated }.prefix(5).map {
            StoreEvidence.row($0, in: before, columns: columns)
        }
    }
}
