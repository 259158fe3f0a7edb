internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite

/// A table that is in one or both stores.
package struct ComparedTable: Sendable {
    /// The stores that have the table.
    package enum Presence: String, Sendable {
        case both, onlyInA, onlyInB
        /// Both stores have the table, but with different keys, so that rows can't be matched. All rows of A count as
        /// deleted, and all rows of B as inserted.
        case replaced
    }

    package let name: String
    package let presence: Presence
    /// The columns of the primary key; empty for the rowid, if the table has no key or one with NULL values.
    package let keyColumns: [String]
    /// True if the table holds the content of a virtual table.
    package let isShadow: Bool
    /// The reason why the rows are not compared, as a clause; nil if they are compared.
    package let problem: String?

    /// The readable columns of A, of B, and of both.
    package let columnsOfA: [String]
    package let columnsOfB: [String]
    package let commonColumns: [String]

    let a: TableShape?
    let b: TableShape?
    let match: RowMatch
    /// The rowids of the rows to compare; nil for all rows.
    var rowids: [Int64]?
}

/// The method of finding a row in the other store.
enum RowMatch: Equatable, Sendable {
    /// By rowid, with its names in A and B. A name is nil if that store doesn't have the table.
    case rowid(a: String?, b: String?)
    /// By a primary key other than the rowid.
    case key([TableShape.KeyColumn])
    /// Rows can't be matched.
    case none
}

extension TableShape {
    /// Returns the method of identifying this table's rows on its own; nil if there is no method.
    func match(rowidIsKey: Bool) -> RowMatch? {
        if let integerKey { return .rowid(a: integerKey, b: integerKey) }
        if !primaryKey.isEmpty, !rowidIsKey { return .key(primaryKey) }
        return rowidName.map { .rowid(a: $0, b: $0) }
    }
}

/// A row that differs between the stores.
package struct RowChange: Sendable {
    package enum Kind: String, Sendable {
        case inserted, updated, deleted
    }

    /// A column's value before and after.
    package struct Cell: Equatable, Sendable {
        package let column: String
        /// The value in A; nil in an inserted row.
        package let old: StoredValue?
        /// The value in B; nil in a deleted row.
        package let new: StoredValue?

        package init(column: String, old: StoredValue?, new: StoredValue?) {
            self.column = column
            self.old = old
            self.new = new
        }
    }

    package let kind: Kind
    /// The values of the table's ``ComparedTable/keyColumns``, or the rowid. For an updated row, they come from A.
    package let key: [StoredValue]
    /// All columns of an inserted or deleted row; the changed columns of an updated row.
    package let cells: [Cell]

    package init(kind: Kind, key: [StoredValue], cells: [Cell]) {
        self.kind = kind
        self.key = key
        self.cells = cells
    }
}

package struct RowCounts: Equatable, Sendable {
    package var inserted: Int64 = 0
    package var updated: Int64 = 0
    package var deleted: Int64 = 0

    package init(inserted: Int64 = 0, updated: Int64 = 0, deleted: Int64 = 0) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
    }

    package var total: Int64 { inserted + updated + deleted }
}

/// A column's value, byte for byte. A long one may be cut.
package struct StoredValue: Hashable, Sendable {
    /// The content in SQLite's storage classes (<https://www.sqlite.org/datatype3.html>).
    package enum Content: Hashable, Sendable {
        case null
        case integer(Int64)
        case real(Double)
        /// The bytes of a text; UTF-8 if the database's text is valid.
        case text([UInt8])
        case blob([UInt8])
    }

    package let content: Content
    /// The full size of a text (in UTF-8) or a blob, in bytes; 0 for other types.
    package let byteCount: Int

    /// Creates a value.
    ///
    /// - `byteCount`: the full size of a text or a blob, in bytes; nil if the content is whole.
    package init(_ content: Content, byteCount: Int? = nil) {
        self.content = content
        switch content {
        case .text(let bytes), .blob(let bytes): self.byteCount = byteCount ?? bytes.count
        case .null, .integer, .real: self.byteCount = 0
        }
    }

    /// Returns the value with a blob cut to at most `limit` bytes.
    package func shortened(blob limit: Int) -> StoredValue {
        guard case .blob(let bytes) = content, bytes.count > limit else { return self }
        return StoredValue(.blob(Array(bytes.prefix(limit))), byteCount: byteCount)
    }

    /// True if ``content`` is only the beginning of the value.
    package var isCut: Bool {
        switch content {
        case .text(let bytes), .blob(let bytes): bytes.count < byteCount
        case .null, .integer, .real: false
        }
    }
}

extension Statement {
    /// Returns the value in a column of the current row.
    ///
    /// - `index`: the column, from 0.
    /// - `limit`: the maximum number of bytes to copy of a text or a blob.
    package borrowing func storedValue(at index: Int, limit: Int) -> StoredValue {
        let column = CInt(index)
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return StoredValue(.integer(sqlite3_column_int64(handle, column)))
        case SQLITE_FLOAT: return StoredValue(.real(sqlite3_column_double(handle, column)))
        case SQLITE_TEXT:
            let (bytes, count) = prefix(sqlite3_column_text(handle, column), of: column, limit: limit)
            return StoredValue(.text(bytes), byteCount: count)
        case SQLITE_BLOB:
            let (bytes, count) = prefix(sqlite3_column_blob(handle, column), of: column, limit: limit)
            return StoredValue(.blob(bytes), byteCount: count)
        default: return StoredValue(.null)
        }
    }

    private borrowing func prefix(
        _ pointer: UnsafeRawPointer?, of column: CInt, limit: Int
    ) -> (bytes: [UInt8], count: Int) {
        let count = Int(sqlite3_column_bytes(handle, column))
        guard let pointer, count > 0 else { return ([], 0) }
        return (Array(UnsafeRawBufferPointer(start: pointer, count: min(count, limit))), count)
    }
}
