internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension StoreEvidence {
    /// The maximum number of statements that are kept for a finding.
    private static let maximumCandidates = 5

    /// Adds the statements that can have changed the rows of a finding, if it names a transaction and no statement.
    ///
    /// They are those that ``Blame`` lists. If there is just one, it is the finding's statement.
    ///
    /// - Parameter finding: A finding about this store.
    func addCandidates(to finding: inout Finding) {
        if steps.isEmpty, finding.code == .differenceFromPass, finding.statement == nil {
            finding.statement = onlyWriter(of: finding.rows)
        }
        guard finding.statement == nil, let number = finding.transaction,
            let step = steps.first(where: { $0.number == number }), !step.statements.isEmpty
        else { return }
        let rows = finding.rows.compactMap { row -> Finding.Row? in
            let key = row.key.map(\.value)
            guard let table = step.table(row.table),
                let change = table.rows.first(where: { $0.key == key })
            else { return nil }
            // The finding may be about one of the changed columns.
            let named = Set(row.columns.map { folded($0.column) })
            let isNamed = change.cells.contains { named.contains(folded($0.column)) }
            return Self.row(change, in: table, columns: isNamed ? named : nil)
        }
        let found = statements(of: step, changing: rows)
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
    ///   - rows: Rows that the step changed.
    /// - Returns: The statements, in the order in which they ran.
    func statements(of step: Step, changing rows: [Finding.Row]) -> [StatementRecord] {
        let records = step.statements.map(\.record)
        guard !records.isEmpty else { return [] }
        let found = Dictionary(grouping: rows, by: { folded($0.table) }).flatMap { table, rows in
            Blame.statements(
                records, changing: table, Set(rows.map(\.change)),
                of: Blame.updatedColumns(of: rows), among: linked)
        }
        var seen: Set<UInt64> = []
        return found.filter { seen.insert($0.order).inserted }.sorted { $0.order < $1.order }
    }

    /// Returns the only statement that can have given rows their values, in a store without a history.
    ///
    /// The log must reach back to the creation of the table.
    ///
    /// - Parameter rows: Rows of one table that have other values in another run.
    /// - Returns: The statement; nil if there may be another one.
    private func onlyWriter(of rows: [Finding.Row]) -> StatementRecord? {
        let tables = Set(rows.map { folded($0.table) })
        let columns = Blame.updatedColumns(of: rows)
        guard tables.count == 1, let table = tables.first, let shape = schema.tables[table],
            !columns.isEmpty, store.statements?.reason == nil,
            statements.contains(where: { $0.outline.creates && $0.outline.table == table }),
            linked?.hasTriggers(table) == false, !hasForeignKeyActions(table)
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
        let defaults = shape.columns.filter { columns.contains(folded($0.name)) }
        let mayBeDefault = rows.flatMap(\.columns).contains { cell in
            let column = defaults.first { folded($0.name) == folded(cell.column) }
            guard let text = column?.defaultValue else { return cell.new?.isNull ?? true }
            guard let value = cell.new, let number = value.number else { return true }
            return Double(text).map { $0 == number } ?? true
        }
        return mayBeDefault && last.outline.kind != .insert ? nil : last.record
    }

    /// True if a foreign key of a table sets its columns.
    private func hasForeignKeyActions(_ table: String) -> Bool {
        guard let object = schema.object("table", named: table),
            object.sql.utf8.count <= StatementOutline.maximumLength
        else { return true }
        let words = StatementOutline.words(of: object.sql, limit: .max)
        // ON UPDATE CASCADE, ON DELETE SET NULL, ON UPDATE SET DEFAULT
        return words.contains("set")
            || zip(words, words.dropFirst()).contains { $0 == ("update", "cascade") }
    }
}
