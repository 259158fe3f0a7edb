internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The rows of a store that a transaction had something to do with.
struct FixtureSlice {
    /// The maximum number of rows that the transaction changed, and of rows of the finding.
    ///
    /// The rows that these refer to are kept as well.
    private static let rowLimit = 200
    /// The maximum number of further rows that the query needs.
    private static let neededLimit = 10

    let finding: Finding
    /// The transaction.
    let step: StoreEvidence.Step
    /// A query that returns a row after the transaction; nil if no query can tell.
    let query: String?
    let limits: UntrustedLimits

    /// Leaves out all other rows of the state before the transaction, which nothing else uses.
    ///
    /// Rows of the finding, rows that the transaction changed, and rows that these refer to stay, and rows that the query
    /// needs to return a row.
    func apply(to before: String, after: String) throws -> FixturePlan.Omission {
        let copy = before + ".slice"
        try FileSystem.copy(before, toNewFile: copy)
        defer { try? FileSystem.remove(copy) }
        do throws(SQLiteError) {
            let connection = try Connection.untrustedForWriting(copy, limits: limits)
            let rows = try ReducibleRows(DatabaseSchema("main", of: connection), of: connection)
            let violations = try Self.violations(of: connection)
            let kept = try kept(among: rows, connection, after: after)
            try rows.delete(from: connection, keeping: kept, of: rows.all)
            // An index without texts can show those of rows that are left out.
            guard try FullTextTables.rebuild(in: connection) else { return .none }
            try connection.vacuumUntrusted()
            guard try connection.text(of: "PRAGMA integrity_check(1)") == "ok",
                try Self.violations(of: connection) <= violations
            else { return .none }
        } catch {
            return .none
        }
        try FileSystem.remove(before)
        try FileSystem.rename(copy, to: before)
        let changed = step.tables.reduce(0) { $0 + $1.counts.total }
        return changed <= Self.rowLimit ? .otherRows : .changedRows(limit: Self.rowLimit)
    }

    private static func violations(of connection: borrowing Connection) throws(SQLiteError) -> Int64 {
        try connection.integer(of: "SELECT count(*) FROM pragma_foreign_key_check")
    }

    /// Returns the rows that stay.
    private func kept(
        among rows: ReducibleRows, _ connection: borrowing Connection, after path: String
    ) throws(SQLiteError) -> [Bool] {
        let later = try Connection.untrusted(path, limits: limits)
        let laterRows = try ReducibleRows(DatabaseSchema("main", of: later), of: later)
        // What a new row refers to was there before.
        let changed = try changed(among: laterRows, later)
        let needed = needed(after: path, beside: changed, among: laterRows)
        let found = rows.numbers(of: laterRows.closure(of: changed + needed), in: laterRows)
        return try rows.closure(of: self.changed(among: rows, connection) + found)
    }

    /// Returns the rows that the query needs to return a row after the transaction, besides those that stay anyway.
    ///
    /// Duplicates, for example, need the older row.
    private func needed(after path: String, beside wanted: [Int], among rows: ReducibleRows) -> [Int] {
        guard let query, isBroken(path, keeping: rows.all, of: rows, query) else { return [] }
        let needed = minimized(Array(0..<rows.count)) { more in
            isBroken(path, keeping: rows.closure(of: wanted + more), of: rows, query)
        }
        return needed.count <= Self.neededLimit ? needed : []
    }

    private func isBroken(
        _ path: String, keeping kept: [Bool], of rows: ReducibleRows, _ query: String
    ) -> Bool {
        let copy = path + ".try"
        defer { try? FileSystem.remove(copy) }
        do {
            try FileSystem.copy(path, toNewFile: copy)
            try rows.delete(
                from: Connection.untrustedForWriting(copy, limits: limits), keeping: kept, of: rows.all)
            return try QueryCheck(query, limits: limits).holds(for: copy)
        } catch {
            return false
        }
    }

    /// Returns the rows of the finding, and those that the transaction changed, as far as a state has them.
    private func changed(
        among rows: ReducibleRows, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [Int] {
        var found: [Int] = []
        for row in finding.rows.prefix(Self.rowLimit) {
            found += try rows.numbers(
                of: row.table, where: row.key.map(\.column), row.key.map(\.value), connection)
        }
        var changed: [Int] = []
        for table in step.tables {
            let key = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
            for change in table.rows where changed.count < Self.rowLimit {
                changed += try rows.numbers(of: table.table.name, where: key, change.key, connection)
            }
        }
        return found + changed
    }
}
