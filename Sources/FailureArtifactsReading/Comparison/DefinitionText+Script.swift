internal import FailureArtifactsSQLite

// Checks the text of a `CREATE` statement from an untrusted schema before it is written into a script.
//
// SQLite reads only the first statement of such a text. In a script, a second statement would be run. A line of
// it that begins with a dot would be a command of the `sqlite3` shell.
extension DefinitionText {
    /// Returns the statement with a semicolon at its end.
    ///
    /// Returns nil if the text is not exactly one `CREATE` statement or contains control characters.
    static func statement(_ sql: String) -> String? {
        guard !hasControlCharacters(sql) else { return nil }
        var scanner = Scanner(bytes: Array(sql.utf8))
        guard scanner.next() == .word("CREATE") else { return nil }
        var isTrigger = false
        var previous: Token? = .word("CREATE")
        var beforePrevious: Token?
        while let token = scanner.next() {
            switch token {
            case .unterminated: return nil
            case .word("TRIGGER") where previous == .word("CREATE") && beforePrevious == nil:
                isTrigger = true
            case .word, .other: break
            case .semicolon:
                // As in sqlite3_complete(), a trigger ends at "; END ;", and other statements end at the first
                // semicolon.
                if !isTrigger { return nil }
                if previous == .word("END"), beforePrevious == .semicolon { return nil }
            }
            beforePrevious = previous
            previous = token
        }
        if isTrigger {
            guard previous == .word("END"), beforePrevious == .semicolon else { return nil }
        }
        return sql + (scanner.endsInLineComment ? "\n;" : ";")
    }

    /// Returns true if the text has control characters that a terminal would obey; line ends and tabs are
    /// allowed.
    static func hasControlCharacters(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: false
            case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
            default: false
            }
        }
    }
}
