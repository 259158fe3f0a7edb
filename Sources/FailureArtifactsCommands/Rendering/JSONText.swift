#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Values as JSON text, keys sorted and slashes as they are.
enum JSONText {
    /// Over several lines, without a line end.
    static func pretty(_ value: some Encodable) throws -> String {
        try text(of: value, [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted])
    }

    /// On one line, without a line end.
    static func line(_ value: some Encodable) throws -> String {
        try text(of: value, [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func text(
        of value: some Encodable, _ formatting: JSONEncoder.OutputFormatting
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Bytes in Base64 (RFC 4648, section 4).
    static func base64(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }
}
