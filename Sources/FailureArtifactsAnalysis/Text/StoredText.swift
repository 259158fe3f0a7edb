package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Values of a store as readable text.
package enum StoredText {
    /// Decodes UTF-8, if cut without an incomplete character at the end; nil if the bytes are not UTF-8.
    package static func valid(_ bytes: [UInt8], isCut: Bool) -> String? {
        var bytes = bytes
        if isCut {
            // A character has up to three continuation bytes.
            var count = 0
            while count < 3, let last = bytes.last, last & 0xC0 == 0x80 {
                bytes.removeLast()
                count += 1
            }
            if let last = bytes.last, last >= 0x80 { bytes.removeLast() }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return Array(text.utf8) == bytes ? text : nil
    }

    package static func text(of value: StoredValue, width: Int) -> String {
        let literal = literal(value)
        // Counting bytes is fast, and text never takes more columns than bytes.
        if !value.isCut, literal.utf8.count <= width { return literal }
        return shortened(value, Array(literal), from: 0, width: width)
    }

    /// Returns text such as `id 31, amount 5`.
    package static func pairs(
        _ columns: some Sequence<String>, _ values: some Sequence<StoredValue>, width: Int = 40
    ) -> String {
        zip(columns, values).map { "\(SafeText.line($0)) \(text(of: $1, width: width))" }
            .joined(separator: ", ")
    }

    /// Returns two different values as text, which show the differences also if it takes up to four times the width.
    package static func text(of old: StoredValue, _ new: StoredValue, width: Int) -> (
        old: String, new: String
    ) {
        let texts = (literal(old), literal(new))
        if !old.isCut, !new.isCut, max(texts.0.utf8.count, texts.1.utf8.count) <= width { return texts }
        let first = Array(texts.0)
        let second = Array(texts.1)
        let (longer, shorter) = (max(first.count, second.count), min(first.count, second.count))
        let same = zip(first, second).prefix { $0 == $1 }.count
        let sameEnd = zip(first.reversed(), second.reversed()).prefix { $0 == $1 }.count
        let start = longer > width && same > width / 2 ? same - width / 4 : 0
        // An ellipsis and the size take some room.
        let end = longer - min(sameEnd, shorter - same) + 20
        let fits = !old.isCut && !new.isCut && end - start <= 4 * width
        let room = fits ? max(width, end - start) : width
        return (
            shortened(old, first, from: start, width: room),
            shortened(new, second, from: start, width: room)
        )
    }

    private static func shortened(
        _ value: StoredValue, _ literal: [Character], from start: Int, width: Int
    ) -> String {
        let text = (start > 0 ? "…" : "") + String(literal.dropFirst(start))
        // Truncated text ends with the size of the value.
        guard value.isCut || TextWidth.columns(of: text) > width else { return text }
        let size = value.byteCount > 0 ? " (\(Counted.bytes(UInt64(value.byteCount))))" : ""
        return TextWidth.shortened(
            text + (value.isCut ? "…" : ""), to: max(width - TextWidth.columns(of: size), 8)) + size
    }

    private static func literal(_ value: StoredValue) -> String {
        let end = value.isCut ? "" : "'"
        return switch value.content {
        case .null: "NULL"
        case .integer(let number): String(number)
        case .real(let number): ValueText.real(number)
        case .blob(let bytes): "X'" + hexadecimalText(bytes) + end
        case .text(let bytes):
            valid(bytes, isCut: value.isCut).map { "'" + SafeText.cell($0) + end }
                ?? "text X'" + hexadecimalText(bytes) + end
        }
    }
}

extension StatementRecord {
    /// The text with the values in place of the parameters, as far as they are known; long values are shortened.
    package var sqlWithValues: String {
        parts { $1.map { StoredText.text(of: StoredValue($0), width: 60) } }.map(\.text).joined()
    }

    /// The text with literals in place of the parameters; nil if a value is unknown or cut.
    var sqlWithLiterals: String? {
        var isComplete = cut != true && (values != nil || StatementParameter.all(in: sql).isEmpty)
        let parts = parts { _, value in
            let literal = value?.literal
            if literal == nil { isComplete = false }
            return literal
        }
        return isComplete ? parts.map(\.text).joined() : nil
    }

    /// Returns the text in parts, with texts in place of the parameters, as far as a function has one.
    ///
    /// - `text`: returns the text of a parameter, by its index and its value; the value is nil if it is unknown.
    func parts(
        _ text: (Int, BoundValue?) -> String?
    ) -> [(text: String, parameter: Int?)] {
        guard let values, cut != true else { return [(sql, nil)] }
        let bytes = Array(sql.utf8)
        func part(_ range: Range<Int>) -> (text: String, parameter: Int?) {
            (String(decoding: bytes[range], as: UTF8.self), nil)
        }
        var parts: [(text: String, parameter: Int?)] = []
        var copied = 0
        for parameter in StatementParameter.all(in: sql) {
            let index = parameter.number - 1
            guard let text = text(index, values[safe: index]) else { continue }
            parts += [part(copied..<parameter.range.lowerBound), (text, index)]
            copied = parameter.range.upperBound
        }
        return parts + [part(copied..<bytes.count)]
    }
}

extension BoundValue {
    /// The value as a literal of SQL without control characters; nil if only the start of the value is known.
    fileprivate var literal: String? {
        guard bytes == nil else { return nil }
        return switch value {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): number.isFinite ? "\(number)" : number < 0 ? "-9e999" : "9e999"
        case .text(let text):
            text.unicodeScalars.contains { $0 != "\n" && $0.isControl }
                ? "CAST(X'\(hexadecimalText(text.utf8))' AS TEXT)" : quotedText(text)
        case .blob(let bytes): "X'\(hexadecimalText(bytes))'"
        }
    }
}

extension StoredValue {
    /// Creates a value, of which only the start may be known.
    package init(_ bound: BoundValue) {
        switch bound.value {
        case .null: self.init(.null)
        case .integer(let number): self.init(.integer(number))
        case .real(let number): self.init(.real(number))
        case .text(let text): self.init(.text(Array(text.utf8)), byteCount: bound.bytes)
        case .blob(let bytes): self.init(.blob(bytes), byteCount: bound.bytes)
        }
    }
}
