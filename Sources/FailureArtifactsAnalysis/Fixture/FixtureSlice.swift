internal import FailureArtifactsBundle
internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The rows of a store that a transaction had something to do with.
struct FixtureSlice {
    /// The maximum number of rows that the transaction changed or refers to, and of rows of the finding.
    ///
    /// The rows that these refer to are kept as well.
    static let rowLimit = 200
    /// The maximum number of further rows that the query needs.
    private static let neededLimit = 10

    let finding: Finding
    /// The transaction.
    let step: StoreEvidence.Step
    /// A query that returns a row after the transaction; nil if no query can tell.
    let query: String?
    let limits: UntrustedLimits

    /// Leaves out all other rows.
    ///
    /// Rows that the transaction changed, rows of the finding and rows that these or new rows refer to stay, and rows
    /// that the query needs to return a row.
    ///
    /// - Parameter path: The state before the transaction, which nothing else uses.
    /// - Returns: The rows that were left out.
    /// - Throws: An error if the store can't be read.
    func apply(to path: String) throws -> FixturePlan.Omission {
        let copy = path + ".slice"
        try FileSystem.copy(path, toNewFile: copy)
        defer { try? FileSystem.remove(copy) }
        let isComplete: Bool
        do throws(SQLiteError) {
            let connection = try Connection.untrustedForWriting(copy, limits: limits)
            let schema = try DatabaseSchema("main", of: connection)
            let texts = try FullTextTable.all(in: connection)
            // An index can show texts of rows that are left out.
            guard texts.allSatisfy({ $0.content != .none && $0.isReadable(connection) }) else {
                return .none
            }
            let rows = try ReducibleRows(schema, of: connection)
            let violations = try Self.violations(of: connection)
            let kept: [Bool]
            (kept, isComplete) = try self.kept(among: rows, schema, connection, of: path)
            try connection.execute("BEGIN")
            try rows.delete(from: connection, keeping: kept, of: rows.all)
            for table in texts { try table.rebuild(in: connection) }
            try connection.execute("COMMIT")
            try connection.vacuumUntrusted()
            guard try connection.text(of: "PRAGMA integrity_check(1)") == "ok",
                try Self.violations(of: connection) <= violations
            else { return .none }
        } catch {
            return .none
        }
        try FileSystem.remove(path)
        try FileSystem.rename(copy, to: path)
        return isComplete ? .otherRows : .changedRows(limit: Self.rowLimit)
    }

    private static func violations(of connection: borrowing Connection) throws(SQLiteError) -> Int64 {
        try connection.integer(of: "SELECT count(*) FROM pragma_foreign_key_check")
    }

    /// Returns the rows that stay, and true if all rows that the transaction changed or refers to are among them.
    private func kept(
        among rows: ReducibleRows, _ schema: DatabaseSchema, _ connection: borrowing Connection,
        of path: String
    ) throws(SQLiteError) -> (rows: [Bool], isComplete: Bool) {
        var lookup = RowLookup(rows)
        let (named, others) = try seeds(in: schema, connection, &lookup)
        let wanted = named.prefix(Self.rowLimit) + others.prefix(Self.rowLimit)
        let closure = rows.closure(of: wanted)
        let isComplete =
            step.tables.allSatisfy(\.isComplete) && others.allSatisfy { closure[$0] }
        let methods: [Repetition] = [
            .statements(foreignKeys: true), .statements(foreignKeys: false), .changes,
        ]
        let method = methods.first {
            isBroken(path, keeping: rows.all, of: rows, repeating: $0)
        }
        guard let method else { return (closure, isComplete) }
        // Duplicates, for example, need the older row, and a statement can read rows that it doesn't change.
        let needed = minimized(Array(0..<rows.count)) { more in
            isBroken(path, keeping: rows.closure(of: wanted + more), of: rows, repeating: method)
        }
        let isFew = needed.count <= Self.neededLimit
        return (isFew ? rows.closure(of: wanted + needed) : closure, isComplete)
    }

    /// The ways of repeating what the transaction did.
    private enum Repetition {
        /// Its statements, if they have no parameters.
        ///
        /// Whether foreign keys were enforced is not recorded.
        case statements(foreignKeys: Bool)
        /// Its changes, row by row.
        case changes
    }

    /// Returns true if the query returns a row after the transaction is repeated with the rows that are kept.
    private func isBroken(
        _ path: String, keeping kept: [Bool], of rows: ReducibleRows, repeating method: Repetition
    ) -> Bool {
        guard let query else { return false }
        let copy = path + ".try"
        defer { try? FileSystem.remove(copy) }
        do {
            try FileSystem.copy(path, toNewFile: copy)
            let connection = try Connection.untrustedForWriting(copy, limits: limits)
            try rows.delete(from: connection, keeping: kept, of: rows.all)
            switch method {
            case .statements(let foreignKeys):
                try connection.enableTriggers(foreignKeys: foreignKeys)
                try repeatStatements(in: connection)
            case .changes: try repeatChanges(in: connection)
            }
            let statement = try connection.prepare(query)
            return statement.isReadOnly ? try statement.step() : false
        } catch {
            // The changes of a migration, for example, can't be repeated row by row.
            return false
        }
    }

    /// Runs the transaction's statements that write.
    private func repeatStatements(in connection: borrowing Connection) throws {
        try connection.execute("BEGIN; PRAGMA defer_foreign_keys = ON")
        for logged in step.statements where logged.writes && logged.record.error == nil {
            if let table = logged.outline.table, ReducibleRows.isBookkeeping(table) { continue }
            guard logged.record.cut != true, !logged.outline.isElsewhere else { throw Obstacle() }
            let statement = try connection.prepare(logged.record.sql)
            // The values are not recorded.
            guard statement.parameterCount == 0 else { throw Obstacle() }
            while try statement.step() {}
        }
    }

    /// A statement that can't be run again.
    private struct Obstacle: Error {}

    /// Makes the transaction's changes, without those of rows that are left out.
    private func repeatChanges(in connection: borrowing Connection) throws(SQLiteError) {
        try repeatChanges(of: step, in: connection)
    }

    private func repeatChanges(
        of step: StoreEvidence.Step, in connection: borrowing Connection
    ) throws(SQLiteError) {
        // New rows come last, because they may have unique values of rows that were changed or deleted.
        for kind in [RowChange.Kind.deleted, .updated, .inserted] {
            for table in step.tables {
                let name = quotedIdentifier(table.table.name)
                let keys = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
                let condition = keys.map { "\(quotedIdentifier($0)) IS ?" }.joined(separator: " AND ")
                for change in table.rows where change.kind == kind {
                    let key = change.key.compactMap(\.bindable)
                    let cells = change.cells.compactMap { cell in
                        cell.new?.bindable.map { (quotedIdentifier(cell.column), $0) }
                    }
                    let names = cells.map(\.0)
                    let statement: Statement
                    switch kind {
                    case .deleted:
                        statement = try connection.prepare("DELETE FROM \(name) WHERE \(condition)")
                        try statement.bind(key)
                    case .updated:
                        let changes = names.map { "\($0) = ?" }.joined(separator: ", ")
                        statement = try connection.prepare(
                            "UPDATE \(name) SET \(changes) WHERE \(condition)")
                        try statement.bind(cells.map(\.1) + key)
                    case .inserted:
                        let places = names.map { _ in "?" }.joined(separator: ", ")
                        statement = try connection.prepare(
                            "INSERT INTO \(name)(\(names.joined(separator: ", "))) VALUES(\(places))")
                        try statement.bind(cells.map(\.1))
                    }
                    _ = try statement.step()
                }
            }
        }
    }

    /// Returns the rows of the finding, and those that the transaction changed or refers to, each one once.
    private func seeds(
        in schema: DatabaseSchema, _ connection: borrowing Connection, _ lookup: inout RowLookup
    ) throws(SQLiteError) -> (named: [Int], others: [Int]) {
        var rows: [Int] = []
        var named: [Int] = []
        for row in finding.rows {
            named += try lookup.rows(
                of: row.table, where: row.key.map { ($0.column, $0.value) }, connection)
        }
        let own = Set(finding.rows.map { folded($0.table) })
        let changed = step.tables
        let tables =
            changed.filter { own.contains(folded($0.table.name)) }
            + changed.filter { !own.contains(folded($0.table.name)) }
        for table in tables {
            let names = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
            for change in table.rows where change.kind != .inserted {
                rows += try lookup.rows(
                    of: table.table.name, where: Array(zip(names, change.key)), connection)
            }
        }
        for table in tables {
            guard let shape = schema.tables[folded(table.table.name)] else { continue }
            let references =
                try Reference.declared(by: shape, in: schema, of: connection)
                + shape.columns.compactMap { Reference.suggested(by: $0, of: shape, in: schema) }
            for change in table.rows where change.kind != .deleted {
                for reference in references {
                    let values = reference.columns.compactMap { change.cell($0)?.new }
                    guard values.count == reference.columns.count else { continue }
                    rows += try lookup.rows(
                        of: reference.parent, where: Array(zip(reference.parentColumns, values)),
                        connection)
                }
            }
        }
        var seen: Set<Int> = []
        return (
            named.filter { seen.insert($0).inserted }, rows.filter { seen.insert($0).inserted }
        )
    }
}

extension FixturePlan {
    /// The rows that a fixture doesn't have.
    package enum Omission: Equatable, Sendable {
        /// None.
        case none
        /// Rows that the transaction neither changed nor refers to.
        case otherRows
        /// Some of the rows that the transaction changed or refers to as well, because these are more than `limit`.
        case changedRows(limit: Int)
    }

    /// Leaves out the rows of a store that the transaction has nothing to do with.
    ///
    /// - Parameters:
    ///   - path: The state before the transaction, which nothing else uses.
    ///   - limits: The resource limits.
    /// - Returns: The rows that were left out: none if the store is damaged, or if nothing is known about the rows that
    ///   matter.
    /// - Throws: An error if the store can't be read.
    package func slice(_ path: String, limits: UntrustedLimits) throws -> Omission {
        guard let step = culprit.step else { return .none }
        return try FixtureSlice(finding: finding, step: step, query: query, limits: limits).apply(
            to: path)
    }
}

/// Finds rows by the values of columns.
private struct RowLookup {
    private let rows: ReducibleRows
    private var numbers: [String: [[Value]: Int]] = [:]

    init(_ rows: ReducibleRows) {
        self.rows = rows
    }

    /// Returns the numbers of the rows with the given values; empty if there are none.
    mutating func rows(
        of name: String, where values: [(column: String, value: StoredValue)],
        _ connection: borrowing Connection
    ) throws(SQLiteError) -> [Int] {
        let bound = values.compactMap(\.value.bindable)
        guard let table = rows.tables.first(where: { folded($0.shape.name) == folded(name) }),
            !values.isEmpty, bound.count == values.count
        else { return [] }
        let known = Set(table.shape.columns.map { folded($0.name) } + table.key.map(folded))
        guard values.allSatisfy({ known.contains(folded($0.column)) }) else { return [] }
        if numbers[folded(name)] == nil { numbers[folded(name)] = rows.numbers(of: table) }
        let condition = values.map { "\(quotedIdentifier($0.column)) IS ?" }.joined(separator: " AND ")
        let statement = try connection.prepare(
            "SELECT \(table.key.map(quotedIdentifier).joined(separator: ", ")) FROM \(table.name) "
                + "WHERE \(condition) LIMIT 20")
        try statement.bind(bound)
        var found: [Int] = []
        while try statement.step() {
            let key = table.key.indices.map { statement.value(at: $0) }
            if let number = numbers[folded(name)]?[key] { found.append(number) }
        }
        return found
    }
}
