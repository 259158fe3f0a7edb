/// What distinguishes a state of a store from an earlier one.
struct StateChanges: Encodable, Equatable, Sendable {
    /// Rows of one table.
    struct Table: Encodable, Equatable, Sendable {
        var name: String
        var inserted: Int64 = 0
        var updated: Int64 = 0
        var deleted: Int64 = 0
        /// Why the rows could not be counted, as a clause; nil where they were.
        var problem: String?

        var hasChanges: Bool { inserted + updated + deleted > 0 || problem != nil }
    }

    /// An object of the schema that came, went or has another statement.
    struct Object: Encodable, Equatable, Sendable {
        enum Change: String, Encodable, Sendable {
            case created, changed, dropped
        }

        var change: Change
        /// `table`, `index`, `view` or `trigger`.
        var type: String
        var name: String
    }

    /// Those with changes, by name; a table that came or went has all its rows inserted or deleted.
    var tables: [Table] = []
    var schema: [Object] = []
    /// `PRAGMA user_version`, where it was changed.
    var userVersion: Int64?
}
