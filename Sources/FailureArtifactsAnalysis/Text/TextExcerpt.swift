/// The beginning and the end of a text that is too long for a screen.
///
/// The values that an assertion compared are often at the end of its message.
package struct TextExcerpt: Equatable, Sendable {
    /// The number of columns after which a line counts as two rows.
    private static let columns = 80

    /// The text up to the part that is left out; an ellipsis stands for the rest of its last line.
    package let start: String
    /// The text after the part that is left out.
    package let end: String
    /// The size of the part that is left out, in bytes of UTF-8.
    package let omittedBytes: Int

    /// Cuts a text; nil if it fits.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - rows: The maximum number of rows of 80 columns. The end gets a third of them.
    package init?(of text: String, rows: Int) {
        guard Self.size(of: text, rows: rows) < text.count else { return nil }
        let start = text.prefix(Self.size(of: text, rows: rows - rows / 3))
        let end = text.suffix(Self.size(of: text.reversed(), rows: rows / 3))
        // A whole line needs no ellipsis.
        self.start = start.last?.isNewline == true ? String(start.dropLast()) : start + "…"
        self.end = end.first?.isNewline == true ? String(end.dropFirst()) : "…" + end
        omittedBytes = text.utf8.count - start.utf8.count - end.utf8.count
    }

    /// Returns the number of characters at the start that fill a number of rows.
    private static func size(of text: some Sequence<Character>, rows: Int) -> Int {
        var (size, left, used) = (0, rows, 0)
        for character in text {
            if used == columns {
                left -= 1
                used = 0
            }
            if left == 0 { break }
            size += 1
            used += 1
            if character.isNewline {
                left -= 1
                used = 0
            }
        }
        return size
    }
}

extension String {
    /// Returns the text, with `…` in place of its middle if it has more bytes of UTF-8 than `limit`.
    package func abridged(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        func part(_ scalars: some Sequence<Unicode.Scalar>, _ limit: Int) -> [Unicode.Scalar] {
            var left = limit
            return Array(
                scalars.prefix { scalar in
                    left -= UTF8.width(scalar)
                    return left >= 0
                })
        }
        let start = part(unicodeScalars, limit - limit / 3)
        let end = part(unicodeScalars.reversed(), limit / 3).reversed()
        return String(String.UnicodeScalarView(start + ["…"] + end))
    }
}
