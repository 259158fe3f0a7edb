internal import FailureArtifactsAnalysis

/// A table with rows as they were at the failure.
struct TableDetail: Sendable {
    struct Column: Sendable, Equatable {
        let name: String
        let type: String
        let isKey: Bool
        /// The table and the column that a foreign key of this column refers to; without a column, its primary key.
        var reference: Reference?
    }

    struct Reference: Sendable, Equatable {
        let table: String
        var column: String?
    }

    let name: String
    /// The name of the table behind a view; nil for a table.
    var source: String?
    /// True if the application doesn't use the table directly.
    var isQuiet = false
    var columns: [Column] = []
    /// The columns that identify a row, as indices of ``columns``; nil for the rowid.
    var keys: [Int]?
    /// The number of rows in the store; a lower bound if `isExact` is false.
    var count: Int64 = 0
    var isExact = true
    /// The rows as JSON arrays; they begin with the rowid if ``keys`` is nil.
    var rows: [String] = []
    var shownColumns = 0
    /// The reason why the rows could not be read, as a clause.
    var problem: String?
}
