/// Removes the values from SQL statements.
///
/// Only the statement's own schema, with its views and triggers, tells which values belong to which columns. So
/// every value is removed: numbers, strings, BLOBs and the arguments of pragmas become `?`, and comments are
/// dropped. Text in double quotes is removed too, unless it is a name of the schema. SQLite treats such text as a
/// string if there is no such name.
package struct StatementRedaction {
    /// The names to keep, folded.
    private let names: Set<String>

    package init(names: Set<String>) {
        self.names = names
    }

    /// Returns a statement without its values; `sql` may be cut off anywhere.
    package func redacted(_ sql: String) -> String {
        var scanner = SQLScanner(sql)
        var result = ""
        var isPragma: Bool?
        while let token = scanner.next() {
            if isPragma == true, isArgument(token, of: scanner) { return result + "= ?" }
            switch token.kind {
            case .lineComment:
                if token.isTerminated { result += "\n" }
            case .blockComment: continue
            case .string, .blob, .number: result += "?"
            case .quotedName:
                let isKnown = token.isTerminated && names.contains(folded(scanner.unquoted(token)))
                result += isKnown ? scanner.text(of: token) : "?"
            case .word:
                result += scanner.text(of: token)
                if isPragma == nil { isPragma = folded(scanner.text(of: token)) == "pragma" }
            case .space, .parameter, .sign: result += scanner.text(of: token)
            }
        }
        return result
    }

    /// True if the argument of a pragma may begin here.
    private func isArgument(_ token: SQLScanner.Token, of scanner: SQLScanner) -> Bool {
        switch token.kind {
        case .space, .word, .quotedName: false
        case .sign: ![".", ";"].contains(scanner.text(of: token))
        default: true
        }
    }
}
