internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A transaction that runs again, on a copy of the state before it, with the values of the log.
final class Rerun {
    private let statements: [Timeline.Statement]
    private let connection: Connection
    private let hasForeignKeys: Bool
    /// The connection refers to it.
    private let budget: StepBudget

    /// Opens a copy of the state before the transaction.
    init(
        _ statements: [Timeline.Statement], _ hasForeignKeys: Bool, on path: String,
        _ limits: UntrustedLimits, _ budget: StepBudget
    ) throws {
        self.statements = statements
        self.budget = budget
        self.hasForeignKeys = hasForeignKeys
        connection = try Connection.untrustedForWriting(path, limits: limits)
        connection.enforce(foreignKeys: hasForeignKeys)
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

    /// Returns the key of the only row that a statement replaces if it may, which breaks a constraint otherwise.
    func rowInTheWay(
        of statement: Timeline.Statement, table: TableShape, key: [String]
    ) throws -> [StoredValue]? {
        for earlier in statements { try earlier.run(on: connection) }
        guard let replacing = statement.resolvingConflicts(by: "REPLACE") else { return nil }
        let rows = try rowsReplaced(by: replacing, in: table.name, key)
        return rows.count == 1 ? rows[0] : nil
    }

    /// Runs a statement, and returns the keys of the rows that it deletes to make room for others.
    private func rowsReplaced(
        by statement: Timeline.Statement, in table: String, _ key: [String]
    ) throws(SQLiteError) -> [[StoredValue]] {
        let columns = key.map(quotedIdentifier)
        // Triggers see the rows that REPLACE deletes only if they are recursive.
        try connection.execute(
            "PRAGMA recursive_triggers = ON; CREATE TEMP TABLE replaced(\(columns.joined(separator: ", "))); "
                + "CREATE TEMP TRIGGER note_replaced BEFORE DELETE ON main.\(quotedIdentifier(table)) "
                + "BEGIN INSERT INTO replaced VALUES (\(columns.map { "OLD." + $0 }.joined(separator: ", "))); END"
        )
        try statement.run(on: connection)
        let query = try connection.prepare("SELECT * FROM temp.replaced")
        var rows: [[StoredValue]] = []
        while try query.step() {
            rows.append(key.indices.map { query.storedValue(at: $0, limit: 4096) })
        }
        return rows
    }

    // MARK: - Means

    /// Returns the means by which a statement changed a row, if it doesn't say so itself: a trigger, the action of a
    /// foreign key, or `REPLACE`.
    ///
    /// Each of them is tried by running the statement without it.
    func means(
        of row: Finding.Row, by statement: Timeline.Statement, _ references: [Reference]
    ) throws -> [Finding.Means] {
        try connection.execute("BEGIN; PRAGMA defer_foreign_keys = ON")
        defer { try? connection.execute("ROLLBACK") }
        for earlier in statements where earlier.order < statement.order {
            try earlier.run(on: connection)
        }
        let old = cells(of: row)
        let new = trying { cells(of: row, after: statement) }
        guard new != old else { return [] }
        let verb = statement.outline.words.first?.uppercased() ?? "statement"
        if let trigger = try trigger(of: statement, changing: row, from: old, to: new) {
            let name = SafeText.line(trigger.name)
            let object = (trigger.columns.map { $0.joined(separator: ", ") + " of " } ?? "") + row.title
            let change = trigger.columns == nil ? row.change.rawValue : "changed"
            return [
                Finding.Means(
                    .trigger, name, "The trigger '\(name)' of the \(verb) \(change) \(object)")
            ]
        }
        let isCascade = trying {
            connection.enforce(foreignKeys: false)
            return cells(of: row, after: statement) == old
        }
        guard let old, isCascade else { return [replacement(of: row, by: statement)].compactMap(\.self) }
        for reference in references
        where reference.isDeclared && folded(reference.table) == folded(row.table) {
            let values = reference.columns.compactMap { old[folded($0)] }
            let parent = Finding.Row(
                table: reference.parent, key: Finding.Row.key(reference.parentColumns, values),
                change: .deleted)
            let replacement = replacement(of: parent, by: statement)
            let isGone = trying { cells(of: parent, after: statement) } == nil
            guard cells(of: parent) != nil, isGone || replacement != nil else { continue }
            let name = reference.table + "." + reference.columns.joined(separator: ", ")
            let end = row.change == .deleted ? "with \(parent.title)" : "because \(parent.title) is gone"
            let description =
                "The foreign key \(SafeText.line(name)) \(row.change.rawValue) \(row.title) \(end)"
            return [Finding.Means(.foreignKey, name, description)]
                + [replacement].compactMap(\.self)
        }
        return []
    }

    /// Returns the trigger without which a statement doesn't change a row, or gives columns of it other values; nil
    /// without one.
    private func trigger(
        of statement: Timeline.Statement, changing row: Finding.Row, from old: [String: StoredValue]?,
        to new: [String: StoredValue]?
    ) throws(SQLiteError) -> (name: String, columns: [String]?)? {
        var found: (name: String, columns: [String]?)?
        for trigger in try DatabaseSchema("main", of: connection).objects where trigger.type == "trigger"
        {
            let name = trigger.name
            let other = trying {
                try? connection.execute("DROP TRIGGER \(quotedIdentifier(name))")
                return cells(of: row, after: statement)
            }
            // Of triggers that run each other, the one that writes to the table says most.
            let words = SQLText(trigger.sql).words.drop { $0 != "begin" }
            guard other != new, found == nil || words.contains(folded(row.table)) else { continue }
            let columns = row.columns.map(\.column).filter { other?[folded($0)] != new?[folded($0)] }
            found = (name, other == old || columns.isEmpty ? nil : columns)
        }
        return found
    }

    /// Returns the replacement of a row by a statement; nil if it doesn't delete the row to make room for another one.
    private func replacement(of row: Finding.Row, by statement: Timeline.Statement) -> Finding.Means? {
        // A DELETE says itself that it deletes rows.
        guard [.insert, .update].contains(statement.outline.kind) else { return nil }
        let key = row.key.map(\.column)
        let rows = trying {
            connection.enforce(triggers: false, foreignKeys: false)
            return try? rowsReplaced(by: statement, in: row.table, key)
        }
        guard let rows, rows.contains(row.key.map(\.value)) else { return nil }
        let columns = rows.count == 1 ? trying { brokenConstraint(of: statement) } : []
        let same = columns.isEmpty ? "" : ", which had the same \(columns.joined(separator: ", "))"
        return Finding.Means(
            .replace, row.table, "REPLACE deleted \(SafeText.line(row.title + same))")
    }

    /// Returns the columns of the `UNIQUE` constraint that a statement breaks if it doesn't replace rows.
    private func brokenConstraint(of statement: Timeline.Statement) -> [String] {
        guard let strict = statement.resolvingConflicts(by: "ABORT") else { return [] }
        do throws(SQLiteError) {
            try strict.run(on: connection)
            return []
        } catch {
            // The message is `UNIQUE constraint failed: user.team, user.name`.
            let prefix = "UNIQUE constraint failed: "
            guard error.message.hasPrefix(prefix) else { return [] }
            return error.message.dropFirst(prefix.count).split(separator: ", ").compactMap {
                $0.split(separator: ".").last.map(String.init)
            }
        }
    }

    /// Returns the result of a trial, which it undoes then.
    private func trying<Result>(_ trial: () -> Result) -> Result {
        try? connection.execute("SAVEPOINT trial")
        defer {
            connection.enforce(foreignKeys: hasForeignKeys)
            try? connection.execute("ROLLBACK TO trial; RELEASE trial; PRAGMA recursive_triggers = OFF")
        }
        return trial()
    }

    private func cells(
        of row: Finding.Row, after statement: Timeline.Statement
    ) -> [String: StoredValue]? {
        // A statement that fails changes nothing.
        try? statement.run(on: connection)
        return cells(of: row)
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
    /// True if it can change rows or the schema.
    var runsAgain: Bool { writes || outline.kind == .definition || outline.words.first == "with" }

    /// Runs a writing statement with the values of the log; others do nothing.
    ///
    /// Throws if its values aren't known.
    func run(on connection: borrowing Connection) throws(SQLiteError) {
        guard runsAgain else { return }
        guard record.cut != true, let values = record.knownValues else {
            throw SQLiteError("bind", code: 1)
        }
        let prepared = try connection.prepare(record.sql)
        try prepared.bind(values.map(\.value))
        while try prepared.step() {}
    }

    /// Returns the statement with another conflict clause; nil for one that can't have one, or begins with `WITH`.
    fileprivate func resolvingConflicts(by resolution: String) -> Timeline.Statement? {
        let text = SQLText(record.sql)
        guard let verb = text.tokens.first, verb.isWord(in: ["insert", "update", "replace"]) else {
            return nil
        }
        let end = text.tokens.count > 3 && text.tokens[1].isWord("or") ? 3 : 1
        let word = verb.isWord("replace") ? "INSERT" : verb.text
        var statement = self
        statement.record.sql = text.replacing(0..<end, with: "\(word) OR \(resolution)")
        return statement
    }
}
