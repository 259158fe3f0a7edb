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
        /// The expression of `DEFAULT`.
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

    /// The columns that can be written.
    package var writableColumns: [Column] { columns.filter { !$0.isGenerated } }
}

/// The conversion that a column applies to the values stored in it
/// (<https://www.sqlite.org/datatype3.html#determination_of_column_affinity>).
package enum Affinity: Equatable, Sendable {
    case integer, text, blob, real, numeric

    package init(declaredType: String) {
        let type = declaredType.uppercased()
        if type.contains("INT") {
            self = .integer
        } else if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") {
            self = .text
        } else if type.isEmpty || type.contains("BLOB") || type == "ANY" {
            self = .blob
        } else if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") {
            self = .real
        } else {
            self = .numeric
        }
    }
}

/// Returns a name with ASCII letters in lower case, because SQLite ignores their case in names.
package func folded(_ name: String) -> String {
    guard name.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return name }
    return String(
        decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
}
