/// Reads the text of a `CREATE` statement from an untrusted schema.
package enum DefinitionText {
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

    /// A token of a statement, as far as it matters here.
    package enum Token: Equatable {
        /// A word, in upper case.
        case word(String)
        case semicolon
        /// A quoted name, a string, a number, or a sign.
        case other
        /// A string, a quoted name or a comment without an end.
        case unterminated
    }

    /// Splits a text into tokens.
    package struct Scanner {
        let bytes: [UInt8]
        private var position = 0
        /// True if the text ends in a comment without a newline.
        package private(set) var endsInLineComment = false

        package init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        private func byte(at index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

        /// Returns the next token, skipping white space and comments; nil at the end.
        package mutating func next() -> Token? {
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
