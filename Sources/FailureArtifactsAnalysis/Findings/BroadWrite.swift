internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// An `UPDATE` or `DELETE` without a condition, or one that changed a large part of a table.
enum BroadWrite: FindingRule {
    static let code = Finding.Code.broadWrite

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        let statements = store.testStatements
        for (index, statement) in statements.enumerated() {
            try store.checkTime()
            guard [.update, .delete].contains(statement.outline.kind), statement.record.error == nil,
                let table = statement.outline.table.flatMap({ store.schema.tables[$0] }),
                let changes = store.ownChanges(of: statement), changes > 1
            else { continue }
            let step = store.step(of: statement)
            // The transaction of the copy is the one that the failure rolled back.
            if store.isRolledBack(statement), step == nil { continue }
            let parts = statement.parts
            let isWithout = !parts.hasCondition
            let count = try store.count("SELECT count(*) FROM \(quotedIdentifier(table.name))")
            // The number of rows before the statement; nil if others may have changed it.
            let known = step.flatMap { step in
                store.isOnlyWriter(statement, inStep: step)
                    ? rowsBefore(step, count, table.name, in: store) : nil
            }
            let rows = known ?? (statement.outline.kind == .delete ? count + changes : count)
            let equalized = equalized(step, table.name, parts, in: store)
            let isAll = changes > 2 && changes >= rows
            // Each row got a value of its own.
            let isRecomputed = statement.outline.kind == .update && step != nil
            // Its condition may match more rows than it should, unless it moves each value, such as a position.
            let isLarge = changes > 3 && changes * 4 >= rows && parts.relative.isEmpty
            guard isWithout || isAll || equalized != nil || isLarge else { continue }
            // A statement that changes each value by itself, such as a price, is meant for all rows. A condition that
            // matches many of them may be right, too.
            let isOrdinary =
                !parts.relative.isEmpty || !(isWithout || isAll || equalized != nil)
                || isMove(statement, of: table.name, step, in: store)
            let isReset = isReset(statement, of: table)
            // Rows that are replaced at once, or deleted before anything else is done with the table.
            if statement.outline.kind == .delete, isWithout {
                let next = statements[(index + 1)...].first { $0.writes }
                let isReplaced =
                    next?.outline.kind == .insert && next?.outline.table == statement.outline.table
                let isFirst = !statements[..<index].contains {
                    $0.outline.table == statement.outline.table && $0.writes
                }
                if isReplaced || isFirst { continue }
            }
            let verb = statement.outline.kind == .update ? "updated" : "deleted"
            findings.append(
                Finding(
                    code: code,
                    title: equalized.map {
                        "A statement gave \(changes) rows of \(table.name) the same \($0)"
                    }
                        ?? (isWithout
                            ? "A statement without WHERE \(verb) \(changes) rows of \(table.name)"
                            : "A statement \(verb) \(isAll && known != nil ? "all " : "")\(changes) rows of "
                                + table.name),
                    confidence: .possible, store: store.name,
                    rows: changedRows(step, table.name, statement.outline.kind, in: store),
                    transaction: step.flatMap { store.steps[$0].number }, statement: statement.record,
                    explanation: "It changed \(changes) rows"
                        + (isWithout
                            ? ", and the statement has no WHERE clause."
                            : known.map { "; the table had \($0)." }
                                ?? "; at the failure, the table has \(count).")
                        + (equalized.map { " Their values of \($0) were different before." } ?? ""),
                    // A migration converts all rows as a rule.
                    relevance: isMigration(step, statement, in: store)
                        ? 5 : isWithout ? 35 : equalized != nil ? 40 : isRecomputed ? 5 : 15,
                    likelyFrom: isOrdinary || isReset ? nil : isWithout ? 75 : 95))
        }
        return Array(findings.suffix(3))
    }

    /// True for a statement without a condition that is written to clear a table.
    ///
    /// It sets columns to zero or NULL, or it deletes rows that don't belong to others.
    static func isReset(_ statement: StoreEvidence.Statement, of table: TableShape) -> Bool {
        guard !statement.parts.hasCondition else { return false }
        if statement.outline.kind == .delete {
            return !table.columns.contains {
                $0.name != table.integerKey && Relevance.isReference($0.name)
            }
        }
        let words = statement.parts.words
        let values = zip(words, words.dropFirst()).filter { $0.0 == "=" }.map(\.1)
        return !values.isEmpty && values.allSatisfy { ["0", "null", "false"].contains($0) }
    }

    /// True for a `DELETE` whose transaction inserted as many rows into another table.
    private static func isMove(
        _ statement: StoreEvidence.Statement, of table: String, _ step: Int?, in store: StoreEvidence
    ) -> Bool {
        guard statement.outline.kind == .delete, let step,
            let changed = store.steps[step].table(table)
        else { return false }
        return EmptiedTable.moveTarget(of: changed, in: store.steps[step]) != nil
    }

    /// Returns the column in which an update made many different values one, if there is such a column.
    private static func equalized(
        _ step: Int?, _ table: String, _ parts: StatementOutline.Parts, in store: StoreEvidence
    ) -> String? {
        guard let step, let changed = store.steps[step].table(table) else { return nil }
        let updated = changed.rows.filter { $0.kind == .updated }
        guard updated.count > 2, changed.isComplete else { return nil }
        return changed.table.commonColumns.first { column in
            guard parts.assigned.contains(folded(column)) else { return false }
            let cells = updated.compactMap { $0.cell(column) }
            return cells.count > 2 && Set(cells.compactMap(\.old)).count > 2
                && Set(cells.compactMap(\.new)).count == 1 && cells[0].new?.isNull == false
        }
    }

    private static func isMigration(
        _ step: Int?, _ statement: StoreEvidence.Statement, in store: StoreEvidence
    ) -> Bool {
        let function = statement.record.source?.function?.lowercased() ?? ""
        return function.contains("migrat")
            || step.map { !store.steps[$0].changes.schema.isEmpty } ?? false
    }

    /// Returns the number of rows that a table had before a step, from the number at the failure; nil if it is unknown.
    private static func rowsBefore(
        _ step: Int, _ count: Int64, _ table: String, in store: StoreEvidence
    ) -> Int64? {
        let changes = store.steps[step...].compactMap { $0.counts(of: table) }
        guard changes.allSatisfy({ $0.problem == nil }) else { return nil }
        return changes.reduce(count) { $0 + $1.deleted - $1.inserted }
    }

    private static func changedRows(
        _ step: Int?, _ table: String, _ kind: StatementOutline.Kind, in store: StoreEvidence
    ) -> [Finding.Row] {
        guard let step, let changed = store.steps[step].table(table) else { return [] }
        return changed.rows.filter { $0.kind == (kind == .update ? .updated : .deleted) }.prefix(20).map
        {
            StoreEvidence.row($0, in: changed)
        }
    }
}
