internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading

/// Values of a store as JSON for the page's script.
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
extension JSONValue {
    init(cell value: StoredValue?) {
        func bytes(_ key: String, _ text: String) -> JSONValue {
            .object([(key, .text(text)), ("n", .integer(Int64(value?.byteCount ?? 0)))])
        }
        switch value?.content {
        case nil, .null: self = .null
        case .integer(let number):
            self =
                number.magnitude <= 1 << 53 ? .integer(number) : .object([("i", .text(String(number)))])
        case .real(let number): self = .object([("r", .text(ValueText.real(number)))])
        case .blob(let content): self = bytes("b", hexadecimalText(content))
        case .text(let content):
            if let text = StoredText.valid(content, isCut: value?.isCut == true) {
                self = value?.isCut == true ? bytes("t", text) : .text(text)
            } else {
                self = bytes("x", hexadecimalText(content))
            }
        }
    }
}
