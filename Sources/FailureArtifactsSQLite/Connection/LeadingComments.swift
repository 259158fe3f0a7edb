/// The comments before a statement, and the statement's first word.
package struct LeadingComments {
    /// The text of the comments in one line, without their delimiters.
    package private(set) var text = ""
    /// The word in lower case; empty if the statement doesn't start with a word.
    package private(set) var firstWord = ""

    /// Reads the start of a statement.
    package init(of sql: String) {
        var rest = Substring(sql)
        var lines: [String] = []
        while true {
            rest = rest.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
            if rest.hasPrefix("--") {
                let line = rest.prefix { !$0.isNewline }
                lines.append(String(line.drop { $0 == "-" }))
                rest = rest[line.endIndex...]
            } else if rest.hasPrefix("/*") {
                let characters = Array(rest)
                var end = 2
                while end < characters.count,
                    !(characters[end] == "*" && end + 1 < characters.count && characters[end + 1] == "/")
                {
                    end += 1
                }
                lines.append(String(characters[2..<end]))
                rest = rest.dropFirst(end + 2)
            } else {
                break
            }
        }
        text = lines.joined(separator: " ").split { $0.isWhitespace }.joined(separator: " ")
        firstWord = rest.prefix { $0.isLetter }.lowercased()
    }
}
