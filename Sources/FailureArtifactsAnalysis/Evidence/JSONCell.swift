internal import FailureArtifactsReading

/// A value as JSON; a blob, or a text that isn't UTF-8, is an object with its bytes in Base64, as in `diff --json`.
struct JSONCell: Encodable {
    private let value: StoredValue?

    init(_ value: StoredValue?) {
        self.value = value
    }

    /// Returns the values of columns as an object; the first one counts if names are equal.
    static func object(_ cells: [(String, StoredValue)]) -> [String: JSONCell] {
        Dictionary(
            cells.map { ($0.0, JSONCell($0.1)) }, uniquingKeysWith: { first, _ in first })
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch value?.content {
        case nil, .null: try container.encodeNil()
        case .integer(let number): try container.encode(number)
        case .real(let number):
            guard number.isFinite else { return try container.encode(ValueText.real(number)) }
            try container.encode(number)
        case .text(let bytes):
            guard let text = StoredText.valid(bytes, isCut: value?.isCut ?? false) else {
                return try container.encode(["textBase64": JSONText.base64(bytes)])
            }
            try container.encode(text)
        case .blob(let bytes): try container.encode(["base64": JSONText.base64(bytes)])
        }
    }
}
