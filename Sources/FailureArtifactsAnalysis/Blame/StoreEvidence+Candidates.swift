internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension StoreEvidence {
    /// The maximum number of statements that are kept for a finding.
    static let maximumCandidates = 5

    /// Removes the statement of a finding if its text shows that it wrote other rows of the table, and adds those that
    /// can have written the finding's rows.
    ///
    /// - Parameter finding: A finding about this store.
    func checkStatement(of finding: inout Finding) {
        // A finding with more rows may lack some, and those of an error are in the statement's way.
        guard finding.rows.count < Finding.smallestRowLimit, let statement = finding.statement,
            statement.error == nil, let table = StatementOutline(statement.sql).table, let linked,
            linked.isSetDirectly(table)
        else { return }
        let rows = finding.rows.filter { folded($0.table) == table }
        let step = finding.transaction.flatMap { number in steps.first { $0.number == number } }
        let own = (step?.statements ?? statements).filter {
            $0.outline.table == table && $0.hasChangedRows
        }
        let writes = TableWrites(own.outlined, columns: linked.columns(of: table))
        let columns = Set(rows.flatMap(\.columns).map { folded($0.column) })
        let possible = own.indices.filter { index in
            rows.contains {
                ($0.change == .deleted) == (own[index].outline.kind == .delete)
                    && writes.mayHaveChanged($0, at: index)
            }
        }
        guard !rows.isEmpty, own.contains(where: { $0.order == statement.order }),
            !possible.contains(where: { own[$0].order == statement.order })
        else { return }
        // A statement that has certainly set the columns comes after all that matter no more.
        let last = possible.last { index in
            rows.allSatisfy { writes.hasSet(columns, of: $0, at: index) }
        }
        var seen: Set<String> = []
        let found = possible.drop { $0 < last ?? 0 }.map { own[$0].record }.filter {
            seen.insert($0.textAndPlace).inserted
        }
        finding.statement = found.count == 1 ? found[0] : nil
        finding.statements = (2...Self.maximumCandidates).contains(found.count) ? found : []
    }

    /// Adds the statements that can have changed the rows of a finding, if it names a transaction and no statement, or if
    /// rows have changed since a snapshot of a store without a history.
    ///
    /// They are those that ``Blame`` lists. If there is just one, it is the finding's statement.
    ///
    /// - Parameter finding: A finding about this store.
    func addCandidates(to finding: inout Finding) {
        if steps.isEmpty, finding.code == .differenceFromPass, finding.statement == nil {
            finding.statement = onlyWriter(of: finding.rows)
        }
        if let (label, step) = sinceSnapshot { finding.add(changesOf: step, since: label) }
        let step =
            finding.transaction.map { number in steps.first { $0.number == number } }
            ?? sinceSnapshot?.step
        guard finding.statement == nil, finding.statements.isEmpty, let step, !step.statements.isEmpty
        else { return }
        var rows: [Finding.Row] = []
        // The columns that the finding is about, by table; empty sets for all.
        var columns: [String: Set<String>] = [:]
        for row in finding.rows {
            let key = row.key.map(\.value)
            guard let table = step.table(row.table),
                let change = table.rows.first(where: { $0.key == key })
            else { continue }
            rows.append(Self.row(change, in: table))
            let changed = Set(change.cells.map { folded($0.column) })
            let named = changed.intersection(row.columns.map { folded($0.column) })
            let relevant = named.isEmpty && change.kind == .updated ? changed : named
            let known = columns[folded(row.table)]
            let isAny = relevant.isEmpty || known?.isEmpty == true
            columns[folded(row.table)] = isAny ? [] : relevant.union(known ?? [])
        }
        let found = statements(of: step, changing: rows, columns: columns)
        if found.count == 1 {
            finding.statement = found[0]
        } else if found.count <= Self.maximumCandidates {
            finding.statements = found
        }
    }

    /// Returns the statements of a step that can have changed rows.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - rows: Rows that the step changed, with all changed columns.
    ///   - columns: The folded names of the columns that matter, by the folded name of their table. By default, they are
    ///     those that updated rows changed.
    /// - Returns: The statements, in the order in which they ran.
    func statements(
        of step: Step, changing rows: [Finding.Row], columns: [String: Set<String>] = [:]
    ) -> [StatementRecord] {
        let records = step.statements.map(\.record)
        guard !records.isEmpty else { return [] }
        let found = Dictionary(grouping: rows, by: { folded($0.table) }).flatMap { table, rows in
            let columns = columns[table] ?? Blame.updatedColumns(of: rows)
            let found = Blame.statements(
                withoutUnrelatedUpdates(records, of: step, table, rows), changing: table,
                Set(rows.map(\.change)), of: rows, columns: columns, among: linked)
            return withoutDefaults(found, rows, columns)
        }
        var seen: Set<UInt64> = []
        return found.filter { seen.insert($0.order).inserted }.sorted { $0.order < $1.order }
    }

    /// Returns statements without the `UPDATE`s of a table that can only have changed other rows than inserted ones.
    ///
    /// Each row that was there before and has changed takes one of the rows that SQLite counted.
    private func withoutUnrelatedUpdates(
        _ records: [StatementRecord], of step: Step, _ table: String, _ rows: [Finding.Row]
    ) -> [StatementRecord] {
        guard linked?.isSetDirectly(table) == true, rows.allSatisfy({ $0.change == .inserted }),
            let counts = step.counts(of: table)
        else { return records }
        let own = step.statements.filter { $0.outline.table == table && $0.hasChangedRows }
        let updates = own.filter { $0.outline.kind == .update }
        let isPlain = own.allSatisfy {
            $0.outline.kind == .update || $0.outline.kind == .insert && !$0.outline.mayHaveNoEffect
        }
        var count: Int64 = 0
        for update in updates {
            guard let changes = update.record.changes, changes < 1 << 32 else { return records }
            count += Int64(changes)
        }
        guard isPlain, count <= counts.updated else { return records }
        let unrelated = Set(updates.map(\.order))
        return records.filter { !unrelated.contains($0.order) }
    }

    /// Returns statements without the `INSERT`s that left the columns of inserted rows at another value than theirs.
    private func withoutDefaults(
        _ records: [StatementRecord], _ rows: [Finding.Row], _ columns: Set<String>
    ) -> [StatementRecord] {
        guard let table = rows.first.map({ folded($0.table) }), let shape = schema.tables[table],
            !columns.isEmpty, rows.allSatisfy({ $0.change == .inserted }),
            linked?.isSetDirectly(table) == true,
            !rows.contains(where: { mayHaveDefault($0, shape, in: columns) })
        else { return records }
        let writing = records.filter { Blame.mayWrite(columns, $0, StatementOutline($0.sql)) }
        return writing.isEmpty ? records : writing
    }

    /// True if a column of a row may have its default value.
    private func mayHaveDefault(
        _ row: Finding.Row, _ shape: TableShape, in columns: Set<String>
    ) -> Bool {
        row.columns.contains { cell in
            guard columns.contains(folded(cell.column)) else { return false }
            let column = shape.columns.first { folded($0.name) == folded(cell.column) }
            guard let text = column?.defaultValue else { return cell.new?.isNull ?? true }
            guard let value = cell.new, let number = value.number else { return true }
            return Double(text).map { $0 == number } ?? true
        }
    }

    /// Returns the only statement that can have given rows their values, in a store without a history.
    ///
    /// - Parameter rows: Rows of one table that have other values in another run.
    /// - Returns: The statement; nil if there may be another one.
    private func onlyWriter(of rows: [Finding.Row]) -> StatementRecord? {
        let tables = Set(rows.map { folded($0.table) })
        let columns = Blame.updatedColumns(of: rows)
        guard tables.count == 1, let table = tables.first, let shape = schema.tables[table],
            !columns.isEmpty, hasAllWrites(of: table), linked?.isSetDirectly(table) == true
        else { return nil }
        let writers = statements.filter { statement in
            statement.outline.table == table && statement.hasChangedRows && !isRolledBack(statement)
                && Blame.mayWrite(columns, statement.record, statement.outline)
        }
        guard let last = writers.last,
            writers.allSatisfy({
                $0.record.sql == last.record.sql && $0.record.source == last.record.source
            })
        else { return nil }
        // An INSERT that doesn't name a column gives it the default value.
        let mayBeDefault = rows.contains { mayHaveDefault($0, shape, in: columns) }
        return mayBeDefault && last.outline.kind != .insert ? nil : last.record
    }
}

extension Finding {
    /// Adds the changes that its rows had since a snapshot, or that they had none.
    fileprivate mutating func add(changesOf step: StoreEvidence.Step, since label: String) {
        guard !rows.isEmpty else { return }
        var hasChanges = false
        for index in rows.indices {
            let key = rows[index].key.map(\.value)
            guard let table = step.table(rows[index].table),
                let change = table.rows.first(where: { $0.key == key })
            else { continue }
            let named = Set(rows[index].columns.map { folded($0.column) })
            let changed = StoreEvidence.row(change, in: table, columns: named.isEmpty ? nil : named)
            // The finding may be about another column than those that changed.
            guard change.kind != .updated || !changed.columns.isEmpty else { continue }
            hasChanges = true
            if rows[index].change == .present { rows[index] = changed }
        }
        let tables = rows.map { step.table($0.table) }
        if hasChanges {
            explanation += " This changed after the snapshot '\(label)'."
        } else if tables.allSatisfy({ $0?.isComplete ?? true }) {
            explanation += " It was so at the snapshot '\(label)' already."
        }
    }
}
