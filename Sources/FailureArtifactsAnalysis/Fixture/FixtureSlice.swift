internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The rows of a store that a test needs: the rows of the finding, those that the transactions changed, those of the tables
/// that the question reads, those without which the assertion has another value, and those that all of these refer to.
struct FixtureSlice {
    /// The maximum number of further rows that the assertion needs.
    private static let neededLimit = 10
    /// The maximum number of rows of the tables that the question reads.
    private static let readLimit = 500

    /// The rows of the finding.
    let named: [Finding.Row]
    /// The transactions that the test runs.
    let steps: [Timeline.Step]
    /// The folded names of the tables that the question reads.
    let tables: Set<String>
    let limits: UntrustedLimits
    /// Returns true if the assertion has the same value as with all rows, on a copy of the state before the transaction from
    /// which a function has deleted rows; nil if no assertion is known.
    let isSame: ((_ path: String, (borrowing Connection) throws -> Void) -> Bool)?

    /// Leaves out all other rows of the state before the transaction, which nothing else uses; false if it can't.
    func apply(to before: String, after: String) throws -> Bool {
        let copy = before + ".slice"
        try FileSystem.copy(before, toNewFile: copy)
        defer { try? FileSystem.remove(copy) }
        do throws(SQLiteError) {
            let connection = try Connection.untrustedForWriting(copy, limits: limits)
            let rows = try ReducibleRows(DatabaseSchema("main", of: connection), of: connection)
            let violations = try Self.violations(of: connection)
            guard let kept = try kept(among: rows, connection, of: before, after: after) else {
                return false
            }
            try rows.delete(from: connection, keeping: kept, of: rows.all)
            // An index without texts can show those of rows that are left out.
            guard try FullTextTables.rebuild(in: connection) else { return false }
            try connection.execute("VACUUM")
            guard try connection.text(of: "PRAGMA integrity_check(1)") == "ok",
                try Self.violations(of: connection) <= violations
            else { return false }
        } catch {
            return false
        }
        try FileSystem.remove(before)
        try FileSystem.rename(copy, to: before)
        return true
    }

    private static func violations(of connection: borrowing Connection) throws(SQLiteError) -> Int64 {
        try connection.integer(of: "SELECT count(*) FROM pragma_foreign_key_check")
    }

    private func kept(
        among rows: ReducibleRows, _ connection: borrowing Connection, of before: String, after: String
    ) throws(SQLiteError) -> [Bool]? {
        let later = try Connection.untrusted(after, limits: limits)
        let laterRows = try ReducibleRows(DatabaseSchema("main", of: later), of: later)
        // What a new row refers to was there before.
        let found = laterRows.closure(of: try changed(among: laterRows, later))
        let read = rows.tables.filter { tables.contains($0.key) }.flatMap(\.value.rows.values)
        guard read.count <= Self.readLimit else { return nil }
        let wanted =
            try read + changed(among: rows, connection) + rows.numbers(of: found, in: laterRows)
        let needed = needed(among: rows, beside: wanted, in: before)
        // A migration may read any row.
        guard needed != nil || steps.allSatisfy(\.changes.schema.isEmpty) else { return nil }
        return rows.closure(of: wanted + (needed ?? []))
    }

    /// Returns the rows without which the assertion has another value once the statements have run again: a statement can
    /// read rows that it doesn't change; nil if it has another value anyway.
    private func needed(
        among rows: ReducibleRows, beside wanted: [Int], in path: String
    ) -> [Int]? {
        func isSame(_ kept: [Bool]) -> Bool {
            self.isSame?(path) { try rows.delete(from: $0, keeping: kept, of: rows.all) } ?? false
        }
        guard isSame(rows.all) else { return nil }
        let needed = minimized(Array(0..<rows.count)) { isSame(rows.closure(of: wanted + $0)) }
        return needed.count <= Self.neededLimit ? needed : []
    }

    /// Returns the rows of the finding, and those that the transaction changed, as far as a state has them.
    private func changed(
        among rows: ReducibleRows, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [Int] {
        var found: [Int] = []
        for row in named {
            found += try rows.numbers(
                of: row.table, where: row.key.map(\.column), row.key.map(\.value), connection)
        }
        for table in steps.flatMap(\.tables) {
            for change in table.rows {
                found += try rows.numbers(
                    of: table.table.name, where: table.table.keyNames, change.key, connection)
            }
        }
        return found
    }
}
