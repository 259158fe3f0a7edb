package import FailureArtifactsSQLite

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A value that was bound to a parameter of a statement.
///
/// As JSON it is null, a number or a string. A real number without a fraction is `{"real": 3}`, a blob
/// `{"base64": "…"}`. If only the start of a text or a blob is known, it is `{"text": "…", "bytes": 9000}` or
/// `{"base64": "…", "bytes": 9000}`.
package struct BoundValue: Hashable, Sendable {
    package let value: Value
    /// The whole size of a text or a blob of which ``value`` has only the start, in bytes; nil if it is whole.
    package let bytes: Int?

    package init(_ value: Value, bytes: Int? = nil) {
        self.value = value
        self.bytes = bytes
    }

    /// Reads the values from a statement in which SQL literals replace the parameters (`sqlite3_expanded_sql`).
    ///
    /// Nil if the texts don't fit together. A number that no parameter has is null.
    ///
    /// - `start`: the number of bytes before that part.
    /// - `end`: the number of bytes behind it.
    package static func values(
        of sql: String, expandedTo middle: UnsafeRawBufferPointer, start: Int, end: Int
    ) -> [BoundValue]? {
        let text = Array(sql.utf8)
        guard start >= 0, end >= 0, start <= text.count, end <= text.count - start else { return nil }
        let expanded = text[..<start] + middle + text[(text.count - end)...]
        var literals = LiteralReader(bytes: Array(expanded))
        var values: [BoundValue] = []
        var copied = 0
        for parameter in StatementParameter.all(in: sql) {
            guard literals.skip(text[copied..<parameter.range.lowerBound]), let value = literals.next()
            else { return nil }
            while values.count < parameter.number { values.append(BoundValue(.null)) }
            values[parameter.number - 1] = value
            copied = parameter.range.upperBound
        }
        return literals.skip(text[copied...]) && literals.isAtEnd ? values : nil
    }
}

/// Reads the literals that SQLite writes (`sqlite3VdbeExpandSql` in vdbetrace.c).
private struct LiteralReader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    private var first: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Skips a text; returns false if another one follows.
    mutating func skip(_ text: ArraySlice<UInt8>) -> Bool {
        guard bytes[position...].starts(with: text) else { return false }
        position += text.count
        return true
    }

    mutating func next() -> BoundValue? {
        if skip("'") { return text() }
        if skip("x'") { return blob() }
        if skip("zeroblob(") {
            guard let count = Int(word()), count >= 0, skip(")") else { return nil }
            let kept = min(count, 1024)
            return BoundValue(
                .blob(Array(repeating: 0, count: kept)), bytes: kept < count ? count : nil)
        }
        let word = word()
        if word == "NULL" { return BoundValue(.null) }
        if let number = Int64(word) { return BoundValue(.integer(number)) }
        return Double(word).map { BoundValue(.real($0)) }
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        skip(ArraySlice(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)))
    }

    private mutating func word() -> String {
        let start = position
        while let byte = first,
            byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
                || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
        {
            position += 1
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Returns the bytes up to the closing quote.
    private mutating func quoted() -> [UInt8]? {
        var result: [UInt8] = []
        while let byte = first {
            position += 1
            if byte == UInt8(ascii: "'") {
                guard first == byte else { return result }
                position += 1
            }
            result.append(byte)
        }
        return nil
    }

    /// Returns the number behind a literal that is cut; nil if it is whole.
    private mutating func wholeLength() -> Int? {
        guard skip("\u{1}") else { return nil }
        let number = Int(word())
        return skip("\u{1}") ? number : nil
    }

    private mutating func text() -> BoundValue? {
        guard let bytes = quoted() else { return nil }
        return BoundValue(.text(String(decoding: bytes, as: UTF8.self)), bytes: wholeLength())
    }

    private mutating func blob() -> BoundValue? {
        guard let digits = quoted() else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count - digits.count % 2, by: 2) {
            let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        return BoundValue(.blob(bytes), bytes: wholeLength().map { $0 / 2 })
    }
}

extension BoundValue: Codable {
    private enum Key: String, CodingKey { case base64, bytes, real, text }

    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            bytes = try container.decodeIfPresent(Int.self, forKey: .bytes)
            if let number = try container.decodeIfPresent(Double.self, forKey: .real) {
                value = .real(number)
            } else if let text = try container.decodeIfPresent(String.self, forKey: .text) {
                value = .text(text)
            } else {
                let text = try container.decode(String.self, forKey: .base64)
                guard let data = Data(base64Encoded: text) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .base64, in: container, debugDescription: "This isn't Base64.")
                }
                value = .blob(Array(data))
            }
            return
        }
        let container = try decoder.singleValueContainer()
        bytes = nil
        if container.decodeNil() {
            value = .null
        } else if let number = try? container.decode(Int64.self) {
            value = .integer(number)
        } else if let number = try? container.decode(Double.self) {
            value = .real(number)
        } else {
            value = .text(try container.decode(String.self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch value {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .integer(let number): try number.encode(to: encoder)
        case .text(let text) where bytes == nil: try text.encode(to: encoder)
        case .real(let number) where Int64(exactly: number.clamped) == nil:
            try number.clamped.encode(to: encoder)
        case .real(let number):
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(number, forKey: .real)
        case .text(let text):
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(text, forKey: .text)
            try container.encode(bytes, forKey: .bytes)
        case .blob(let blob):
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(Data(blob).base64EncodedString(), forKey: .base64)
            try container.encodeIfPresent(bytes, forKey: .bytes)
        }
    }
}

extension Double {
    /// The nearest finite number: JSON has no infinity.
    fileprivate var clamped: Double {
        min(max(self, -.greatestFiniteMagnitude), .greatestFiniteMagnitude)
    }
}
