/// Splits SQL into tokens as SQLite does, also where the text is cut off.
package struct SQLScanner {
    package enum Kind: Sendable {
        case space, lineComment, blockComment
        /// A text in single quotes.
        case string
        /// A BLOB, such as `x'00ff'`.
        case blob
        /// A name in quotes, which SQLite takes for a string if there is no such name.
        case quotedName
        /// A name or a keyword.
        case word
        case number, parameter
        /// Any other character.
        case sign
    }

    package struct Token: Sendable {
        package let kind: Kind
        /// The place of the token in ``SQLScanner/bytes``.
        package let range: Range<Int>
        /// False if the text ends before the closing quote, the end of the comment or the end of the line.
        package let isTerminated: Bool
    }

    /// The text in UTF-8.
    package let bytes: [UInt8]
    private var position = 0

    package init(_ sql: String) {
        bytes = Array(sql.utf8)
    }

    /// Returns the next token; nil at the end.
    package mutating func next() -> Token? {
        guard position < bytes.count else { return nil }
        let start = position
        let (kind, isTerminated) = skip()
        return Token(kind: kind, range: start..<position, isTerminated: isTerminated)
    }

    /// Returns the characters of a token.
    package func text(of token: Token) -> String { String(decoding: bytes[token.range], as: UTF8.self) }

    /// Returns the characters between a token's quotes, of which two stand for one.
    package func unquoted(_ token: Token) -> String {
        var content = bytes[token.range].drop { $0 | 0x20 == UInt8(ascii: "x") }
        let quote = content.popFirst()
        if token.isTerminated { content.removeLast() }
        if quote == UInt8(ascii: "[") { return String(decoding: content, as: UTF8.self) }
        var isSecond = false
        let single = content.filter { byte in
            isSecond = byte == quote && !isSecond
            return byte != quote || isSecond
        }
        return String(decoding: single, as: UTF8.self)
    }

    /// Returns the folded words and quoted names of a text.
    static func names(in sql: String) -> Set<String> {
        var scanner = SQLScanner(sql)
        var names: Set<String> = []
        while let token = scanner.next() {
            if token.kind == .word { names.insert(folded(scanner.text(of: token))) }
            if token.kind == .quotedName { names.insert(folded(scanner.unquoted(token))) }
        }
        return names
    }

    // MARK: Tokens

    private func byte(_ offset: Int = 0) -> UInt8 {
        position + offset < bytes.count ? bytes[position + offset] : 0
    }

    /// Moves to the end of a token.
    private mutating func skip() -> (kind: Kind, isTerminated: Bool) {
        let first = byte()
        position += 1
        switch first {
        case 0x20, 0x09, 0x0A, 0x0C, 0x0D:
            return (.space, true)
        case UInt8(ascii: "-") where byte() == first:
            return (.lineComment, skip(past: [0x0A]))
        case UInt8(ascii: "/") where byte() == UInt8(ascii: "*"):
            position += 1
            return (.blockComment, skip(past: Array("*/".utf8)))
        case UInt8(ascii: "'"):
            return (.string, skipQuoted(by: first))
        case UInt8(ascii: "\""), UInt8(ascii: "`"):
            return (.quotedName, skipQuoted(by: first))
        case UInt8(ascii: "["):
            return (.quotedName, skip(past: [UInt8(ascii: "]")]))
        case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"),
            UInt8(ascii: "#"):
            skipWord()
            return (.parameter, true)
        case 0x30...0x39:
            skipNumber()
            return (.number, true)
        case UInt8(ascii: ".") where (0x30...0x39).contains(byte()):
            skipNumber()
            return (.number, true)
        case UInt8(ascii: "x"), UInt8(ascii: "X"):
            if byte() == UInt8(ascii: "'") {
                position += 1
                return (.blob, skipQuoted(by: UInt8(ascii: "'")))
            }
            skipWord()
            return (.word, true)
        case _ where Self.isWord(first):
            skipWord()
            return (.word, true)
        default:
            return (.sign, true)
        }
    }

    private mutating func skipWord() {
        while Self.isWord(byte()) { position += 1 }
    }

    /// Skips a number, with a sign in its exponent, and letters that directly follow it.
    private mutating func skipNumber() {
        while Self.isWord(byte()) || byte() == UInt8(ascii: ".")
            || ((byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-"))
                && bytes[position - 1] | 0x20 == UInt8(ascii: "e") && (0x30...0x39).contains(byte(1)))
        {
            position += 1
        }
    }

    private mutating func skipQuoted(by quote: UInt8) -> Bool {
        while position < bytes.count {
            position += 1
            guard bytes[position - 1] == quote else { continue }
            if byte() != quote { return true }
            position += 1
        }
        return false
    }

    private mutating func skip(past end: [UInt8]) -> Bool {
        while position < bytes.count {
            if bytes[position...].starts(with: end) {
                position += end.count
                return true
            }
            position += 1
        }
        return false
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...: true
        default: false
        }
    }
}

/// Returns a name with ASCII letters in lower case, because SQLite ignores their case in names.
package func folded(_ name: String) -> String {
    guard name.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return name }
    return String(
        decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
}
