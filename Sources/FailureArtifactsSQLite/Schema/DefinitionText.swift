/// Checks the text of a `CREATE` statement from an untrusted schema before it is written into a script.
///
/// SQLite reads only the first statement of such a text. In a script, a second statement would be run. A line of
/// it that begins with a dot would be a command of the `sqlite3` shell.
package enum DefinitionText {
    /// Returns the statement with a semicolon at its end.
    ///
    /// Returns nil if the text is not exactly one `CREATE` statement or contains control characters.
    package static func statement(_ sql: String) -> String? {
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

    /// Returns true if the text is a `CREATE VIRTUAL TABLE` statement.
    package static func isVirtual(_ sql: String) -> Bool {
        var scanner = Scanner(bytes: Array(sql.utf8))
        return scanner.next() == .word("CREATE") && scanner.next() == .word("VIRTUAL")
    }

    /// Returns the module of a `CREATE VIRTUAL TABLE` statement, in lower case; nil for other statements.
    package static func module(_ sql: String) -> String? {
        var scanner = Scanner(bytes: Array(sql.utf8))
        var wasUsing = false
        while let token = scanner.next() {
            guard case .word(let word) = token else {
                wasUsing = false
                continue
            }
            if wasUsing { return folded(word) }
            wasUsing = word == "USING"
        }
        return nil
    }

    /// Returns true if the text has control characters that a terminal would obey; line ends and tabs are
    /// allowed.
    package static func hasControlCharacters(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: false
            case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
            default: false
            }
        }
    }

    private enum Token: Equatable {
        /// A word, in upper case.
        case word(String)
        case semicolon
        /// A quoted name, a string, a number, or a sign.
        case other
        /// A string, a quoted name or a comment without an end.
        case unterminated
    }

    private struct Scanner {
        let bytes: [UInt8]
        private var position = 0
        private(set) var endsInLineComment = false

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        private func byte(at index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

        /// Returns the next token, skipping white space and comments; nil at the end.
        mutating func next() -> Token? {
            endsInLineComment = false
            while position < bytes.count {
                let first = bytes[position]
                switch first {
                case 0x20, 0x09, 0x0A, 0x0C, 0x0D: position += 1
                case UInt8(ascii: "-") where byte(at: position + 1) == first:
                    while position < bytes.count, bytes[position] != 0x0A { position += 1 }
                    endsInLineComment = position == bytes.count
                case UInt8(ascii: "/") where byte(at: position + 1) == UInt8(ascii: "*"):
                    position += 2
                    guard skip(past: [UInt8(ascii: "*"), UInt8(ascii: "/")]) else {
                        return .unterminated
                    }
                case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
                    return quoted(by: first)
                case UInt8(ascii: "["):
                    return skip(past: [UInt8(ascii: "]")]) ? .other : .unterminated
                case UInt8(ascii: ";"):
                    position += 1
                    return .semicolon
                case _ where Self.isWord(first):
                    let start = position
                    while position < bytes.count, Self.isWord(bytes[position]) { position += 1 }
                    return .word(String(decoding: bytes[start..<position], as: UTF8.self).uppercased())
                default:
                    position += 1
                    return .other
                }
            }
            return nil
        }

        private mutating func quoted(by quote: UInt8) -> Token {
            position += 1
            while position < bytes.count {
                defer { position += 1 }
                guard bytes[position] == quote else { continue }
                if byte(at: position + 1) != quote { return .other }
                position += 1
            }
            return .unterminated
        }

        private mutating func skip(past end: [UInt8]) -> Bool {
            while position + end.count <= bytes.count {
                if bytes[position..<position + end.count].elementsEqual(end) {
                    position += end.count
                    return true
                }
                position += 1
            }
            position = bytes.count
            return false
        }

        private static func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
                true
            default: false
            }
        }
    }
}
