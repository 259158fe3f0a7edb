internal import FailureArtifactsAnalysis

/// Text in GitHub's Markdown, none of which is markup.
enum Markdown {
    /// In a line.
    static func code(_ text: String) -> String {
        let line = SafeText.line(text)
        let fence = String(repeating: "`", count: longestRun(in: line) + 1)
        // One space on either side is taken away again, where the text begins or ends with a backtick.
        let space = line.hasPrefix("`") || line.hasSuffix("`") || line.hasPrefix(" ") ? " " : ""
        return line.isEmpty ? "" : fence + space + line + space + fence
    }

    /// With its lines.
    static func block(_ text: String) -> String {
        let lines = SafeText.lines(text)
        let fence = String(repeating: "`", count: max(3, (lines.map(longestRun).max() ?? 0) + 1))
        return fence + "text\n" + lines.joined(separator: "\n") + "\n" + fence + "\n"
    }

    /// Backticks in a row.
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
