internal import FailureArtifactsAnalysis

enum TextWrap {
    /// Returns the lines of a paragraph.
    ///
    /// - `width`: the maximum width of a line, in columns. A longer word has its own line.
    /// - `firstIndent`: the number of spaces at the start of the first line; nil for `indent`.
    static func lines(of text: String, width: Int, indent: Int, firstIndent: Int? = nil) -> [String] {
        var lines: [String] = []
        var line = String(repeating: " ", count: firstIndent ?? indent)
        var used = firstIndent ?? indent
        var isEmpty = true
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            let columns = TextWidth.columns(of: String(word))
            if !isEmpty, used + 1 + columns > width {
                lines.append(line)
                line = String(repeating: " ", count: indent)
                used = indent
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            used += columns + (isEmpty ? 0 : 1)
            isEmpty = false
        }
        return lines + [line]
    }

    /// Returns the lines of a failure message, and wraps lines that are too long for the terminal.
    static func message(_ text: String, indent: Int, for output: TextOutput) -> [String] {
        let spaces = String(repeating: " ", count: indent)
        return SafeText.lines(text).flatMap { line in
            guard let terminal = output.terminal,
                indent + TextWidth.columns(of: line) > terminal.width
            else { return [spaces + line] }
            return lines(of: line, width: terminal.width, indent: indent)
        }
    }

    /// Returns the lines of a failure message, as far as they fit into a number of rows.
    ///
    /// - `rows`: the maximum number of rows of 80 columns; nil for no limit. A line tells what is left out.
    static func excerpt(
        of text: String, rows: Int?, indent: Int, for output: TextOutput
    ) -> [String] {
        guard let rows, let excerpt = TextExcerpt(of: text, rows: rows) else {
            return message(text, indent: indent, for: output)
        }
        let note = "… \(Counted.bytes(UInt64(excerpt.omittedBytes))) left out (all with --all) …"
        return message(excerpt.start, indent: indent, for: output)
            + [String(repeating: " ", count: indent) + output.styled(note, .dim)]
            + message(excerpt.end, indent: indent, for: output)
    }
}
