package import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A check that holds for a store if a query returns a row.
package struct QueryCheck {
    private let sql: String
    private let budget: TimeBudget

    /// Creates a check, whose time limit applies to all stores together.
    package init(_ sql: String, limits: UntrustedLimits) {
        self.sql = sql
        budget = TimeBudget(limits)
    }

    /// Returns true if the query returns a row in a store that nothing else uses; it throws a ``CommandError`` if it
    /// isn't a query.
    package func holds(for path: String) throws -> Bool {
        let connection = try Connection.untrusted(path, limits: budget.remaining())
        return try connection.query(sql).step()
    }
}
