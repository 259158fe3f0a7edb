package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// The statements that wrote a row. If a transaction has several that can have done so, it runs again on a copy of the
// state before it, with the values of the log, to see after which statement the row differs.
extension Timeline {
    /// Rows that a transaction changed.
    struct RowsOfStep {
        let step: Step
        let rows: [Finding.Row]
    }

    static let maximumCandidates = 5
    private static let watchedRows = 20

    /// The statements that wrote rows, or that can have done so.
    struct Writing {
        var statements: [StatementRecord]
        /// The means by which the only statement changed the first row.
        var means: [Finding.Means] = []
    }

    func writers(of changes: [RowsOfStep], _ budget: StepBudget) -> [Writing] {
        var found = changes.map { Self.candidates(for: $0.rows, in: $0.step) }
        var means = changes.map { _ in [Finding.Means]() }
        let linked = linkedTables
        let doubtful = changes.indices.filter { index in
            found[index].count > 1 || changes[index].step.statements.contains { $0.changesMore(linked) }
        }
        forEachState(before: doubtful.map { changes[$0].step }) { index, path in
            let index = doubtful[index]
            let rows = Array(changes[index].rows.prefix(Self.watchedRows))
            let statements = changes[index].step.statements
            guard
                let rerun = try? Rerun(
                    statements, hasForeignKeys(at: statements.first), on: path, limits, budget),
                let writers = try? rerun.writers(of: rows), !writers.isEmpty
            else { return }
            found[index] = writers
            if writers.count == 1, writers[0].changesMore(linked) {
                means[index] = (try? rerun.means(of: rows[0], by: writers[0], references)) ?? []
                for place in means[index].indices where means[index][place].kind == .trigger {
                    means[index][place].source = definition(ofTrigger: means[index][place].name)
                }
            }
        }
        return zip(found, means).map {
            Writing(statements: Self.distinct($0.map(copying)), means: $1)
        }
    }

    /// Returns the place of the statement that defined a trigger; nil if it is unknown.
    private func definition(ofTrigger name: String) -> StatementRecord.Source? {
        statements.last {
            $0.outline.triggerEvent != nil && $0.outline.table == folded(name) && $0.record.error == nil
        }?.record.source
    }

    /// Returns the statement that copied the rows of a table before a migration dropped it, and so lost those that it
    /// didn't copy; other statements stay the same.
    private func copying(_ statement: Statement) -> Statement {
        guard statement.outline.drops, let table = statement.outline.table else { return statement }
        return statements(ofTransactionWith: statement).last {
            $0.order < statement.order && $0.outline.isCopy && $0.outline.words.contains(table)
        } ?? statement
    }

    /// True if foreign keys were enforced when a statement ran, or at the failure, as far as known.
    func hasForeignKeys(at statement: Statement? = nil) -> Bool {
        let last = statements.last { $0.outline.isOn("foreign_keys") != nil }
        return (statement.flatMap { setting("foreign_keys", of: $0) } ?? last)?
            .outline.isOn("foreign_keys") ?? false
    }

    /// Returns the statement by which the connection of another one had switched a setting before; nil without one.
    func setting(_ name: String, of statement: Statement) -> Statement? {
        statements.last {
            $0.order < statement.order && $0.record.connection == statement.record.connection
                && $0.outline.isOn(name) != nil
        }
    }

    private static func candidates(for rows: [Finding.Row], in step: Step) -> [Statement] {
        step.writers(of: Set(rows.map { folded($0.table) }), Set(rows.map(\.change)))
    }

    /// Returns the statements, of those with the same text and line the last one.
    package static func distinct(_ statements: [Statement]) -> [StatementRecord] {
        var seen: Set<String> = []
        return statements.map(\.record).reversed().filter { seen.insert($0.textAndPlace).inserted }
            .reversed()
    }
}

extension Timeline.Statement {
    /// True if it can change other rows than it says: by a trigger, a foreign key or a replacement.
    fileprivate func changesMore(_ linked: Set<String>) -> Bool {
        outline.table.map(linked.contains) ?? false || outline.words.contains("replace")
    }
}

extension Timeline.Step {
    /// Returns the statements that can have changed rows of some tables in some ways: those that name a table; without
    /// such ones, all that wrote something.
    package func writers(
        of tables: Set<String>, _ kinds: Set<Finding.Row.Change>
    ) -> [Timeline.Statement] {
        let writing = statements.filter { $0.record.error == nil && !$0.outline.isQuery }
        let changing = writing.filter(\.hasChangedRows)
        let own = changing.filter { $0.outline.table.map(tables.contains) ?? false }
        let deleting = own.filter { $0.outline.kind == .delete }
        if kinds == [.deleted], !deleting.isEmpty { return deleting }
        let setting = own.filter { $0.outline.kind != .delete }
        if !kinds.contains(.deleted), !setting.isEmpty { return setting }
        return [own, changing].first { !$0.isEmpty } ?? writing
    }
}

extension Timeline {
    /// Returns the row because of which a statement broke a `UNIQUE` constraint; nil if it is unknown.
    func rowInTheWay(
        of statement: Statement, showing columns: [String], _ budget: StepBudget
    ) -> Finding.Row? {
        guard let shape = statement.outline.table.flatMap({ schema.tables[$0] }) else { return nil }
        let transaction = transaction(of: statement)
        let earlier = transaction?.statements.map { statements[$0] }.filter {
            $0.order < statement.order && $0.hasChangedRows
        }
        let copy = Path.join(scratch, "failed.sqlite")
        let first = transaction.map { statements[$0.statements[0]] } ?? statement
        guard (try? FileSystem.copy(path(at: first), toNewFile: copy)) != nil else { return nil }
        defer { try? FileSystem.remove(copy) }
        let key = keyColumns(of: shape.name)
        let found = try? Rerun(earlier ?? [], hasForeignKeys(at: statement), on: copy, limits, budget)
            .rowInTheWay(of: statement, table: shape, key: key)
        guard let found = found ?? nil else { return nil }
        let shown = columns.map(quotedIdentifier).joined(separator: ", ")
        let values = try? rows(
            "SELECT \(shown) FROM \(quotedIdentifier(shape.name)) WHERE \(rowCondition(key))",
            found.compactMap(\.bindable), limit: 1
        ).first
        return Finding.Row(
            table: shape.name, key: Finding.Row.key(key, found),
            change: values == nil ? .missing : .present,
            columns: zip(columns, values ?? []).map { .init(column: $0, old: nil, new: $1) })
    }

    func addStatements(to findings: inout [Finding], _ budget: StepBudget) {
        var indices: [Int] = []
        var changes: [RowsOfStep] = []
        for index in findings.indices where findings[index].store == name {
            let finding = findings[index]
            // A rule may know another statement that matters more, such as one that changed the schema's text.
            let tables = Set(finding.rows.map { folded($0.table) })
            let isOpen = finding.statement.map { statement in
                statement.error == nil && tables.contains(StatementOutline(statement.sql).table ?? "")
            }
            guard !finding.rows.isEmpty, finding.evidence != .migration, isOpen ?? true else { continue }
            let step = finding.transaction.flatMap { number in steps.first { $0.number == number } }
            guard let step, !step.statements.isEmpty else {
                if steps.isEmpty, finding.statement == nil {
                    findings[index].statement = onlyWriter(of: finding.rows)
                }
                continue
            }
            // The first row of an experiment is the one that matters most.
            let rows = finding.rows.prefix(finding.isExperiment ? 1 : finding.rows.count).filter { row in
                step.table(row.table)?.rows.contains { $0.key == row.key.map(\.value) } ?? false
            }
            guard !rows.isEmpty else { continue }
            indices.append(index)
            changes.append(RowsOfStep(step: step, rows: rows))
        }
        for (index, writing) in zip(indices, writers(of: changes, budget))
        where !writing.statements.isEmpty {
            findings[index].statement = nil
            findings[index].statements = []
            findings[index].take(writing.statements)
            findings[index].add(writing.means)
            for trigger in writing.means where trigger.kind == .trigger {
                let step = steps.last { step in
                    step.changes.schema.contains { $0.type == "trigger" && $0.name == trigger.name }
                }
                findings[index].add([step.flatMap(otherTest)].compactMap(\.self), "The trigger is")
            }
        }
    }

    /// Returns the only statement that can have given rows their values, in a store without a history.
    private func onlyWriter(of rows: [Finding.Row]) -> StatementRecord? {
        let tables = Set(rows.map { folded($0.table) })
        let writers = statements.filter {
            $0.hasChangedRows && !isRolledBack($0) && $0.outline.table.map(tables.contains) ?? false
        }
        let found = Self.distinct(writers)
        return found.count == 1 && hasAllWrites(of: tables) ? found[0] : nil
    }

    /// True if the log has all statements that wrote to tables since they were created.
    private func hasAllWrites(of tables: Set<String>) -> Bool {
        hasLog && store.statements?.reason == nil
            && tables.allSatisfy { table in
                statements.contains { $0.outline.creates && $0.outline.table == table }
            }
    }
}

extension Timeline {
    /// A transaction and the statement in it that made a change, as far as they are known.
    struct Origin {
        var step: Int?
        var transaction: Int?
        var statement: Statement?
    }

    /// Returns the origin of a change in a step, with the statement if only one can have made it.
    func origin(
        inStep step: Int?, of table: String, by kinds: Set<StatementOutline.Kind>
    ) -> Origin {
        guard let step else {
            let isWhole = steps.isEmpty && hasAllWrites(of: [folded(table)])
            return Origin(statement: isWhole ? Self.only(statements, writing: table, kinds) : nil)
        }
        return Origin(
            step: step, transaction: steps[step].number,
            statement: Self.only(steps[step].statements, writing: table, kinds))
    }

    /// Returns the last of the statements that write to a table, if all have the same text and line.
    private static func only(
        _ statements: [Statement], writing table: String, _ kinds: Set<StatementOutline.Kind>
    ) -> Statement? {
        let writing = statements.filter { $0.record.error == nil && $0.record.changes != 0 }
        let exact = writing.filter {
            kinds.contains($0.outline.kind) && $0.outline.table == folded(table)
        }
        // A trigger or a foreign key's action made the change, or a migration that drops the table.
        let others = exact.isEmpty ? writing.filter { $0.writes || $0.outline.drops } : exact
        return distinct(others).count == 1 ? others.last : nil
    }
}
