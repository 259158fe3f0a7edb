/// A value as SQLite stores it (<https://www.sqlite.org/datatype3.html>).
package enum Value: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    /// Text whose bytes may not be valid UTF-8, in which case the offending ones are U+FFFD here.
    case text(String)
    case blob([UInt8])
}
