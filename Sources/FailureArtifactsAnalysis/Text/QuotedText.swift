internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

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
            if scalar.value >= 0x7F, SafeText.isControl(scalar) {
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

    /// Returns a number; JSON has no infinity, but parsers read a number that is too large as infinity.
    package static func number(_ number: Double) -> String {
        number.isFinite ? number.description : (number < 0 ? "-1e999" : "1e999")
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

/// A type that describes its JSON form as an object.
package protocol JSONDocument: Encodable {
    var json: JSONObject { get }
}

extension JSONDocument {
    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Array {
    package var nonEmpty: Self? { isEmpty ? nil : self }
}

/// Escapes text for addresses (RFC 3986, section 2.1).
package enum URLText {
    /// Returns a path whose parts are escaped, and whose slashes are kept.
    package static func path(_ path: String) -> String {
        path.utf8.map { byte in
            isUnreserved(byte) || byte == UInt8(ascii: "/")
                ? String(UnicodeScalar(byte)) : "%" + hexadecimalText(CollectionOfOne(byte))
        }.joined()
    }

    /// True for the characters that need no escape (section 2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }
}

package enum Spelling {
    /// Returns the name with the smallest edit distance, if it is close; nil if none is close.
    package static func nearest(to name: String, among names: [String]) -> String? {
        let word = folded(name).unicodeScalars.prefix(64)
        // One letter more or less makes another word of a short one. Another letter counts twice.
        let limit = word.count < 3 ? 0 : max(2, word.count / 2)
        let ranked = names.prefix(1000).map { other in
            (other, folded(other).unicodeScalars.prefix(64).difference(from: word).count)
        }
        return ranked.filter { $0.1 <= limit }.min { $0.1 < $1.1 }?.0
    }

    /// Returns the end of a sentence that names the nearest name; empty if none is close.
    package static func clause(for name: String, among names: [String]) -> String {
        nearest(to: name, among: names).map { "; the nearest name is '\($0)'" } ?? ""
    }

    /// Returns sentences with the nearest name and the existing columns, for SQLite's message about a missing table or
    /// column; empty if no name is near and the statement names no table.
    package static func hint(for error: SQLiteError, in sql: String, ofStore path: String) -> String {
        guard error.isMissingName, let connection = try? Connection.untrusted(path),
            let schema = try? DatabaseSchema("main", of: connection)
        else { return "" }
        guard error.message.hasPrefix("no such column") else {
            let objects = schema.objects.filter { $0.type == "table" || $0.type == "view" }
            let near = hint(for: error, among: objects.map(\.name))
            let tables = objects.filter { $0.type == "table" }.map(\.name)
            guard near.isEmpty, !tables.isEmpty else { return near }
            let rest = tables.count - 20
            return " Its tables are \(tables.prefix(20).joined(separator: ", "))"
                + (rest > 0 ? " and \(rest) more." : ".")
        }
        let words = Set(folded(sql).split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
        let all = schema.tables.values.sorted { $0.name < $1.name }
        let tables = all.filter { !$0.columns.isEmpty && words.contains(folded($0.name)) }
        let lists = tables.prefix(3).map { table in
            let names = table.columns.prefix(30).map(\.name) + (table.columns.count > 30 ? ["…"] : [])
            return " The columns of \(table.name) are \(names.joined(separator: ", "))."
        }
        let names = (tables.isEmpty ? all : tables).flatMap { $0.columns.map(\.name) }
        return hint(for: error, among: names) + lists.joined()
    }

    static func hint(for error: SQLiteError, among names: [String]) -> String {
        guard error.isMissingName, let name = error.message.split(separator: " ").last,
            let last = name.split(separator: ".").last,
            let nearest = nearest(to: String(last), among: names)
        else { return "" }
        return " The nearest name is '\(nearest)'."
    }
}

extension SQLiteError {
    var isMissingName: Bool {
        message.hasPrefix("no such table: ") || message.hasPrefix("no such column: ")
    }
}
