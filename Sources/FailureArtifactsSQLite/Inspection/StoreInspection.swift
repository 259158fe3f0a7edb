internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The facts that SQLite reports about a stand-alone database file.
package struct StoreInspection: Sendable, Equatable {
    /// A table with its number of rows.
    package struct Table: Codable, Equatable, Sendable {
        package var name: String
        package var rows: Int64
        /// True if ``rows`` is exact; false if counting took too long and it is a lower bound.
        package var exact: Bool

        package init(name: String, rows: Int64, exact: Bool) {
            self.name = name
            self.rows = rows
            self.exact = exact
        }
    }

    /// The page size, in bytes.
    package var pageSize: Int64 = 0
    package var pageCount: Int64 = 0
    package var freePageCount: Int64 = 0
    package var userVersion: Int64 = 0
    package var applicationID: Int64 = 0
    /// `ok`, the first finding of `PRAGMA quick_check`, or `notChecked` if the time limit had passed.
    package var integrity = "notChecked"
    /// The tables, sorted by name, without SQLite's internal ones.
    package var tables: [Table] = []
    /// The schema, up to ``maximumSchemaBytes``.
    package var schema = StoreSchema()

    /// The maximum size of the schema that is read, in bytes; `sqlite_master` has the rest.
    package static let maximumSchemaBytes = 256 << 10

    /// Inspects a database that is not in use and needs no journal.
    ///
    /// The time limit, in seconds, applies to the check, and again to counting rows. In a redacted store, a row that
    /// violates a `CHECK` is no damage, so `checksConstraints` is false.
    package init(
        ofFile path: String, timeLimit: Double, checksConstraints: Bool = true
    ) throws(SQLiteError) {
        let connection = try Connection.untrusted(path, limits: .none)
        if !checksConstraints { try connection.execute("PRAGMA ignore_check_constraints = 1") }
        pageSize = try connection.integer(of: "PRAGMA page_size")
        pageCount = try connection.integer(of: "PRAGMA page_count")
        freePageCount = try connection.integer(of: "PRAGMA freelist_count")
        userVersion = try connection.integer(of: "PRAGMA user_version")
        applicationID = try connection.integer(of: "PRAGMA application_id")
        schema = try StoreSchema(of: connection, maximumBytes: Self.maximumSchemaBytes)

        connection.setDeadline(Instant.now.advanced(bySeconds: timeLimit))
        integrity = try Self.integrity(of: connection)
        let deadline = Instant.now.advanced(bySeconds: timeLimit)
        connection.setDeadline(deadline)
        for name in try Self.tableNames(of: connection) {
            tables.append(Self.countRows(of: name, in: connection, until: deadline))
        }
    }

    private static func integrity(of connection: borrowing Connection) throws(SQLiteError) -> String {
        do throws(SQLiteError) {
            guard case .text(let result) = try connection.value(of: "PRAGMA quick_check(1)") else {
                return "notChecked"
            }
            return result
        } catch {
            // A failure of the system says nothing about the file.
            if error.isOfSystem { throw error }
            return error.isInterrupted ? "notChecked" : error.message
        }
    }

    private static func tableNames(of connection: borrowing Connection) throws(SQLiteError) -> [String] {
        let statement = try connection.prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
                + "ORDER BY name")
        var names: [String] = []
        while try statement.step() {
            if case .text(let name) = statement.value(at: 0) { names.append(name) }
        }
        return names
    }

    /// Returns a table with its number of rows, or with a lower bound.
    private static func countRows(
        of name: String, in connection: borrowing Connection, until deadline: Instant
    ) -> Table {
        let table = quotedIdentifier(name)
        if Instant.now < deadline,
            let rows = try? connection.integer(of: "SELECT count(*) FROM \(table)")
        {
            return Table(name: name, rows: rows, exact: true)
        }
        // Some rows are counted even after the time limit, because the progress handler would otherwise stop at
        // 0.
        connection.setDeadline(Instant.now.advanced(bySeconds: 0.05))
        defer { connection.setDeadline(deadline) }
        let rows = try? connection.integer(
            of: "SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT 1000)")
        return Table(name: name, rows: rows ?? 0, exact: false)
    }
}

/// Returns a name as a quoted SQL identifier, whatever characters it contains.
package func quotedIdentifier(_ name: String) -> String {
    var result = "\""
    for character in name.unicodeScalars {
        if character == "\"" { result.unicodeScalars.append("\"") }
        result.unicodeScalars.append(character)
    }
    return result + "\""
}

/// The version of the SQLite library in this process, such as `3.40.1`.
package var sqliteVersion: String { String(cString: sqlite3_libversion()) }
