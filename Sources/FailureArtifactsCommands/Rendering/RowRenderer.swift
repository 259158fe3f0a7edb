internal import FailureArtifactsSQLite

/// Writes the rows of a query, one after the other.
protocol RowRenderer {
    /// Writes what precedes the rows.
    mutating func begin(columns: [String]) throws
    /// Writes one row, or keeps it for a while.
    mutating func write(row: [Value]) throws
    /// Writes what is kept, and what follows the rows.
    mutating func end() throws
}

/// Forms of values that several renderers share.
enum ValueText {
    /// As SQLite's own shell has it; infinities as `Inf`.
    static func real(_ number: Double) -> String {
        number.isFinite ? number.description : (number < 0 ? "-Inf" : "Inf")
    }

    /// Two digits a byte, in upper case.
    static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            result.append(digits[Int(byte >> 4)])
            result.append(digits[Int(byte & 15)])
        }
        return String(decoding: result, as: UTF8.self)
    }
}
