package import FailureArtifactsBundle
package import FailureArtifactsReading

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
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
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

    /// True for control characters and for characters that change the text direction.
    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

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

/// Disarms text that a CI service would execute as a command when it reads it in the output of a job.
///
/// - GitHub's runner executes `::name …::data` at the start of a line, after any white space, and `##[name …]data`
///   anywhere in a line (`ActionCommand` in its source).
/// - The agent of Azure Pipelines looks for `##vso[` anywhere in a line, in upper or lower case.
/// - TeamCity looks for `##teamcity[` anywhere in a line.
package enum HostCommand {
    /// Returns text without commands: the second character of `::` and the last `#` before a name are escaped, by
    /// default as control characters are.
    package static func disarmed(
        _ text: String, escape: (Unicode.Scalar) -> String = SafeText.escape
    ) -> String {
        guard ["::", "##"].contains(where: { text.utf8.contains($0.utf8) }) else { return text }
        let scalars = Array(text.unicodeScalars)
        var result = ""
        var isLineStart = true
        var index = 0
        while index < scalars.count {
            let scalar = scalars[index]
            index += 1
            if scalar == ":", isLineStart, index < scalars.count, scalars[index] == ":" {
                result += ":" + escape(":")
                index += 1
            } else if scalar == "#", index > 1, scalars[index - 2] == "#", startsName(scalars[index...])
            {
                result += escape("#")
            } else {
                result.unicodeScalars.append(scalar)
            }
            isLineStart =
                scalar == "\n" || scalar == "\r" || isLineStart && scalar.properties.isWhitespace
        }
        return result
    }

    /// True if a name, which may be empty, and a bracket follow.
    private static func startsName(_ scalars: ArraySlice<Unicode.Scalar>) -> Bool {
        scalars.first { !$0.properties.isAlphabetic || !$0.isASCII } == "["
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
