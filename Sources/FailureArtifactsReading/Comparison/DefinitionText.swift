internal import FailureArtifactsSQLite

/// Checks the text of a `CREATE` statement from an untrusted schema before it is written into a script.
///
/// SQLite reads only the first statement of such a text. In a script, a second statement would be run. A line of
/// it that begins with a dot would be a command of the `sqlite3` shell.
enum DefinitionText {
    /// Returns the statement with a semicolon at its end.
    ///
    /// Returns nil if the text is not exactly one `CREATE` statement or contains control characters.
    static func statement(_ sql: String) -> String? {
        guard !hasControlCharacters(sql) else { return nil }
        var scanner = SQLScanner(sql)
        var endsInComment = false
        // Words in lower case, semicolons, and empty strings for anything else.
        var words: [String] = []
        while let token = scanner.next() {
            endsInComment = token.kind == .lineComment && !token.isTerminated
            switch token.kind {
            case .space, .lineComment: continue
            case _ where !token.isTerminated: return nil
            case .blockComment: continue
            case .word: words.append(folded(scanner.text(of: token)))
            default: words.append(scanner.text(of: token) == ";" ? ";" : "")
            }
        }
        guard words.first == "create" else { return nil }
        // As in sqlite3_complete(), a trigger ends at "; END ;", and other statements end at the first semicolon.
        if words.starts(with: ["create", "trigger"]) {
            guard words.suffix(2) == [";", "end"] else { return nil }
            for index in words.indices.dropFirst(2) where words[index] == ";" {
                if words[index - 1] == "end", words[index - 2] == ";" { return nil }
            }
        } else if words.contains(";") {
            return nil
        }
        return sql + (endsInComment ? "\n;" : ";")
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
