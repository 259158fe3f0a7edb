internal import FailureArtifactsBundle
internal import FailureArtifactsReading

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Encodes values as JSON with sorted keys and unescaped slashes.
package enum JSONText {
    package static func pretty(_ value: some Encodable) throws -> String {
        try text(of: value, [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted])
    }

    package static func line(_ value: some Encodable) throws -> String {
        try text(of: value, [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func text(
        of value: some Encodable, _ formatting: JSONEncoder.OutputFormatting
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        return printable(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Returns JSON with escapes for characters of strings that a terminal or a CI service would interpret.
    private static func printable(_ json: String) -> String {
        guard json.utf8.contains(where: { $0 >= 0x7F }) else {
            return HostCommand.disarmed(json, escape: escape)
        }
        var result = ""
        for scalar in json.unicodeScalars {
            if scalar.value >= 0x7F, scalar.isControl {
                result += escape(scalar)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return HostCommand.disarmed(result, escape: escape)
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        "\\u" + hexadecimalText([UInt8(scalar.value >> 8), UInt8(scalar.value & 0xFF)])
    }

    /// Returns bytes in Base64 (RFC 4648, section 4).
    package static func base64(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    package static func string(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"): bytes += Array("\\n".utf8)
            case UInt8(ascii: "\r"): bytes += Array("\\r".utf8)
            case UInt8(ascii: "\t"): bytes += Array("\\t".utf8)
            case 0..<0x20, 0x7F: bytes += Array(("\\u00" + hexadecimalText([byte])).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return printable(String(decoding: bytes, as: UTF8.self))
    }
}
