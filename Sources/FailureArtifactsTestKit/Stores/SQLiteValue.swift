internal import CFailureArtifactsSQLite

/// A value as SQLite stores it (<https://www.sqlite.org/datatype3.html>).
///
/// Swift literals are values: `nil`, `1`, `1.5` and `"text"`.
public enum SQLiteValue: Hashable, Sendable {
    /// NULL.
    case null
    /// An integer of at most 64 bits.
    case integer(Int64)
    /// A floating-point number.
    case real(Double)
    /// Text; bytes that aren't valid UTF-8 are replaced by U+FFFD.
    case text(String)
    /// Bytes.
    case blob([UInt8])
}

extension SQLiteValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral
{
    /// Creates NULL.
    public init(nilLiteral: ()) { self = .null }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a floating-point number.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// Creates text.
    public init(stringLiteral value: String) { self = .text(value) }
}

extension SQLiteValue {
    /// Reads a column of a statement's current row.
    init(_ statement: OpaquePointer?, _ column: Int32) {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: self = .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT:
            let text = sqlite3_column_text(statement, column)
            let count = Int(sqlite3_column_bytes(statement, column))
            self = .text(String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
        case SQLITE_BLOB:
            let bytes = sqlite3_column_blob(statement, column)
            let count = bytes == nil ? 0 : Int(sqlite3_column_bytes(statement, column))
            self = .blob(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
        default: self = .null
        }
    }

    /// Binds the value to a parameter of a statement, counted from 1.
    func bind(to statement: OpaquePointer?, _ position: Int32) -> Int32 {
        switch self {
        case .null: sqlite3_bind_null(statement, position)
        case .integer(let number): sqlite3_bind_int64(statement, position, number)
        case .real(let number): sqlite3_bind_double(statement, position, number)
        case .text(let text):
            failure_artifacts_bind_text(statement, position, text, UInt64(text.utf8.count))
        case .blob(let bytes):
            failure_artifacts_bind_blob(statement, position, bytes, UInt64(bytes.count))
        }
    }
}
