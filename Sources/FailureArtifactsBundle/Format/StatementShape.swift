internal import FailureArtifactsSQLite

/// The parts of a statement's text that tell it from others, without spaces and comments.
package struct StatementShape {
    /// The tokens, separated by single spaces.
    package let text: String
    /// The maximum number of tokens that are told apart.
    private static let limit = 4000
    /// The tokens with `?` for each literal, each parameter and each list of them, so that statements that differ only in
    /// values have the same shape.
    package let shape: String

    package init(_ sql: String) {
        var scanner = SQLScanner(sql)
        var text: [String] = []
        var shape: [String] = []
        var end = 0
        while let token = scanner.next() {
            if text.count == Self.limit {
                let rest = String(decoding: scanner.bytes[token.range.lowerBound...], as: UTF8.self)
                text.append(rest)
                shape.append(rest)
                break
            }
            switch token.kind {
            case .space, .lineComment, .blockComment: continue
            case .string, .blob, .number, .parameter:
                text.append(scanner.text(of: token))
                // `(?, ?` becomes `(?` here.
                if shape.suffix(2) == ["?", ","], shape.dropLast(2).last == "(" {
                    shape.removeLast()
                } else {
                    shape.append("?")
                }
            case .sign where end == token.range.lowerBound && Self.isOperator(text.last, scanner, token):
                // Two signs make an operator, such as `<>`.
                text[text.count - 1] += scanner.text(of: token)
                shape[shape.count - 1] = text[text.count - 1]
            default:
                text.append(scanner.text(of: token))
                shape.append(text[text.count - 1])
            }
            end = token.range.upperBound
        }
        self.text = text.joined(separator: " ")
        self.shape = shape.joined(separator: " ")
    }

    private static func isOperator(_ text: String?, _ scanner: SQLScanner, _ token: SQLScanner.Token)
        -> Bool
    {
        [text, scanner.text(of: token)].allSatisfy { ["<", ">", "=", "!", "|"].contains($0) }
    }
}
