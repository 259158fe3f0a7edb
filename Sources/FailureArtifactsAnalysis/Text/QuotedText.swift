package import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Values as JSON text, keys sorted and slashes as they are.
package enum JSONText {
    /// Over several lines, without a line end.
    package static func pretty(_ value: some Encodable) throws -> String {
        try text(of: value, [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted])
    }

    /// On one line, without a line end.
    package static func line(_ value: some Encodable) throws -> String {
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
    package static func base64(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    /// A number.
    ///
    /// JSON has no infinity, but readers take a number that is too large for one.
    package static func number(_ number: Double) -> String {
        number.isFinite ? number.description : (number < 0 ? "-1e999" : "1e999")
    }

    /// A string (RFC 8259, section 7).
    package static func string(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"): bytes += Array("\\n".utf8)
            case UInt8(ascii: "\r"): bytes += Array("\\r".utf8)
            case UInt8(ascii: "\t"): bytes += Array("\\t".utf8)
            case 0..<0x20, 0x7F: bytes += Array(("\\u00" + ValueText.hexadecimal([byte])).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Words for a shell's command line.
package enum ShellWord {
    /// `text` so that a POSIX shell reads it as one word and as it is.
    package static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", "+", ",", ":", "@", "%", "=":
                    true
                // Letters of other scripts mean nothing to a shell; spaces and signs of all kinds are quoted.
                default: scalar.value > 0x7F && scalar.properties.isAlphabetic
                }
            }
        if isPlain { return text }
        return "'" + text.replacing("'", with: "'\\''") + "'"
    }
}

extension Path {
    /// A path as short as it can be written in a directory.
    package static func relative(_ path: String, to directory: String) -> String {
        let start = directory.hasSuffix("/") ? directory : directory + "/"
        guard path.hasPrefix(start), path.count > start.count else { return path }
        let rest = String(path.dropFirst(start.count))
        return rest.hasPrefix("-") || rest.hasPrefix("/") ? path : rest
    }
}
