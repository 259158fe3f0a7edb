internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Values of a store as JSON that may stand inside of an HTML page.
///
/// | value | JSON |
/// | --- | --- |
/// | NULL | `null` |
/// | integer up to ±2⁵³ | a number |
/// | other integer | `{"i":"9223372036854775807"}` |
/// | real | `{"r":"0.5"}` |
/// | text | a string |
/// | text that is cut | `{"t":"the beginning","n":12345}`, `n` its bytes |
/// | text that is not UTF-8 | `{"x":"FF00","n":2}` |
/// | blob | `{"b":"CAFE","n":2}`, `b` at least its beginning |
enum CellJSON {
    static func text(of value: StoredValue) -> String {
        switch value.content {
        case .null: return "null"
        case .integer(let number):
            return number.magnitude <= 1 << 53 ? String(number) : "{\"i\":\"\(number)\"}"
        case .real(let number): return "{\"r\":\"\(ValueText.real(number))\"}"
        case .blob(let bytes):
            return "{\"b\":\"\(ValueText.hexadecimal(bytes))\",\"n\":\(value.byteCount)}"
        case .text(let bytes):
            guard let text = StoredText.valid(bytes, isCut: value.isCut) else {
                return "{\"x\":\"\(ValueText.hexadecimal(bytes))\",\"n\":\(value.byteCount)}"
            }
            return value.isCut ? "{\"t\":\(string(text)),\"n\":\(value.byteCount)}" : string(text)
        }
    }

    /// A string that neither ends a script nor a line of one, wherever it stands.
    static func string(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        var previous: (UInt8, UInt8) = (0, 0)
        for byte in text.utf8 {
            switch byte {
            case 0..<0x20, 0x7F, UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"),
                UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes += Array(("\\u00" + ValueText.hexadecimal([byte])).utf8)
            // U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
            case 0xA8 where previous == (0xE2, 0x80), 0xA9 where previous == (0xE2, 0x80):
                bytes.removeLast(2)
                bytes += Array((byte == 0xA8 ? "\\u2028" : "\\u2029").utf8)
            default: bytes.append(byte)
            }
            previous = (previous.1, byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}
