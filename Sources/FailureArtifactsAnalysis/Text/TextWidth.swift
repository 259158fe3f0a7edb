/// How many columns of a terminal text takes.
package enum TextWidth {
    /// The scalars that take two columns by Unicode's East Asian Width (W and F), as inclusive ranges.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF,
        0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]

    /// The columns of a text without control characters.
    package static func columns(of text: String) -> Int {
        // ASCII, which nearly all text is, takes a column a byte.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + columns(of: $1) }
    }

    /// The columns of what a reader takes for one character.
    package static func columns(of character: Character) -> Int {
        var result = 0
        for scalar in character.unicodeScalars {
            // Asks for an emoji where there is a plain form too.
            if scalar.value == 0xFE0F { return 2 }
            result = max(result, columns(of: scalar))
        }
        return result
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x300 { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// `text`, ending in `…` where it takes more than `limit` columns.
    package static func shortened(_ text: String, to limit: Int) -> String {
        guard columns(of: text) > limit else { return text }
        guard limit > 1 else { return limit == 1 ? "…" : "" }
        var result = ""
        var used = 0
        for character in text {
            let width = columns(of: character)
            if used + width > limit - 1 { break }
            result.append(character)
            used += width
        }
        return result + "…"
    }

    /// `text` with spaces, to take `width` columns at least.
    package static func padded(_ text: String, to width: Int, right: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - columns(of: text)))
        return right ? spaces + text : text + spaces
    }
}
