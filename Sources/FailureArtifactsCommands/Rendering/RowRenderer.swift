internal import FailureArtifactsSQLite

/// Writes the rows of a query, one after the other.
protocol RowRenderer {
    /// Writes what precedes the rows.
    mutating func begin(columns: [String]) throws
    /// Writes one row, or keeps it for a while.
    mutating func write(row: [Value]) throws
    /// Writes what is kept, and what follows the rows.
    mutating func end() throws
}
