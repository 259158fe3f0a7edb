internal import FailureArtifactsAnalysis

/// Text in GitHub's Markdown, escaped so that none of it is markup.
enum Markdown {
    /// Returns text as code within a line.
    static func code(_ text: String) -> String {
        let line = SafeText.line(text)
        let fence = String(repeating: "`", count: longestRun(in: line) + 1)
        // Markdown removes one space on either side. It is needed if the text begins or ends with a backtick.
        let isOpen =
            [line.utf8.first, line.utf8.last].contains(UInt8(ascii: "`")) || line.utf8.first == 0x20
        let space = isOpen ? " " : ""
        return line.isEmpty ? "" : fence + space + line + space + fence
    }

    /// Returns text as a block of code, with its line breaks.
    static func block(_ text: String) -> String {
        let lines = SafeText.lines(text)
        let fence = String(repeating: "`", count: max(3, (lines.map(longestRun).max() ?? 0) + 1))
        return fence + "text\n" + lines.joined(separator: "\n") + "\n" + fence + "\n"
    }

    /// Returns Markdown as a link; unchanged without an address that can be one.
    static func link(_ markdown: String, to address: String?) -> String {
        guard let address, ["https://", "http://"].contains(where: address.hasPrefix),
            address.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"<>\\".utf8.contains($0) })
        else { return markdown }
        return "[\(markdown)](<\(address)>)"
    }

    /// Returns the largest number of backticks in a row.
    private static func longestRun(in text: String) -> Int {
        var longest = 0
        var run = 0
        for byte in text.utf8 {
            run = byte == UInt8(ascii: "`") ? run + 1 : 0
            longest = max(longest, run)
        }
        return longest
    }
}
