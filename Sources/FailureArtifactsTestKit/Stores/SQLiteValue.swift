internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite
internal import Foundation

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
    init(_ value: Value) {
        self =
            switch value {
            case .null: .null
            case .integer(let number): .integer(number)
            case .real(let number): .real(number)
            case .text(let text): .text(text)
            case .blob(let bytes): .blob(bytes)
            }
    }

    var value: Value {
        switch self {
        case .null: .null
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .text(let text): .text(text)
        case .blob(let bytes): .blob(bytes)
        }
    }
}
