package import FailureArtifactsBundle
package import FailureArtifactsReading

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
            let shown = text.unicodeScalars.prefix(maximumLength)
            last.append(String(shown) + (shown.endIndex < text.endIndex ? "…" : ""))
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
