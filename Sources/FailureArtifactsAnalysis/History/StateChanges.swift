/// What distinguishes a state of a store from an earlier one.
package struct StateChanges: Encodable, Equatable, Sendable {
    /// Rows of one table.
    package struct Table: Encodable, Equatable, Sendable {
        package var name: String
        package var inserted: Int64 = 0
        package var updated: Int64 = 0
        package var deleted: Int64 = 0
        /// Why the rows could not be counted, as a clause; nil where they were.
        package var problem: String?

        package var hasChanges: Bool { inserted + updated + deleted > 0 || problem != nil }
    }

    /// An object of the schema that came, went or has another statement.
    package struct Object: Encodable, Equatable, Sendable {
        package enum Change: String, Encodable, Sendable {
            case created, changed, dropped
        }

        package var change: Change
        /// `table`, `index`, `view` or `trigger`.
        package var type: String
        package var name: String
    }

    /// Those with changes, by name; a table that came or went has all its rows inserted or deleted.
    package var tables: [Table] = []
    package var schema: [Object] = []
    /// `PRAGMA user_version`, where it was changed.
    package var userVersion: Int64?
}
