package import FailureArtifactsBundle
package import FailureArtifactsReading

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

/// The last lines of a text that a test attached, such as a log.
package struct TextTail: Equatable, Encodable, Sendable {
    /// The maximum size of a text whose end is read, in bytes.
    package static let maximumSize = 4 << 20

    package let lines: [String]
    package let earlierLines: Int

    /// Takes the last lines of a text, up to a size of all together, to which a longer last line is cut; nil if the
    /// content is empty, or is no text in UTF-8.
    package init?(
        of content: [UInt8], lines count: Int, maximumBytes: Int = .max, maximumLength: Int = 200
    ) {
        guard !content.isEmpty, !content.contains(0), StoredText.valid(content, isCut: false) != nil
        else {
            return nil
        }
        // A text may have millions of lines, so they are counted, and only the last ones are taken.
        let newline = UInt8(ascii: "\n")
        var rest = content[...]
        if rest.last == newline { rest.removeLast() }
        var left = content.count(where: { $0 == newline }) + (content.last == newline ? 0 : 1)
        var room = maximumBytes
        var last: [String] = []
        while left > 0, last.count < count {
            let start = rest.lastIndex(of: newline).map { $0 + 1 } ?? rest.startIndex
            let line = rest[start...]
            if line.count > room && !last.isEmpty { break }
            // Cutting may leave an incomplete character.
            let text = String(decoding: line.prefix(room), as: UTF8.self)
            last.append(text.count > maximumLength ? text.prefix(maximumLength) + "…" : text)
            room = max(0, room - line.count - 1)
            rest = rest[..<max(rest.startIndex, start - 1)]
            left -= 1
        }
        self.lines = last.reversed()
        earlierLines = left
    }

    /// Reads the end of an attachment; nil if it was not kept, is too large, can't be read or is no text.
    package init?(of attachment: BundleMetadata.Attachment, in bundle: BundleReader, lines count: Int) {
        guard let name = attachment.entry, let entry = bundle.archive.entry(named: name),
            let content = try? bundle.archive.contents(of: entry, limit: Self.maximumSize)
        else { return nil }
        self.init(of: content, lines: count)
    }
}
