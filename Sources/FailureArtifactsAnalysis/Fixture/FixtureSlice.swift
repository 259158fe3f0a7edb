internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The rows of a store that a transaction had something to do with.
struct FixtureSlice {
    /// The maximum number of rows that the transaction changed, and of rows of the finding. The rows that these refer
    /// to are kept as well.
    private static let rowLimit = 200
    /// The maximum number of further rows that the query needs.
    private static let neededLimit = 10

    let finding: Finding
    let step: Timeline.Step
    /// A query that returns a row after the transaction; nil if no query can tell.
    let query: String?
    let limits: UntrustedLimits

    /// Leaves out all other rows of the state before the transaction, which nothing else uses. Rows of the finding,
    /// rows that the transaction changed, and rows that these refer to stay, and rows that the query needs to return
    /// a row.
    func apply(to before: String, after: String) throws -> FixturePlan.Omission {
        let copy = before + ".slice"
        try FileSystem.copy(before, toNewFile: copy)
        defer { try? FileSystem.remove(copy) }
        do throws(SQLiteError) {
            let connection = try Connection.untrustedForWriting(copy, limits: limits)
            let rows = try ReducibleRows(DatabaseSchema("main", of: connection), of: connection)
            let violations = try Self.violations(of: connection)
            guard let kept = try kept(among: rows, connection, of: before, after: after) else {
                return .none
            }
            try rows.delete(from: connection, keeping: kept, of: rows.all)
            // An index without texts can show those of rows that are left out.
            guard try FullTextTables.rebuild(in: connection) else { return .none }
            try connection.execute("VACUUM")
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

    /// Returns the rows that stay; nil if they are unknown.
    private func kept(
        among rows: ReducibleRows, _ connection: borrowing Connection, of before: String, after: String
    ) throws(SQLiteError) -> [Bool]? {
        let later = try Connection.untrusted(after, limits: limits)
        let laterRows = try ReducibleRows(DatabaseSchema("main", of: later), of: later)
        // What a new row refers to was there before.
        let laterChanged = try changed(among: laterRows, later)
        let found = rows.numbers(of: laterRows.closure(of: laterChanged), in: laterRows)
        let wanted = try changed(among: rows, connection) + found
        // A statement can read rows that it doesn't change.
        let repetitions = [true, false].map { Attempt(path: before, rows: rows, foreignKeys: $0) }
        if let needed = repetitions.lazy.compactMap({ needed(in: $0, beside: wanted) }).first {
            return rows.closure(of: wanted + needed)
        }
        // A migration may read any row.
        guard step.changes.schema.isEmpty else { return nil }
        let state = Attempt(path: after, rows: laterRows)
        // Duplicates, for example, need the older row.
        let duplicates = needed(in: state, beside: laterChanged) ?? []
        return rows.closure(
            of: wanted + rows.numbers(of: laterRows.closure(of: duplicates), in: laterRows))
    }

    /// A state with a part of its rows.
    private struct Attempt {
        let path: String
        let rows: ReducibleRows
        /// Whether foreign keys are enforced while the transaction's statements are run again, which isn't recorded; nil for
        /// the state after them.
        var foreignKeys: Bool?
    }

    /// Returns the rows that the query needs to return a row, besides those that stay anyway; nil if it returns none.
    private func needed(in attempt: Attempt, beside wanted: [Int]) -> [Int]? {
        guard isBroken(attempt, keeping: attempt.rows.all) else { return nil }
        let needed = minimized(Array(0..<attempt.rows.count)) { more in
            isBroken(attempt, keeping: attempt.rows.closure(of: wanted + more))
        }
        return needed.count <= Self.neededLimit ? needed : []
    }

    private func isBroken(_ attempt: Attempt, keeping kept: [Bool]) -> Bool {
        guard let query else { return false }
        let copy = attempt.path + ".try"
        defer { try? FileSystem.remove(copy) }
        do {
            try FileSystem.copy(attempt.path, toNewFile: copy)
            try attempt.rows.delete(
                from: Connection.untrustedForWriting(copy, limits: limits), keeping: kept,
                of: attempt.rows.all)
            return try Rerun(
                attempt.foreignKeys == nil ? [] : step.statements, attempt.foreignKeys ?? false,
                on: copy, limits, StepBudget(steps: Effort.standard.steps)
            ).givesRow(to: query)
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
