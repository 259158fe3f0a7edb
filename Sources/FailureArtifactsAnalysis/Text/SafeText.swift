internal import FailureArtifactsBundle

/// Escapes text from a bundle for a terminal; recorded text may contain control sequences, by accident or not, and a
/// terminal would interpret them.
package enum SafeText {
    /// Returns `text` on one line; line endings and tabs become a space; other control characters become `\u{…}`.
    package static func line(_ text: String) -> String {
        escaped(text) { scalar, result in
            guard scalar == "\n" || scalar == "\r" || scalar == "\t" else { return nil }
            return result.unicodeScalars.last == " " ? "" : " "
        }
    }

    /// Returns the lines of `text`; control characters become `\u{…}`, and a tab becomes two spaces.
    package static func lines(_ text: String) -> [String] {
        text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { line in
            escaped(String(line)) { scalar, _ in scalar == "\t" ? "  " : nil }
        }
    }

    /// Returns `text` as a table cell without loss; a line ending becomes `\n`.
    package static func cell(_ text: String) -> String {
        escaped(text) { scalar, _ in
            switch scalar {
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            default: nil
            }
        }
    }

    /// Replaces the control characters of a text: by what a function returns for a character and the text before it, or
    /// else by `\u{…}`.
    private static func escaped(
        _ text: String, _ replacement: (Unicode.Scalar, String) -> String?
    ) -> String {
        guard text.unicodeScalars.contains(where: \.isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if scalar.isControl {
                result += replacement(scalar, result) ?? escape(scalar)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    package static func escape(_ scalar: Unicode.Scalar) -> String {
        "\\u{" + String(scalar.value, radix: 16) + "}"
    }
}

/// The beginning and the end of a long text: an assertion often has its values at the end.
package struct TextExcerpt: Equatable, Sendable {
    /// The number of columns after which a line counts as two rows.
    private static let columns = 80

    /// The text up to the part that is left out; an ellipsis stands for the rest of its last line.
    package let start: String
    package let end: String
    /// The size of the part that is left out, in bytes of UTF-8.
    package let omittedBytes: Int

    /// Cuts a text that takes more rows of 80 columns, of which the end gets a third; nil if it fits.
    package init?(of text: String, rows: Int) {
        let (first, last) = (rows - rows / 3, rows / 3)
        // A character may have any number of marks.
        func maximum(_ rows: Int) -> Int { rows * Self.columns * 8 }
        let isLong = text.utf8.count > maximum(4 * rows)
        guard isLong || Self.size(of: text, rows: rows) < text.count else { return nil }
        let head = isLong ? String(text.unicodeScalars.prefix(maximum(first))) : text
        let tail = isLong ? String(text.unicodeScalars.suffix(maximum(last))) : text
        let start = head.prefix(Self.size(of: head, rows: first))
        let end = tail.suffix(Self.size(of: tail.reversed(), rows: last))
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
