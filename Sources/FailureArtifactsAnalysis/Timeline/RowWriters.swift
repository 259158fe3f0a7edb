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

    /// Returns the statements that wrote rows, or that can have done so.
    func writers(of changes: [RowsOfStep], _ budget: StepBudget) -> [[StatementRecord]] {
        var found = changes.map { Self.candidates(for: $0.rows, in: $0.step) }
        let doubtful = changes.indices.filter { found[$0].count > 1 }
        forEachState(before: doubtful.map { changes[$0].step }) { index, path in
            let index = doubtful[index]
            let rows = Array(changes[index].rows.prefix(Self.watchedRows))
            let writers = try? Rerun(
                changes[index].step.statements, hasForeignKeys, on: path, limits, budget
            ).writers(of: rows)
            guard let writers, !writers.isEmpty else { return }
            found[index] = writers
        }
        return found.map { Self.distinct($0.map(copying)) }
    }

    /// Returns the statement that copied the rows of a table before a migration dropped it, and so lost those that it
    /// didn't copy; other statements stay the same.
    private func copying(_ statement: Statement) -> Statement {
        guard statement.outline.drops, let table = statement.outline.table else { return statement }
        return statements(ofTransactionWith: statement).last {
            $0.order < statement.order && $0.outline.isCopy && $0.outline.words.contains(table)
        } ?? statement
    }

    var hasForeignKeys: Bool {
        let last = statements.last {
            $0.outline.words.starts(with: ["pragma", "foreign_keys"]) && $0.outline.words.count > 3
        }
        return last.map { ["on", "1", "true", "yes"].contains($0.outline.words[3]) } ?? false
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

final class Rerun {
    private let statements: [Timeline.Statement]
    private let connection: Connection
    /// The connection refers to it.
    private let budget: StepBudget

    /// Opens a copy of the state before the transaction.
    init(
        _ statements: [Timeline.Statement], _ hasForeignKeys: Bool, on path: String,
        _ limits: UntrustedLimits, _ budget: StepBudget
    ) throws {
        self.statements = statements
        self.budget = budget
        connection = try Connection.untrustedForWriting(path, limits: limits)
        try connection.enableTriggers(foreignKeys: hasForeignKeys)
        budget.limit(connection)
    }

    /// The indices of the last statements that changed columns.
    private typealias Writers = [String: Int]

    /// Returns the last statements after which the rows differ; empty if a row isn't changed.
    func writers(of rows: [Finding.Row]) throws -> [Timeline.Statement] {
        try connection.execute("BEGIN")
        defer { try? connection.execute("ROLLBACK") }
        var cells = rows.map { self.cells(of: $0) }
        var last = rows.map { _ in Writers() }
        var unknown: [Int] = []
        for (index, statement) in statements.enumerated() {
            do throws(SQLiteError) {
                try statement.run(on: connection)
            } catch {
                if statement.hasChangedRows { unknown.append(index) }
            }
            for (row, watched) in rows.enumerated() {
                let new = self.cells(of: watched)
                guard new != cells[row] else { continue }
                last[row] = Self.writers(index, of: new, cells[row], last[row])
                cells[row] = new
            }
        }
        var found: Set<Int> = []
        for (row, last) in zip(rows, last) {
            let named = Set(row.columns.map { folded($0.column) })
            let relevant = last.filter { named.isEmpty || named.contains($0.key) }
            guard let newest = (relevant.isEmpty ? last : relevant).values.max() else { return [] }
            found.formUnion(row.change == .deleted || relevant.isEmpty ? [newest] : Set(relevant.values))
        }
        let tables = Set(rows.map { folded($0.table) })
        found.formUnion(
            unknown.filter { statements[$0].outline.table.map(tables.contains) ?? true })
        return found.sorted().map { index in
            let statement = statements[index]
            // A table that gets the name of another one has had its rows before.
            let earlier = statements[..<index].last {
                $0.hasChangedRows && $0.outline.table == statement.outline.table
            }
            return statement.outline.alters ? earlier ?? statement : statement
        }
    }

    private static func writers(
        _ index: Int, of new: [String: StoredValue]?, _ old: [String: StoredValue]?, _ last: Writers
    ) -> Writers {
        guard let new, let old else {
            return Writers((new ?? old ?? [:]).keys.map { ($0, index) }, uniquingKeysWith: { $1 })
        }
        return new.reduce(into: last) { if old[$1.key] != $1.value { $0[$1.key] = index } }
    }

    /// Runs the statements, and returns true if a query returns a row then; throws if a statement can't run.
    func givesRow(to query: String) throws(SQLiteError) -> Bool {
        try connection.execute("BEGIN; PRAGMA defer_foreign_keys = ON")
        for statement in statements where statement.record.error == nil {
            try statement.run(on: connection)
        }
        let found = try connection.prepare(query)
        return found.isReadOnly ? try found.step() : false
    }

    /// Returns the key of the only row that a statement replaces if it may, which breaks a constraint otherwise.
    func rowInTheWay(
        of statement: Timeline.Statement, table: TableShape, key: [String]
    ) throws -> [StoredValue]? {
        let text = SQLText(statement.record.sql)
        guard let verb = text.tokens.first, verb.isWord(in: ["insert", "update"]) else { return nil }
        let hasClause = text.tokens.count > 3 && text.tokens[1].isWord("or")
        for earlier in statements { try earlier.run(on: connection) }
        let columns = key.map(quotedIdentifier)
        // Triggers see the rows that REPLACE deletes only if they are recursive.
        try connection.execute(
            "PRAGMA recursive_triggers = ON; CREATE TEMP TABLE replaced(\(columns.joined(separator: ", "))); "
                + "CREATE TEMP TRIGGER note_replaced BEFORE DELETE ON main.\(quotedIdentifier(table.name)) "
                + "BEGIN INSERT INTO replaced VALUES (\(columns.map { "OLD." + $0 }.joined(separator: ", "))); END"
        )
        var replacing = statement
        replacing.record.sql = text.replacing(0..<(hasClause ? 3 : 1), with: "\(verb.text) OR REPLACE")
        try replacing.run(on: connection)
        let query = try connection.prepare("SELECT * FROM temp.replaced")
        guard try query.step() else { return nil }
        let values = key.indices.map { query.storedValue(at: $0, limit: 256) }
        return try query.step() ? nil : values
    }

    private func cells(of row: Finding.Row) -> [String: StoredValue]? {
        do throws(SQLiteError) {
            let query = try connection.prepare(
                "SELECT * FROM \(quotedIdentifier(row.table)) WHERE "
                    + rowCondition(row.key.map(\.column)))
            try query.bind(row.key.compactMap(\.value.bindable))
            guard try query.step() else { return nil }
            return Dictionary(
                query.columnNames.enumerated().map {
                    (folded($1), query.storedValue(at: $0, limit: 4096))
                },
                uniquingKeysWith: { first, _ in first })
        } catch {
            // The table doesn't exist yet.
            return nil
        }
    }
}

extension Timeline.Statement {
    /// Runs a writing statement with the values of the log; others do nothing.
    ///
    /// Throws if its values aren't known.
    func run(on connection: borrowing Connection) throws(SQLiteError) {
        guard writes || outline.kind == .definition || outline.words.first == "with" else { return }
        guard record.cut != true, let values = record.knownValues else {
            throw SQLiteError("bind", code: 1)
        }
        let prepared = try connection.prepare(record.sql)
        try prepared.bind(values.map(\.value))
        while try prepared.step() {}
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
        let found = try? Rerun(earlier ?? [], hasForeignKeys, on: copy, limits, budget)
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
        for (index, statements) in zip(indices, writers(of: changes, budget)) where !statements.isEmpty {
            findings[index].statement = nil
            findings[index].statements = []
            findings[index].take(statements)
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
