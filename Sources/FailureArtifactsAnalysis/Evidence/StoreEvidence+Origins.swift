internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension StoreEvidence {
    /// A transaction and the statement in it that made a change, as far as they are known.
    struct Origin {
        var step: Int?
        var transaction: Int?
        var statement: Statement?
    }

    /// Returns the last step that changed a row in a certain way; nil if it may be one of which not all rows are known.
    func lastStep(where isMatch: (ChangedTable, RowChange) -> Bool, of table: String) -> (
        index: Int, row: RowChange
    )? {
        for (index, step) in steps.enumerated().reversed() {
            guard let changed = step.table(table) else { continue }
            if let row = changed.rows.last(where: { isMatch(changed, $0) }) { return (index, row) }
            if !changed.isComplete { return nil }
        }
        return nil
    }

    /// Returns the origin of a change in a step.
    ///
    /// - Parameters:
    ///   - step: The step's index; nil if it is unknown.
    ///   - table: The table.
    ///   - kinds: The kinds of statements that can make the change.
    /// - Returns: The step's transaction. The statement is nil unless exactly one statement, which may have run several
    ///   times, can have made the change.
    func origin(
        inStep step: Int?, of table: String, by kinds: Set<StatementOutline.Kind>
    ) -> Origin {
        guard let step else {
            // Without a history, one statement may be the only one that can have made the change.
            return Origin(
                statement: steps.isEmpty && hasAllWrites(of: table)
                    ? Self.only(statements, writing: table, kinds) : nil)
        }
        return Origin(
            step: step, transaction: steps[step].number,
            statement: Self.only(steps[step].statements, writing: table, kinds))
    }

    /// Returns the last of the statements that write to a table, if all of them have the same text and source.
    ///
    /// It keeps only the callers that all of these statements share.
    private static func only(
        _ statements: [Statement], writing table: String, _ kinds: Set<StatementOutline.Kind>
    ) -> Statement? {
        let writing = statements.filter { $0.record.error == nil && $0.record.changes != 0 }
        let exact = writing.filter {
            kinds.contains($0.outline.kind) && $0.outline.table == folded(table)
        }
        if let last = exact.last {
            let isOne = exact.allSatisfy {
                $0.record.sql == last.record.sql && $0.record.source == last.record.source
            }
            return isOne ? last.withCommonCallers(of: exact) : nil
        }
        // A migration rebuilds a table under another name, and foreign keys act when a table is dropped.
        if kinds.contains(.definition) {
            let copies = writing.filter { statement in
                statement.outline.kind == .insert
                    && statement.parts.words.contains(folded(table))
            }
            if copies.count == 1 { return copies[0] }
            let drops = statements.filter { $0.outline.drops && $0.record.error == nil }
            if drops.count == 1 { return drops[0] }
        }
        // A trigger or a foreign key's action made the change.
        let others = writing.filter { $0.writes }
        return others.count == 1 ? others[0] : nil
    }
}

extension StoreEvidence.Statement {
    /// Returns the statement with only the outer callers that it shares with other executions of it.
    ///
    /// It isn't known which of the executions made a change.
    fileprivate func withCommonCallers(of others: [Self]) -> Self {
        var statement = self
        for other in others where other.record.callers != record.callers {
            let common = zip(
                (statement.record.callers ?? []).reversed(), (other.record.callers ?? []).reversed()
            ).prefix { $0 == $1 }.map(\.0)
            statement.record.callers = common.isEmpty ? nil : common.reversed()
        }
        return statement
    }
}
