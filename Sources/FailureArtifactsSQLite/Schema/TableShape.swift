/// What the schema says of a table.
package struct TableShape: Equatable, Sendable {
    /// How a table keeps its rows.
    package enum Kind: Equatable, Sendable {
        case rowid
        case withoutRowid
        /// Its rows are the business of a module; what a module of SQLite keeps is in shadow tables.
        case virtual
    }

    package struct Column: Equatable, Sendable {
        package let name: String
        /// As declared: `TEXT`, `VARCHAR(20)`, or nothing.
        package let type: String
        package let isNotNull: Bool
        /// The expression of `DEFAULT`.
        package let defaultValue: String?
        /// Its place in the primary key, from 1; 0 for other columns.
        package let keyPosition: Int64
        /// Whether its values are computed, and cannot be written.
        package let isGenerated: Bool
        /// Whether they are computed anew whenever they are read.
        package let isVirtual: Bool

        /// Whether both are declared alike, wherever the column is.
        package func isDeclared(like other: Column) -> Bool {
            type == other.type && isNotNull == other.isNotNull && defaultValue == other.defaultValue
                && (keyPosition > 0) == (other.keyPosition > 0) && isGenerated == other.isGenerated
                && isVirtual == other.isVirtual
        }
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
    /// Whether a virtual table of a module of SQLite's own keeps its content here.
    package let isShadow: Bool
    package let columns: [Column]
    /// The column that is another name of the rowid (`INTEGER PRIMARY KEY`).
    package let integerKey: String?
    /// The columns of any other primary key, in its order.
    package let primaryKey: [KeyColumn]
    /// The index behind ``primaryKey`` of a table with rowids.
    package let primaryKeyIndex: String?
    /// Whether something other than its key keeps two rows from having the same values.
    package let hasFurtherUniqueness: Bool

    /// A name of the rowid that no column has taken; nil where there is none.
    package var rowidName: String? {
        guard kind == .rowid else { return nil }
        let taken = Set(columns.map { folded($0.name) })
        return ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
    }

    /// The columns that can be written.
    package var writableColumns: [Column] { columns.filter { !$0.isGenerated } }
}

/// What a column does to values that are put into it
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

/// A name as SQLite compares names: it does not tell A from a.
package func folded(_ name: String) -> String {
    guard name.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return name }
    return String(
        decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
}
