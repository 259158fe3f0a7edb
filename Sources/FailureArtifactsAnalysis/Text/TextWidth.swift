package enum TextWidth {
    /// The scalars that take two columns (W and F in Unicode's East Asian Width), as inclusive ranges.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF,
        0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]

    package static func columns(of text: String) -> Int {
        // Nearly all text is ASCII, where each byte takes one column.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + columns(of: $1) }
    }

    package static func columns(of character: Character) -> Int {
        var result = 0
        for scalar in character.unicodeScalars {
            // This variation selector requests the emoji form, which takes two columns.
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

    /// The maximum number of scalars per column, because a character may have any number of marks.
    private static let scalarsPerColumn = 8

    /// Returns the first scalars, which fill a number of columns; nil if these are all.
    private static func start(of text: String, columns limit: Int) -> String? {
        let count = max(0, min(limit, 1 << 20)) * scalarsPerColumn
        guard text.utf8.count > count else { return nil }
        let start = String(text.unicodeScalars.prefix(count))
        return start.utf8.count < text.utf8.count ? start : nil
    }

    /// Returns the first characters that fit into a number of columns.
    private static func fitting(_ text: some Sequence<Character>, _ limit: Int) -> [Character] {
        var used = 0
        return text.prefix { character in
            used += columns(of: character)
            return used <= limit
        }
    }

    /// Returns `text`, truncated with `…` if it takes more than `limit` columns.
    package static func shortened(_ text: String, to limit: Int) -> String {
        let start = start(of: text, columns: limit)
        guard start != nil || columns(of: text) > limit else { return text }
        return limit > 0 ? String(fitting(start ?? text, limit - 1)) + "…" : ""
    }

    /// Returns `text`, with `…` in place of its middle if it takes more than `limit` columns.
    package static func abridged(_ text: String, to limit: Int) -> String {
        guard start(of: text, columns: limit) != nil || columns(of: text) > limit else { return text }
        let end = String(text.unicodeScalars.suffix(max(0, limit / 3) * scalarsPerColumn))
        return shortened(text, to: limit - limit / 3)
            + String(fitting(end.reversed(), limit / 3).reversed())
    }

    /// Returns `text` padded with spaces to at least `width` columns.
    package static func padded(_ text: String, to width: Int, right: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - columns(of: text)))
        return right ? spaces + text : text + spaces
    }
}
