internal import FailureArtifactsReading
package import FailureArtifactsSQLite

/// Compares two states of a store with SQL.
///
/// Rows are matched by primary key, or by rowid if the table has no primary key.
package struct RowChanges: ~Copyable {
    private let connection: Connection
    private let changedRows: ChangedRows?

    /// Counts the changes between two stand-alone files.
    ///
    /// - Parameters:
    ///   - old: The earlier state. No other code may use either file.
    ///   - new: The later state.
    ///   - pages: The pages that may differ, if known. They make the comparison much faster.
    ///   - limits: The limits on resources that the states can use.
    /// - Returns: The changes. A table whose rows can't be compared has a `problem`.
    /// - Throws: An error if a file can't be read.
    package static func count(
        from old: String, to new: String, pages: Set<UInt32>? = nil,
        limits: UntrustedLimits = .standard
    ) throws(SQLiteError) -> StateChanges {
        let connection = try Connection.untrusted(new, limits: limits)
        try attach(old, to: connection)
        var changedRows: ChangedRows?
        if let pages {
            changedRows = ChangedRows(
                from: (old, try roots(of: "old", connection)),
                to: (new, try roots(of: "main", connection)),
                pages: pages)
        }
        return try RowChanges(connection: connection, changedRows: changedRows).changes()
    }

    private init(connection: consuming Connection, changedRows: ChangedRows?) {
        self.connection = connection
        self.changedRows = changedRows
    }

    private static func attach(_ path: String, to connection: borrowing Connection) throws(SQLiteError) {
        let statement = try connection.prepare("ATTACH ? AS old")
        try statement.bind([.text(Connection.uri(path: path, isImmutable: true))])
        _ = try statement.step()
    }

    private static func roots(
        of schema: String, _ connection: borrowing Connection
    ) throws(SQLiteError) -> ChangedRows.Roots {
        let statement = try connection.prepare(
            "SELECT name, rootpage FROM \(schema).sqlite_master WHERE rootpage > 0")
        var roots: ChangedRows.Roots = [:]
        while try statement.step() {
            if case .integer(let root) = statement.value(at: 1) {
                roots[text(statement.value(at: 0))] = UInt32(clamping: root)
            }
        }
        return roots
    }

    private func changes() throws(SQLiteError) -> StateChanges {
        var result = StateChanges()
        let (before, after) = (try objects(of: "old"), try objects(of: "main"))
        for (key, sql) in after where before[key] != sql {
            let change: StateChanges.Object.Change = before[key] == nil ? .created : .changed
            result.schema.append(.init(change: change, type: key.type, name: key.name))
        }
        for key in before.keys where after[key] == nil {
            result.schema.append(.init(change: .dropped, type: key.type, name: key.name))
        }
        result.schema.sort { ($0.type, $0.name) < ($1.type, $1.name) }
        for name in Set(try tables(of: "old") + tables(of: "main")).sorted() {
            let table: StateChanges.Table
            do {
                table = try changes(in: name)
            } catch {
                if error.isDatabaseDamaged || error.isOverLimit { throw error }
                table = StateChanges.Table(name: name, problem: error.message)
            }
            if table.hasChanges { result.tables.append(table) }
        }
        let version = try connection.integer(of: "PRAGMA main.user_version")
        if try connection.integer(of: "PRAGMA old.user_version") != version {
            result.userVersion = version
        }
        return result
    }

    private struct Key: Hashable {
        let type: String
        let name: String
    }

    /// Returns the statements of the schema's objects.
    private func objects(of schema: String) throws(SQLiteError) -> [Key: String] {
        let statement = try connection.prepare(
            "SELECT type, name, sql FROM \(schema).sqlite_master WHERE sql IS NOT NULL")
        var objects: [Key: String] = [:]
        while try statement.step() {
            let key = Key(type: text(statement.value(at: 0)), name: text(statement.value(at: 1)))
            objects[key] = text(statement.value(at: 2))
        }
        return objects
    }

    /// Returns the names of the tables that have rows of their own, without SQLite's internal tables.
    private func tables(of schema: String) throws(SQLiteError) -> [String] {
        let statement = try connection.prepare(
            "SELECT name FROM \(schema).sqlite_master WHERE type = 'table' AND rootpage > 0 "
                + "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        var names: [String] = []
        while try statement.step() { names.append(text(statement.value(at: 0))) }
        return names
    }

    private struct Columns: Equatable {
        var names: [String] = []
        /// The columns of the primary key, in its order.
        var key: [String] = []
    }

    /// Returns the columns of a table with rows of its own; nil if there is no such table.
    ///
    /// Views are excluded, because a view may have infinitely many rows.
    private func columns(of table: String, in schema: String) throws(SQLiteError) -> Columns? {
        let statement = try connection.prepare(
            "SELECT name, pk FROM pragma_table_info(?1, ?2) WHERE EXISTS (SELECT 1 FROM \(schema).sqlite_master s "
                + "WHERE s.type = 'table' AND s.rootpage > 0 AND s.name = ?1 COLLATE NOCASE) ORDER BY pk"
        )
        try statement.bind([.text(table), .text(schema)])
        var columns = Columns()
        while try statement.step() {
            let name = text(statement.value(at: 0))
            columns.names.append(name)
            if statement.value(at: 1) != .integer(0) { columns.key.append(name) }
        }
        return columns.names.isEmpty ? nil : columns
    }

    private func changes(in name: String) throws(SQLiteError) -> StateChanges.Table {
        let table = quotedIdentifier(name)
        var result = StateChanges.Table(name: name)
        guard let before = try columns(of: name, in: "old") else {
            result.inserted = try connection.integer(of: "SELECT count(*) FROM main.\(table)")
            return result
        }
        guard let after = try columns(of: name, in: "main") else {
            result.deleted = try connection.integer(of: "SELECT count(*) FROM old.\(table)")
            return result
        }
        let common = after.names.filter(before.names.contains)
        // Rows are matched by primary key only if it is the same in both states.
        let isKey = !after.key.isEmpty && after.key == before.key
        let rowid = Self.rowid(beside: before.names + after.names)
        let key = isKey ? after.key.map(quotedIdentifier) : [rowid ?? "rowid"]
        var scope = ""
        if let rowid, case .rows(let rowids) = changedRows?.extent(of: name) {
            if rowids.isEmpty { return result }
            scope = "a.\(rowid) IN (\(rowids.map(String.init).joined(separator: ","))) AND "
        }
        let matches = key.map { "a.\($0) IS b.\($0)" }.joined(separator: " AND ")
        result.inserted = try connection.integer(
            of: "SELECT count(*) FROM main.\(table) a WHERE \(scope)NOT EXISTS "
                + "(SELECT 1 FROM old.\(table) b WHERE \(matches))")
        result.deleted = try connection.integer(
            of: "SELECT count(*) FROM old.\(table) a WHERE \(scope)NOT EXISTS "
                + "(SELECT 1 FROM main.\(table) b WHERE \(matches))")
        let differences = common.map(quotedIdentifier).map { column in
            "a.\(column) IS NOT b.\(column) COLLATE BINARY OR typeof(a.\(column)) <> typeof(b.\(column))"
        }
        guard !differences.isEmpty else { return result }
        result.updated = try connection.integer(
            of: "SELECT count(*) FROM main.\(table) a JOIN old.\(table) b ON \(matches) "
                + "WHERE \(scope)(\(differences.joined(separator: " OR ")))")
        return result
    }

    /// Returns a name of the rowid that isn't a column's name; nil if all are taken.
    private static func rowid(beside columns: [String]) -> String? {
        let taken = Set(columns.map { $0.lowercased() })
        return ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
    }
}

private func text(_ value: Value) -> String {
    if case .text(let text) = value { return text }
    return ""
}

/// The differences between a state of a store and an earlier one.
package struct StateChanges: Encodable, Equatable, Sendable {
    /// The changed rows of one table.
    package struct Table: Encodable, Equatable, Sendable {
        package var name: String
        package var inserted: Int64 = 0
        package var updated: Int64 = 0
        package var deleted: Int64 = 0
        /// The reason why the rows couldn't be counted, as a clause; nil if they were counted.
        package var problem: String?

        package var hasChanges: Bool { inserted + updated + deleted > 0 || problem != nil }
    }

    /// An object of the schema that was created, changed or dropped.
    package struct Object: Encodable, Equatable, Sendable {
        package enum Change: String, Encodable, Sendable {
            case created, changed, dropped
        }

        package var change: Change
        /// The type: `table`, `index`, `view` or `trigger`.
        package var type: String
        package var name: String
    }

    /// The changed tables, by name.
    ///
    /// For a created or dropped table, all rows are inserted or deleted.
    package var tables: [Table] = []
    package var schema: [Object] = []
    /// The new `PRAGMA user_version`; nil if it wasn't changed.
    package var userVersion: Int64?
}
