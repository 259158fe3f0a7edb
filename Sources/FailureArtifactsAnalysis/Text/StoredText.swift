package import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Values of a store for people.
package enum StoredText {
    /// The text that the bytes are.
    ///
    /// - Parameters:
    ///   - bytes: Of a text, or of its beginning.
    ///   - isCut: Whether they may end inside of a character, which is left out then.
    /// - Returns: Nil where the bytes are not UTF-8.
    package static func valid(_ bytes: [UInt8], isCut: Bool) -> String? {
        var bytes = bytes
        if isCut {
            // A character has up to three bytes that continue it.
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

    /// A value as an SQL literal, but for its length.
    ///
    /// - Parameters:
    ///   - value: It may be the beginning of a value.
    ///   - width: The columns it takes at most.
    /// - Returns: One line.
    package static func text(of value: StoredValue, width: Int) -> String {
        let literal = literal(value)
        // Bytes are quickly counted, and no text takes more columns than bytes.
        if !value.isCut, literal.utf8.count <= width { return literal }
        return shortened(value, Array(literal), from: 0, width: width)
    }

    /// Two values that differ, where each is shown from shortly before the first difference, if it is too long
    /// to be shown from the start.
    package static func text(of old: StoredValue, _ new: StoredValue, width: Int) -> (
        old: String, new: String
    ) {
        let texts = (literal(old), literal(new))
        if !old.isCut, !new.isCut, max(texts.0.utf8.count, texts.1.utf8.count) <= width { return texts }
        let first = Array(texts.0)
        let second = Array(texts.1)
        var same = 0
        while same < min(first.count, second.count), first[same] == second[same] { same += 1 }
        let isLong = max(first.count, second.count) > width
        let start = isLong && same > width / 2 ? same - width / 4 : 0
        return (
            shortened(old, first, from: start, width: width),
            shortened(new, second, from: start, width: width)
        )
    }

    private static func shortened(
        _ value: StoredValue, _ literal: [Character], from start: Int, width: Int
    ) -> String {
        let text = (start > 0 ? "…" : "") + String(literal.dropFirst(start))
        // What is cut has its size instead of its end.
        guard value.isCut || TextWidth.columns(of: text) > width else { return text }
        let size = value.byteCount > 0 ? " (\(Counted.bytes(UInt64(value.byteCount))))" : ""
        return TextWidth.shortened(
            text + (value.isCut ? "…" : ""), to: max(width - TextWidth.columns(of: size), 8)) + size
    }

    private static func literal(_ value: StoredValue) -> String {
        switch value.content {
        case .null: "NULL"
        case .integer(let number): String(number)
        case .real(let number): ValueText.real(number)
        case .blob(let bytes): "X'" + ValueText.hexadecimal(bytes) + (value.isCut ? "" : "'")
        case .text(let bytes):
            if let text = valid(bytes, isCut: value.isCut) {
                "'" + SafeText.cell(text) + (value.isCut ? "" : "'")
            } else {
                "text X'" + ValueText.hexadecimal(bytes) + (value.isCut ? "" : "'")
            }
        }
    }
}

/// Forms of values that several renderers share.
package enum ValueText {
    /// As SQLite's own shell has it; infinities as `Inf`.
    package static func real(_ number: Double) -> String {
        number.isFinite ? number.description : (number < 0 ? "-Inf" : "Inf")
    }

    /// Two digits a byte, in upper case.
    package static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            result.append(digits[Int(byte >> 4)])
            result.append(digits[Int(byte & 15)])
        }
        return String(decoding: result, as: UTF8.self)
    }
}
