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

    /// The maximum number of words.
    private static let maximumWords = 600

    private(set) var kind = Kind.other
    /// The table that is written to, the object that is defined or the savepoint, in lower case; nil if uncertain.
    private(set) var table: String?
    /// The schema before the table's name; nil without one.
    private var schema: String?
    /// True if the statement may have had no effect.
    ///
    /// SQLite may count rows that didn't change, and an `EXISTS` clause may skip the statement.
    private(set) var mayHaveNoEffect = false
    /// The names, keywords, numbers and signs, in lower case and without quotes; empty strings for texts.
    let words: [String]

    /// True if the statement creates ``table``; otherwise false.
    var creates: Bool { kind == .definition && words.first == "create" }
    /// True if the statement drops ``table``; otherwise false.
    var drops: Bool { kind == .definition && words.first == "drop" }
    /// True if the statement changes or renames ``table``; otherwise false.
    var alters: Bool { kind == .definition && words.first == "alter" }
    /// True if the statement writes to another database of the connection.
    var isElsewhere: Bool { schema.map { $0 != "main" } ?? false }
    /// True if the statement begins a transaction that writes, so that it waits for other writers.
    var beginsWriting: Bool { kind == .begin && ["immediate", "exclusive"].contains(word(1)) }
    /// True if the statement is a plain query or a comment.
    var isQuery: Bool { ["select", "explain", "values", ""].contains(word(0)) }
    /// True if the statement is a query that common table expressions may precede.
    var isSelect: Bool {
        word(0) == "select"
            || word(0) == "with" && Set(words).isDisjoint(with: ["insert", "update", "delete"])
    }
    /// True if the statement inserts, updates or deletes rows.
    var isWrite: Bool { [.insert, .update, .delete].contains(kind) }

    init(_ sql: String) {
        let text = SQLText(sql, limit: Self.maximumWords)
        words = text.words
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
            mayHaveNoEffect = words.contains("replace") || sql.lowercased().contains("conflict")
            if let into = words.firstIndex(of: "into"), into <= 3 { takeName(at: into + 1) }
        case "update":
            kind = .update
            mayHaveNoEffect = true
            takeName(at: word(1) == "or" ? 3 : 1)
        case "delete":
            kind = .delete
            takeName(at: 2)
        case "create", "drop", "alter": readDefinition()
        case "analyze", "vacuum", "reindex": kind = .maintenance
        case "pragma": readPragma()
        default: break
        }
    }

    /// Returns a word, or an empty string if the statement has fewer.
    private func word(_ index: Int) -> String { index < words.count ? words[index] : "" }

    private mutating func takeName(at index: Int) {
        guard !word(index).isEmpty else { return }
        if word(index + 1) == "." {
            schema = word(index)
            table = index + 2 < words.count ? word(index + 2) : nil
        } else {
            table = word(index)
        }
    }

    /// Takes the name that follows the word at an index, where the keyword `SAVEPOINT` may precede it.
    private mutating func takeSavepoint(after index: Int) {
        let hasKeyword = word(index + 1) == "savepoint" && words.count > index + 2
        takeName(at: index + (hasKeyword ? 2 : 1))
    }

    private mutating func readDefinition() {
        kind = .definition
        mayHaveNoEffect = words.contains("exists")
        let subjects = ["table", "index", "view", "trigger"]
        if let subject = words.prefix(4).firstIndex(where: subjects.contains) {
            let name = words[(subject + 1)...].firstIndex { !["if", "not", "exists"].contains($0) }
            takeName(at: name ?? words.count)
        }
        if word(1) == "temp" || word(1) == "temporary" { schema = "temp" }
    }

    private mutating func readPragma() {
        mayHaveNoEffect = true
        if words.contains("journal_mode"), words.contains("wal") {
            kind = .walMode
        } else if words.contains("user_version") || words.contains("application_id") {
            kind = words.count > 2 ? .setting : .other
        } else if words.contains("optimize") || words.contains("incremental_vacuum") {
            kind = .maintenance
        }
    }
}
