package import FailureArtifactsSQLite

/// A check that holds for a store if a query returns a row.
package struct QueryCheck {
    private let sql: String
    private let budget: TimeBudget

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - sql: A query.
    ///   - limits: The resource limits. The time limit applies to all stores together.
    package init(_ sql: String, limits: UntrustedLimits) {
        self.sql = sql
        budget = TimeBudget(limits)
    }

    /// Returns true if the query returns a row.
    ///
    /// - Parameter path: A store that nothing else uses.
    /// - Returns: True if the query returns a row.
    /// - Throws: A ``CommandError`` if it isn't a query, or an error of SQLite.
    package func holds(for path: String) throws -> Bool {
        let connection = try Connection.untrusted(path, limits: budget.remaining())
        let statement = try connection.prepare(sql)
        guard statement.isReadOnly else {
            throw CommandError(
                .usage, "'\(sql)' is not run: it changes the store. Pass a query, such as a SELECT.")
        }
        return try statement.step()
    }
}
