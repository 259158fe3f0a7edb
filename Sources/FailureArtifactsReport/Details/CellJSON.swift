internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading

/// Values of a store as JSON.
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
            return "{\"b\":\"\(hexadecimalText(bytes))\",\"n\":\(value.byteCount)}"
        case .text(let bytes):
            guard let text = StoredText.valid(bytes, isCut: value.isCut) else {
                return "{\"x\":\"\(hexadecimalText(bytes))\",\"n\":\(value.byteCount)}"
            }
            return value.isCut
                ? "{\"t\":\(JSONText.string(text)),\"n\":\(value.byteCount)}" : JSONText.string(text)
        }
    }
}
