internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Two writes of a column that were both computed from the same earlier read.
///
/// The second one overwrites the first. A write that refers to the old value, such as `SET n = n + 1`, can't.
enum LostUpdate: FindingRule {
    static let code = Finding.Code.lostUpdate

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        // A statement that the log lacks may have read the value again.
        guard store.store.statements?.reason == nil else { return [] }
        let statements = store.testStatements.filter { $0.record.error == nil }
        let names = Set(store.tables.map { folded($0.name) })
        // The query that the assertion is about, as a rule.
        let query = statements.last { $0.outline.isQuery && !names.isDisjoint(with: $0.parts.words) }
        var findings: [Finding] = []
        for (index, second) in statements.enumerated()
        where isAbsoluteUpdate(second) && !store.isRolledBack(second) {
            try store.checkTime()
            guard let table = second.outline.table.flatMap({ store.schema.tables[$0]?.name }) else {
                continue
            }
            let columns = Set(second.parts.assigned)
            guard
                let firstIndex = statements[..<index].lastIndex(where: { write in
                    isAbsoluteUpdate(write) && write.outline.table == second.outline.table
                        && write.record.changes != 0 && !store.isRolledBack(write)
                        && !columns.isDisjoint(with: write.parts.assigned)
                })
            else { continue }
            let first = statements[firstIndex]
            // Statements of one transaction see each other's changes.
            guard store.transactionStart(of: first) != store.transactionStart(of: second) else {
                continue
            }
            let isOther =
                first.record.connection != second.record.connection
                || first.record.thread != second.record.thread
            guard isOther, let reads = readsBeforeBoth(statements, firstIndex, index, table) else {
                continue
            }
            let (firstStep, secondStep) = (store.step(of: first), store.step(of: second))
            let rows = overwritten(firstStep, secondStep, table, columns, in: store)
            // The writes of different rows don't collide.
            let isUnknown = firstStep == nil || secondStep == nil
            if rows.isEmpty, !isUnknown || first.record.sql != second.record.sql { continue }
            let isRead = reads.contains { Self.reads($0, table, by: second) }
            let number = firstStep.flatMap { store.steps[$0].number }
            let place = first.record.source.map { " (\($0.place))" } ?? ""
            findings.append(
                Finding(
                    code: code,
                    title:
                        "Two writes of \(table).\(name(columns, rows)) "
                        + (isRead && !rows.isEmpty ? "were" : "may have been")
                        + " computed from the same earlier value",
                    confidence: .possible, store: store.name, rows: rows,
                    transaction: secondStep.flatMap { store.steps[$0].number }, statement: second.record,
                    explanation: (number.map { "Transaction \($0) made the first write\(place). It" }
                        ?? "The first write\(place)")
                        + (rows.isEmpty ? " was lost if both are of the same row: " : " was lost: ")
                        + (isRead
                            ? "the second writer had read \(table) before, and not again."
                            : "\(table) was read before both writes, and not between them."),
                    relevance: 45 + (rows.isEmpty ? 0 : 15),
                    likelyFrom: query?.parts.words.contains(folded(table)) == true ? 75 : 95))
        }
        return Array(findings.suffix(2))
    }

    /// The changed columns of the overwritten row, or the assigned ones.
    private static func name(_ columns: Set<String>, _ rows: [Finding.Row]) -> String {
        let changed = rows.first?.columns.map(\.column) ?? []
        return (changed.isEmpty ? columns.sorted() : changed).prefix(3).joined(separator: ", ")
    }

    /// Returns the queries before the first of two writes of a table if both can only have been computed from these; nil
    /// otherwise.
    private static func readsBeforeBoth(
        _ statements: [StoreEvidence.Statement], _ first: Int, _ second: Int, _ table: String
    ) -> [StoreEvidence.Statement]? {
        let previous =
            statements[..<first].lastIndex { $0.writes && $0.outline.table == folded(table) } ?? -1
        let before = statements[(previous + 1)..<first].filter { reads($0, table, by: nil) }
        let between = statements[(first + 1)..<second].filter { reads($0, table, by: nil) }
        guard before.count >= 2 else { return nil }
        // Others may read in between, but not the second writer.
        let writer = statements[second]
        let isOneState =
            between.isEmpty
            || !between.contains { reads($0, table, by: writer) }
                && before.contains { reads($0, table, by: writer) }
        return isOneState ? before : nil
    }

    private static func isAbsoluteUpdate(_ statement: StoreEvidence.Statement) -> Bool {
        guard statement.outline.kind == .update else { return false }
        let parts = statement.parts
        return !parts.assigned.isEmpty && parts.relative.isEmpty
    }

    /// True if a query reads a table on the connection or the thread of a writer.
    private static func reads(
        _ statement: StoreEvidence.Statement, _ table: String, by writer: StoreEvidence.Statement?
    ) -> Bool {
        guard statement.outline.isQuery,
            statement.parts.words.contains(folded(table))
        else { return false }
        guard let writer else { return true }
        return statement.record.thread == writer.record.thread
            || statement.record.connection == writer.record.connection
    }

    /// Returns the rows that both steps updated.
    private static func overwritten(
        _ first: Int?, _ second: Int?, _ table: String, _ columns: Set<String>, in store: StoreEvidence
    ) -> [Finding.Row] {
        guard let first, let before = store.steps[first].table(table),
            let second, let after = store.steps[second].table(table)
        else { return [] }
        let keys = Set(before.rows.filter { $0.kind == .updated }.map(\.key))
        return after.rows.filter { keys.contains($0.key) && $0.kind == .updated }.prefix(5).map {
            StoreEvidence.row($0, in: after, columns: columns)
        }
    }
}
