package import FailureArtifactsReading

/// A JSON value whose objects keep the order of their keys, which an encoder sorts or shuffles.
package enum JSONValue {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case text(String)
    case array([JSONValue])
    case object([(String, JSONValue)])
    /// A value that is encoded already.
    case encoded(String)

    /// Creates a value of a store: a cut text and bytes are objects.
    package init(_ value: StoredValue?) {
        let size: [(String, JSONValue)] =
            value?.isCut == true ? [("bytes", .integer(Int64(value?.byteCount ?? 0)))] : []
        switch value?.content {
        case nil, .null: self = .null
        case .integer(let number): self = .integer(number)
        case .real(let number): self = .real(number)
        case .blob(let bytes): self = .object([("base64", .text(JSONText.base64(bytes)))] + size)
        case .text(let bytes):
            if let text = StoredText.valid(bytes, isCut: !size.isEmpty) {
                self = size.isEmpty ? .text(text) : .object([("text", .text(text))] + size)
            } else {
                self = .object([("textBase64", .text(JSONText.base64(bytes)))] + size)
            }
        }
    }

    /// The value as JSON on one line.
    package var json: String {
        switch self {
        case .null: "null"
        case .boolean(let value): String(value)
        case .integer(let number): String(number)
        // JSON has no infinity, but parsers read a number that is too large as infinity.
        case .real(let number): number.isFinite ? number.description : (number < 0 ? "-1e999" : "1e999")
        case .text(let text): JSONText.string(text)
        case .array(let items): "[" + items.map(\.json).joined(separator: ",") + "]"
        case .object(let fields):
            "{" + fields.map { JSONText.string($0) + ":" + $1.json }.joined(separator: ",") + "}"
        case .encoded(let json): json
        }
    }
}
