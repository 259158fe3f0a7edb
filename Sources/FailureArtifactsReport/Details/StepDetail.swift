internal import FailureArtifactsReading

struct StepDetail: Sendable {
    enum Kind: String {
        case transaction, uncommitted, rolledBack
    }

    struct Table: Sendable {
        let name: String
        var source: String
        /// The columns of the key; empty for the rowid.
        var keyColumns: [String] = []
        var counts = RowCounts()
        var rows: [RowChange] = []
        /// The statements that can have made a kind of change, as indices of ``StoreDetail/statements``.
        var writers: [RowChange.Kind: [Int]] = [:]
        var problem: String?
    }

    let kind: Kind
    /// The transaction's number in the history; nil for a step of another kind.
    var number: Int?
    var pages = 0
    /// The changes of the schema, such as `table posting added`.
    var schema: [String] = []
    var tables: [Table] = []
    /// The statements, as indices of ``StoreDetail/statements``; empty if they are unknown.
    var statements: [Int] = []
}
