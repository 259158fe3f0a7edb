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

/// A virtual table, as its definition describes it.
package struct VirtualTable: Sendable {
    /// The name of the module that provides its rows, in lower case; empty if it is quoted.
    package let module: String
    /// The folded names of the tables in which the module keeps the content; nil if the module isn't one of SQLite's.
    package let shadowTables: Set<String>?

    /// The suffixes that SQLite's modules append to a virtual table's name.
    private static let suffixes: [String: [String]] = [
        "fts3": ["content", "segments", "segdir"],
        "fts4": ["content", "segments", "segdir", "docsize", "stat"],
        "fts5": ["data", "idx", "content", "docsize", "config"],
        "rtree": ["node", "parent", "rowid"],
        "rtree_i32": ["node", "parent", "rowid"],
        "geopoly": ["node", "parent", "rowid"],
    ]
    private static let modulesWithoutContent: Set<String> = [
        "fts3tokenize", "fts4aux", "fts5vocab", "dbstat", "sqlite_dbpage", "json_each", "json_tree",
        "generate_series", "bytecode", "tables_used", "sqlite_stmt",
    ]

    /// Reads the definition of a table, which may be untrusted; nil if the table isn't virtual.
    package init?(_ name: String, definition: String) {
        var scanner = SQLScanner(definition)
        func nextWord() -> String? {
            while let token = scanner.next() {
                switch token.kind {
                case .space, .lineComment, .blockComment: continue
                case .word: return folded(scanner.text(of: token))
                default: return ""
                }
            }
            return nil
        }
        guard nextWord() == "create", nextWord() == "virtual" else { return nil }
        while let word = nextWord(), word != "using" {}
        module = nextWord() ?? ""
        let suffixes = Self.modulesWithoutContent.contains(module) ? [] : Self.suffixes[module]
        shadowTables = suffixes.map { Set($0.map { folded(name) + "_" + $0 }) }
    }
}

/// A table, an index, a view or a trigger.
package struct SchemaObject: Codable, Equatable, Sendable {
    package let type: String
    package let name: String
    /// The table or view that it belongs to; for a table or view, its own name.
    package let table: String
    /// The statement that created it.
    package let sql: String

    package init(type: String, name: String, table: String, sql: String) {
        self.type = type
        self.name = name
        self.table = table
        self.sql = sql
    }
}
