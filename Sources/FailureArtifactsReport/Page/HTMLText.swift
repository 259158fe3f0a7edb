internal import FailureArtifactsAnalysis

/// Text as HTML: nothing of it is markup, in a text and between the quotes of an attribute alike.
enum HTMLText {
    /// Bytes of one line, after which it is cut.
    private static let lineLimit = 4096

    /// On one line; control characters, and those that turn the direction, show as `\u{…}`.
    static func line(_ text: String) -> String { escaped(SafeText.line(cut(text))) }

    /// With its lines.
    static func lines(_ text: String) -> String {
        escaped(SafeText.lines(text).joined(separator: "\n"))
    }

    /// On one line, where nothing is lost.
    static func cell(_ text: String) -> String { escaped(SafeText.cell(cut(text))) }

    private static func cut(_ text: String) -> String {
        text.utf8.count > lineLimit ? String(text.unicodeScalars.prefix(lineLimit / 4)) + "…" : text
    }

    private static func escaped(_ text: String) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): result += Array("&amp;".utf8)
            case UInt8(ascii: "<"): result += Array("&lt;".utf8)
            case UInt8(ascii: ">"): result += Array("&gt;".utf8)
            case UInt8(ascii: "\""): result += Array("&quot;".utf8)
            case UInt8(ascii: "'"): result += Array("&#39;".utf8)
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// `1,234,567`.
    static func number(_ number: Int64) -> String {
        let digits = Array(String(number.magnitude))
        var result = number < 0 ? "−" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { result.append(",") }
            result.append(digit)
        }
        return result
    }
}
