internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite

/// A column's value, byte for byte; a long one may be cut.
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
