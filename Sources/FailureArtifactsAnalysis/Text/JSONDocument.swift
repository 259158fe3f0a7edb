/// A type that describes its JSON form as an object.
package protocol JSONDocument: Encodable {
    var json: JSONObject { get }
}

extension JSONDocument {
    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
