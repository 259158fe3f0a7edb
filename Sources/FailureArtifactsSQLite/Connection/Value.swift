internal import CFailureArtifactsSQLite

/// A value as SQLite stores it (<https://www.sqlite.org/datatype3.html>).
package enum Value: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    /// Text, in which U+FFFD replaces bytes that are not valid UTF-8.
    case text(String)
    case blob([UInt8])
}
