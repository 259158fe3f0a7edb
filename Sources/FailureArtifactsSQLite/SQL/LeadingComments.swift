/// The comments before a statement, and the statement's first word.
package struct LeadingComments {
    /// The text of the comments in one line, without their delimiters.
    package private(set) var text = ""
    /// The word in lower case; empty if the statement doesn't start with a word.
    package private(set) var firstWord = ""

    /// Reads the start of a statement.
    package init(of sql: String) {
        var scanner = SQLScanner(String(sql.drop { $0 == "\u{FEFF}" }))
        var comments: [Substring] = []
        loop: while let token = scanner.next() {
            let content = scanner.text(of: token)
            switch token.kind {
            case .space: continue
            case .lineComment: comments.append(content.drop { $0 == "-" })
            case .blockComment:
                comments.append(content.dropFirst(2).dropLast(token.isTerminated ? 2 : 0))
            default:
                if token.kind == .word { firstWord = content.lowercased() }
                break loop
            }
        }
        text = comments.joined(separator: " ").split { $0.isWhitespace }.joined(separator: " ")
    }
}
