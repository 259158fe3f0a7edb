internal import FailureArtifactsSQLite

/// Returns a condition for the row that has values in some columns, which are bound to its parameters.
package func rowCondition(_ columns: [String]) -> String {
    columns.map { "\(quotedIdentifier($0)) IS ?" }.joined(separator: " AND ")
}

/// The structure of a table, according to the schema.
package struct TableShape: Equatable, Sendable {
    /// The storage form of a table's rows.
    package enum Kind: Equatable, Sendable {
        case rowid
        case withoutRowid
        /// A module provides the rows; SQLite's own modules keep them in shadow tables.
        case virtual
    }

    package struct Column: Equatable, Sendable {
        package let name: String
        /// The declared type: `TEXT`, `VARCHAR(20)`, or an empty string.
        package let type: String
        package let isNotNull: Bool
        package let defaultValue: String?
        /// The position in the primary key, from 1; 0 for other columns.
        package let keyPosition: Int64
        /// True if its values are computed and cannot be written.
        package let isGenerated: Bool
        /// True if its values are computed anew at each read.
        package let isVirtual: Bool
    }

    /// A column of a declared primary key.
    package struct KeyColumn: Equatable, Sendable {
        package let name: String
        package let collation: String
        package let affinity: Affinity
        package let isNotNull: Bool
    }

    package let name: String
    package let kind: Kind
    /// True if a virtual table of one of SQLite's own modules keeps its content here.
    package let isShadow: Bool
    package let columns: [Column]
    /// The column that is an alias of the rowid (`INTEGER PRIMARY KEY`).
    package let integerKey: String?
    /// The columns of any other primary key, in key order.
    package let primaryKey: [KeyColumn]
    /// The index behind ``primaryKey``, for a table with rowids.
    package let primaryKeyIndex: String?
    /// True if a unique index other than the primary key's restricts the rows.
    package let hasFurtherUniqueness: Bool

    /// A name of the rowid that no column has; nil if all are taken or the table has no rowid.
    package var rowidName: String? {
        guard kind == .rowid else { return nil }
        let taken = Set(columns.map { folded($0.name) })
        return ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
    }

    package var writableColumns: [Column] { columns.filter { !$0.isGenerated } }
}
