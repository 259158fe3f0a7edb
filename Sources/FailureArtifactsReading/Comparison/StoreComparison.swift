internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// A comparison of two stores: the changes that turned A into B.
///
/// SQLite compares the rows, with both files open in one connection. Only differing rows leave it, one after
/// the other. So the required memory depends on the size of a row, not on the number of rows.
///
/// Values are equal if their types and bytes are. 1, 1.0 and '1' are three values, and collations don't
/// matter. -0.0 and 0.0 are equal. The tables of `ANALYZE` (`sqlite_stat1` and the like) are not compared.
package struct StoreComparison: ~Copyable {
    package struct Side: Equatable, Sendable {
        package let path: String
        /// True if no other connection uses the file and it needs no journal; it is read without locks then.
        package let isPrivate: Bool

        package init(path: String, isPrivate: Bool) {
            self.path = path
            self.isPrivate = isPrivate
        }

        /// Describes a file that other connections may have open; nil if the file doesn't start like an SQLite
        /// database.
        package init?(ofFile path: String) throws(SystemError) {
            let file = try File(sharing: path)
            let header = try file.bytes(20, at: 0)
            guard header.count == 20, header.starts(with: DatabaseHeader.magic) else {
                return nil
            }
            // Byte 19 is 2 in WAL mode (https://www.sqlite.org/fileformat.html#the_database_header). Without
            // a WAL file, no connection has the database open. A reader with locks would create a WAL file
            // and leave it there.
            let hasWAL = try FileSystem.status(of: path + "-wal") != nil
            self.init(path: path, isPrivate: header[19] == 2 && !hasWAL)
        }
    }

    package let connection: Connection
    let pathOfA: String
    let pathOfB: String
    package let a: DatabaseSchema
    package let b: DatabaseSchema

    /// Opens both files for reading and reads their schemas.
    ///
    /// The files are untrusted. Nothing in them is run except the expressions of generated columns, with SQLite's
    /// built-in functions.
    ///
    /// - `deadline`: the point in time after which all operations fail with an error that
    ///   ``SQLiteError/isInterrupted``; nil for no deadline besides the limits.
    /// - `known`: the schema of another state of both stores. It saves reading a schema that has the same version.
    package init(
        a: Side, b: Side, deadline: Instant? = nil, limits: UntrustedLimits = .standard,
        reusing known: DatabaseSchema? = nil
    ) throws(SQLiteError) {
        let connection = try Self.open(a, b, deadline, limits)
        let old = try DatabaseSchema("main", of: connection, reusing: known)
        // The states of a history mostly have the same schema.
        let new = try DatabaseSchema("other", of: connection, reusing: known == nil ? nil : old)
        pathOfA = a.path
        pathOfB = b.path
        self.a = old
        self.b = new
        self.connection = connection
    }

    private static func open(
        _ a: Side, _ b: Side, _ deadline: Instant?, _ limits: UntrustedLimits
    ) throws(SQLiteError) -> Connection {
        let connection = try Connection.untrusted(a.path, isPrivate: a.isPrivate, limits: limits)
        if let deadline { connection.setDeadline(deadline) }
        // Read each file separately, so that the error names the one that isn't a database.
        do throws(SQLiteError) {
            try connection.execute("PRAGMA main.schema_version")
        } catch {
            throw SQLiteError("read '\(a.path)'", code: error.code, message: error.message)
        }
        do throws(SQLiteError) {
            let attach = try connection.prepare("ATTACH ? AS other")
            try attach.bind([
                .text(Connection.uri(path: Path.absolute(b.path), isImmutable: b.isPrivate))
            ])
            _ = try attach.step()
        } catch {
            throw SQLiteError("read '\(b.path)'", code: error.code, message: error.message)
        }
        // An automatic index would be as large as the table.
        try connection.execute("PRAGMA automatic_index = 0")
        // Keep one state of each file, from the first read on.
        try connection.execute("BEGIN")
        return connection
    }
}

extension StoreComparison {
    /// Visits the rows of a table that differ between the stores, and counts them.
    ///
    /// Changed and deleted rows come first, in A's storage order. Inserted rows follow in B's order.
    ///
    /// - `table`: one of ``tables()``. A table with a problem has no changes.
    @discardableResult
    package borrowing func forEachRowChange(
        in table: ComparedTable, limit: Int64? = nil, valueLimit: Int = .max,
        _ body: (RowChange) throws -> Void
    ) throws -> RowCounts {
        guard table.problem == nil else { return RowCounts() }
        let reader = RowReader(table, valueLimit: valueLimit)
        let queries = RowQueries(table)
        var counts = RowCounts()
        var left = limit ?? .max
        func visit(_ change: () -> RowChange) throws {
            guard left > 0 else { return }
            left -= 1
            try body(change())
        }
        guard table.presence == .both else {
            if table.a != nil {
                counts.deleted = try forEachRow(of: .a, queries, upTo: left) { statement in
                    try visit { reader.wholeRow(.deleted, statement) }
                }
            }
            if table.b != nil {
                counts.inserted = try forEachRow(of: .b, queries, upTo: left) { statement in
                    try visit { reader.wholeRow(.inserted, statement) }
                }
            }
            return counts
        }
        let changed = try connection.prepare(queries.changedRows)
        while try changed.step() {
            if changed.integer(at: 0) != 0 {
                counts.deleted += 1
                try visit { reader.wholeRow(.deleted, changed, skipping: 1) }
            } else {
                counts.updated += 1
                try visit { reader.updatedRow(changed) }
            }
        }
        counts.inserted = try insertedCount(table, queries, deleted: counts.deleted)
        // Stop after the last one, because all further rows of B are in A.
        var rest = min(counts.inserted, left)
        guard rest > 0 else { return counts }
        let inserted = try connection.prepare(queries.insertedRows)
        while rest > 0, try inserted.step() {
            rest -= 1
            try body(reader.wholeRow(.inserted, inserted))
        }
        return counts
    }

    /// Counts the rows of a table that differ between the stores.
    package borrowing func countRowChanges(in table: ComparedTable) throws(SQLiteError) -> RowCounts {
        do {
            return try forEachRowChange(in: table, limit: 0) { _ in }
        } catch {
            // Only SQLite fails here.
            throw error as? SQLiteError ?? SQLiteError("compare", code: SQLITE_INTERNAL)
        }
    }

    /// Returns the number of rows that only B has; among all rows it needs no search, because keys are unique in a
    /// table.
    private borrowing func insertedCount(
        _ table: ComparedTable, _ queries: RowQueries, deleted: Int64
    ) throws(SQLiteError) -> Int64 {
        if table.rowids != nil { return try connection.integer(of: queries.insertedCount) }
        let kept = try connection.integer(of: queries.count(of: .a)) - deleted
        return max(0, try connection.integer(of: queries.count(of: .b)) - kept)
    }

    /// Visits the first rows of one side, and returns the number of all its rows.
    private borrowing func forEachRow(
        of side: RowQueries.Side, _ queries: RowQueries, upTo limit: Int64,
        _ body: (borrowing Statement) throws -> Void
    ) throws -> Int64 {
        let count = try connection.integer(of: queries.count(of: side))
        let statement = try connection.prepare(queries.allRows(of: side))
        var left = limit
        while left > 0, try statement.step() {
            left -= 1
            try body(statement)
        }
        return count
    }
}
