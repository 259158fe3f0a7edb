internal import FailureArtifactsBundle

/// The kind and target of a statement, found without an SQL parser.
///
/// Uncertain properties are nil, and callers must not guess them.
struct StatementOutline: Equatable {
    enum Kind: Equatable {
        case begin, commit, rollback, rollbackTo, savepoint, release
        case insert, update, delete
        /// A statement that changes the schema.
        case definition
        /// A statement that sets a value in the header, such as `PRAGMA user_version = 3`.
        case setting
        /// A statement that may switch to WAL mode.
        case walMode
        /// A statement that may write without changing rows or the schema, such as `VACUUM`.
        case maintenance
        case other
    }

    let kind: Kind
    /// The table that is written to, the object that is defined or the savepoint, in lower case; nil if uncertain.
    let table: String?
    /// True if the statement creates or drops ``table``; otherwise false.
    let creates, drops: Bool
    /// True if the statement changes or renames ``table``; otherwise false.
    let alters: Bool
    /// True if the statement writes to another database of the connection.
    let isElsewhere: Bool
    /// True if the statement may have had no effect.
    ///
    /// SQLite may count rows that didn't change, and an `EXISTS` clause may skip the statement.
    let mayHaveNoEffect: Bool
    /// True if the statement begins a transaction that writes, so that it waits for other writers.
    let beginsWriting: Bool
    /// True if the statement is a plain query or a comment.
    let isQuery: Bool
    /// True if the statement adds a database to the connection.
    let attaches: Bool

    /// True if the statement inserts, updates or deletes rows.
    var isWrite: Bool { [.insert, .update, .delete].contains(kind) }
    /// True if the statement may change rows.
    ///
    /// A statement that begins with `WITH` may be of any kind.
    var mayWrite: Bool { [.insert, .update, .delete, .other].contains(kind) }

    init(_ sql: String) {
        // 64 words are enough for the names. The values that follow may be long.
        let words = Self.words(of: sql, limit: 64)
        var reader = Reader(words: words)
        reader.read(sql)
        let first = words.first ?? ""
        kind = reader.kind
        table = reader.table
        creates = kind == .definition && first == "create"
        drops = kind == .definition && first == "drop"
        alters = kind == .definition && first == "alter"
        mayHaveNoEffect = reader.mayHaveNoEffect
        beginsWriting = kind == .begin && ["immediate", "exclusive"].contains(reader.word(1))
        isQuery = ["select", "explain", "values", ""].contains(first)
        attaches = first == "attach"
        isElsewhere = reader.schema.map { $0 != "main" } ?? false
    }

    /// The properties of a statement that depend on more than its first words.
    private struct Reader {
        let words: [String]
        var kind = Kind.other
        var table: String?
        /// The schema before the table's name; nil without one.
        var schema: String?
        var mayHaveNoEffect = false

        init(words: [String]) {
            self.words = words
        }

        /// Returns a word, or an empty string if the statement has fewer.
        func word(_ index: Int) -> String { index < words.count ? words[index] : "" }

        private mutating func takeName(at index: Int) {
            guard index < words.count, !word(index).isEmpty else { return }
            if word(index + 1) == "." {
                schema = word(index)
                table = index + 2 < words.count ? word(index + 2) : nil
            } else {
                table = word(index)
            }
        }

        mutating func read(_ sql: String) {
            switch word(0) {
            case "begin": kind = .begin
            case "commit", "end": kind = .commit
            case "rollback":
                let to = words.prefix(3).firstIndex(of: "to")
                kind = to == nil ? .rollback : .rollbackTo
                if let to { takeSavepoint(after: to) }
            case "savepoint":
                kind = .savepoint
                takeName(at: 1)
            case "release":
                kind = .release
                takeSavepoint(after: 0)
            case "insert", "replace":
                kind = .insert
                mayHaveNoEffect =
                    words.contains("replace") || sql.lowercased().contains("conflict")
                if let into = words.firstIndex(of: "into"), into <= 3 { takeName(at: into + 1) }
            case "update":
                kind = .update
                mayHaveNoEffect = true
                takeName(at: word(1) == "or" ? 3 : 1)
            case "delete":
                kind = .delete
                takeName(at: 2)
            case "create", "drop", "alter", "reindex": readDefinition()
            case "analyze", "vacuum": kind = .maintenance
            case "pragma": readPragma()
            default: break
            }
        }

        /// Takes the name that follows the word at an index, where the keyword `SAVEPOINT` may precede it.
        private mutating func takeSavepoint(after index: Int) {
            let hasKeyword = word(index + 1) == "savepoint" && words.count > index + 2
            takeName(at: index + (hasKeyword ? 2 : 1))
        }

        private mutating func readDefinition() {
            kind = word(0) == "reindex" ? .maintenance : .definition
            mayHaveNoEffect = words.contains("exists")
            if let subject = words.prefix(4).firstIndex(where: StatementOutline.subjects.contains) {
                let name = words[(subject + 1)...].firstIndex { !["if", "not", "exists"].contains($0) }
                takeName(at: name ?? words.count)
            }
            if word(1) == "temp" || word(1) == "temporary" { schema = "temp" }
        }

        private mutating func readPragma() {
            if words.contains("journal_mode"), words.contains("wal") {
                kind = .walMode
            } else if words.contains("user_version") || words.contains("application_id") {
                kind = words.count > 2 ? .setting : .other
            } else if words.contains("optimize") || words.contains("incremental_vacuum") {
                kind = .maintenance
            }
            mayHaveNoEffect = true
        }
    }

    private static let subjects: Set = ["table", "index", "view", "trigger"]
    /// The maximum number of characters that are split into words.
    static let maximumLength = 4096

    /// A word of a statement.
    struct Word: Equatable {
        /// The name or keyword, in lower case and without quotes, or another character.
        let text: String
        /// True for a text in single quotes.
        let isText: Bool
        /// True for a text in single quotes, or for a word that begins with a digit.
        var isLiteral: Bool { isText || text.utf8.first.map { (0x30...0x39).contains($0) } ?? false }
    }

    /// Splits a statement into words without comments.
    ///
    /// Names and keywords are in lower case and without quotes. Other characters are separate words.
    static func words(of sql: String, limit: Int) -> [String] {
        tokens(of: sql, limit: limit).map(\.text)
    }

    /// Splits a statement as ``words(of:limit:)`` does, and keeps texts apart from names.
    static func tokens(of sql: String, limit: Int) -> [Word] {
        var words: [Word] = []
        var rest = sql.unicodeScalars.prefix(maximumLength)
        while let first = rest.first, words.count < limit {
            if first.properties.isWhitespace {
                rest = rest.dropFirst()
            } else if first == "-", rest.dropFirst().first == "-" {
                rest = rest.drop { $0 != "\n" }
            } else if first == "/", rest.dropFirst().first == "*" {
                rest = rest.dropFirst(2)
                while let next = rest.first, !(next == "*" && rest.dropFirst().first == "/") {
                    rest = rest.dropFirst()
                }
                rest = rest.dropFirst(2)
            } else if first == "\"" || first == "`" || first == "[" || first == "'" {
                let end: Unicode.Scalar = first == "[" ? "]" : first
                rest = rest.dropFirst()
                let name = rest.prefix { $0 != end }
                words.append(
                    Word(
                        text: String(String.UnicodeScalarView(name)).lowercased(), isText: first == "'"))
                rest = rest.dropFirst(name.count + 1)
            } else {
                let name = rest.prefix {
                    $0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "_" || $0.value > 127
                }
                let text =
                    name.isEmpty
                    ? String(first) : String(String.UnicodeScalarView(name)).lowercased()
                words.append(Word(text: text, isText: false))
                rest = rest.dropFirst(max(name.count, 1))
            }
        }
        return words
    }
}

extension StatementOutline {
    /// The parts of a statement that findings compare with tables and columns, in lower case.
    struct Parts {
        /// The words of the statement, see ``StatementOutline/words(of:limit:)``.
        let words: [String]
        /// The columns that an `UPDATE` sets.
        private(set) var assigned: [String] = []
        /// The assigned columns whose new value depends on their old one, as in `SET n = n + 1`.
        private(set) var relative: Set<String> = []

        /// The maximum number of words.
        static let maximumWords = 600

        init(_ sql: String) {
            words = StatementOutline.words(of: sql, limit: Self.maximumWords)
            guard let set = words.firstIndex(of: "set") else { return }
            var index = set + 1
            var depth = 0
            var current: String?
            while index < words.count,
                depth > 0 || !["where", "from", "returning"].contains(words[index])
            {
                let word = words[index]
                if word == "(" { depth += 1 }
                if word == ")" { depth -= 1 }
                if depth == 0, index + 1 < words.count, words[index + 1] == "=",
                    index == set + 1 || words[index - 1] == ","
                {
                    current = word
                    assigned.append(word)
                } else if let current, word == current {
                    relative.insert(current)
                }
                index += 1
            }
        }

        /// True if the statement sets several columns in parentheses, which ``assigned`` doesn't have.
        var hasRowAssignment: Bool {
            zip(words, words.dropFirst()).contains { ["set", ","].contains($0) && $1 == "(" }
        }

        /// True if the statement is a `SELECT`, which common table expressions may precede.
        var isSelect: Bool {
            guard words.first == "with" else { return words.first == "select" }
            var depth = 0
            for (previous, word) in zip(words, words.dropFirst()) {
                if word == "(" { depth += 1 }
                if word == ")" { depth -= 1 }
                // A word after these is the name of an expression.
                if depth == 0, !["with", "recursive", ","].contains(previous), Self.verbs.contains(word)
                {
                    return word == "select"
                }
            }
            return false
        }

        /// The words that begin the statement after its common table expressions.
        private static let verbs: Set = ["select", "values", "insert", "replace", "update", "delete"]
    }
}
