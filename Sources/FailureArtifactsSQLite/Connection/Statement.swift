internal import CFailureArtifactsSQLite

/// A compiled statement; it must not outlive its connection.
package struct Statement: ~Copyable {
    package let handle: OpaquePointer
    private let connection: OpaquePointer
    private let sql: String

    /// Compiles the only statement of a text.
    package init(_ sql: String, on connection: OpaquePointer) throws(SQLiteError) {
        var statement: OpaquePointer?
        var isComplete = true
        let code = sql.withCString { text in
            var tail: UnsafePointer<CChar>?
            let code = sqlite3_prepare_v2(connection, text, -1, &statement, &tail)
            if code == SQLITE_OK, let tail {
                isComplete = !Self.holdsStatement(tail, of: connection)
            }
            return code
        }
        guard code == SQLITE_OK else { throw SQLiteError("run '\(sql)'", handle: connection) }
        guard let statement else {
            throw SQLiteError("run '\(sql)'", code: SQLITE_MISUSE, message: "it holds no statement")
        }
        guard isComplete else {
            sqlite3_finalize(statement)
            throw SQLiteError("run '\(sql)'", code: SQLITE_MISUSE, message: "more than one statement")
        }
        handle = statement
        self.connection = connection
        self.sql = sql
    }

    /// Returns true if anything but white space and comments follows the first statement.
    private static func holdsStatement(_ tail: UnsafePointer<CChar>, of handle: OpaquePointer) -> Bool {
        var next: OpaquePointer?
        defer { sqlite3_finalize(next) }
        return sqlite3_prepare_v2(handle, tail, -1, &next, nil) != SQLITE_OK || next != nil
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Binds values to the parameters `?`, in order.
    package borrowing func bind(_ values: [Value]) throws(SQLiteError) {
        for (index, value) in values.enumerated() {
            let position = CInt(index + 1)
            let code =
                switch value {
                case .null: sqlite3_bind_null(handle, position)
                case .integer(let number): sqlite3_bind_int64(handle, position, number)
                case .real(let number): sqlite3_bind_double(handle, position, number)
                case .text(let text):
                    failure_artifacts_bind_text(handle, position, text, UInt64(text.utf8.count))
                case .blob(let bytes):
                    failure_artifacts_bind_blob(handle, position, bytes, UInt64(bytes.count))
                }
            guard code == SQLITE_OK else { throw SQLiteError("run '\(sql)'", handle: connection) }
        }
    }

    /// Advances to the next row; returns false after the last one.
    package borrowing func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw SQLiteError("run '\(sql)'", handle: connection)
        }
    }

    /// Returns a copy of the value in a column, counted from 0, of the current row.
    package borrowing func value(at index: Int) -> Value {
        let column = CInt(index)
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
        case SQLITE_TEXT:
            // This call converts the text of a UTF-16 database to UTF-8.
            _ = sqlite3_column_text(handle, column)
            return .text(String(decoding: bytes(at: column), as: UTF8.self))
        case SQLITE_BLOB: return .blob(bytes(at: column))
        default: return .null
        }
    }

    /// Returns the integer in a column of the current row, without checking its type.
    package borrowing func integer(at index: Int) -> Int64 { sqlite3_column_int64(handle, CInt(index)) }

    /// Returns the text in a column of the current row, or an empty string for any other value.
    package borrowing func text(at index: Int) -> String {
        if case .text(let text) = value(at: index) { return text }
        return ""
    }

    private borrowing func bytes(at column: CInt) -> [UInt8] {
        // Get the pointer before the count: sqlite3_column_blob() may convert the value.
        let pointer = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return Array(UnsafeRawBufferPointer(start: pointer, count: pointer == nil ? 0 : count))
    }
}

/// Returns a name as a quoted SQL identifier, whatever characters it contains.
package func quotedIdentifier(_ name: String) -> String { quoted(name, by: "\"") }

/// Returns a text as a literal of SQL.
package func quotedText(_ text: String) -> String { quoted(text, by: "'") }

/// Doubles the quotes: by scalars, because a quote and the marks that follow it are one character.
private func quoted(_ text: String, by quote: Unicode.Scalar) -> String {
    var result = String(quote)
    for scalar in text.unicodeScalars {
        if scalar == quote { result.unicodeScalars.append(quote) }
        result.unicodeScalars.append(scalar)
    }
    return result + String(quote)
}

/// The version of the SQLite library in this process, such as `3.40.1`.
package var sqliteVersion: String { String(cString: sqlite3_libversion()) }
