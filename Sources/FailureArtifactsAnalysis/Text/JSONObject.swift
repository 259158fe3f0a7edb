/// A JSON object, without the keys that have no value.
package struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    private struct Field: Encodable {
        let value: any Encodable

        func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    private let fields: [String: Field]

    package init(dictionaryLiteral fields: (String, (any Encodable)?)...) {
        self.fields = Dictionary(
            fields.compactMap { name, value in value.map { (name, Field(value: $0)) } },
            uniquingKeysWith: { first, _ in first })
    }

    package func encode(to encoder: any Encoder) throws { try fields.encode(to: encoder) }
}
