package import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The kind and target of a statement, found without an SQL parser; uncertain properties are nil, and callers must not
/// guess them.
struct StatementOutline: Equatable {
    enum Kind: Equatable {
        case begin, commit, rollback, rollbackTo, savepoint, release
        case insert, update, delete
        case definition
        /// A statement that sets a value in the header, such as `PRAGMA user_version = 3`.
        case setting
        /// A statement that may switch to WAL mode.
        case walMode
        /// A statement that may write without changing rows or the schema, such as `VACUUM`.
        case maintenance
        case other
    }

    private static let maximumWords = 600

    private(set) var kind = Kind.other
    /// The table that is written to, the object that is defined or the savepoint, in lower case; nil if uncertain.
    private(set) var table: String?
    /// The schema before the table's name; nil without one.
    private var schema: String?
    /// The database whose log has the statement, if its connection opened another one; nil if not.
    let attached: AttachedDatabase?
    /// True if the statement may have had no effect; SQLite may count rows that didn't change, and an `EXISTS` clause
    /// may skip the statement.
    private(set) var mayHaveNoEffect = false
    /// The names, keywords, numbers and signs, in lower case and without quotes; empty strings for texts.
    ///
    /// Those of a write begin after its common table expressions.
    let words: [String]

    var creates: Bool { kind == .definition && words.first == "create" }
    var drops: Bool { kind == .definition && words.first == "drop" }
    var alters: Bool { kind == .definition && words.first == "alter" }
    /// True if it writes to another database of its connection.
    var isElsewhere: Bool {
        schema.map { $0 != attached?.name ?? "main" } ?? (attached?.lacks(table) ?? false)
    }
    /// True if it is a table of another database of the connection, as far as the name tells.
    func isElsewhere(_ source: SQLText.Source) -> Bool {
        source.schema.map { $0 != attached?.name ?? "main" }
            ?? (attached?.hidden.contains(source.table) ?? false)
    }
    /// True if the statement begins a transaction that writes, so that it waits for other writers.
    var beginsWriting: Bool { kind == .begin && ["immediate", "exclusive"].contains(word(1)) }
    var isQuery: Bool { ["select", "explain", "values", ""].contains(word(0)) }
    /// True if the statement is a query that common table expressions may precede.
    var isSelect: Bool {
        word(0) == "select"
            || word(0) == "with" && Set(words).isDisjoint(with: ["insert", "update", "delete"])
    }
    /// Returns the new value of a setting that the statement, a `PRAGMA`, switches on or off; nil for others.
    func isOn(_ setting: String) -> Bool? {
        guard word(0) == "pragma", word(1) == setting, words.count > 3 else { return nil }
        return ["on", "1", "true", "yes"].contains(word(3))
    }
    /// True if the statement inserts the rows of a query.
    var isCopy: Bool { kind == .insert && words.contains("select") }
    var isWrite: Bool { [.insert, .update, .delete].contains(kind) }

    init(_ sql: String, attached: AttachedDatabase? = nil) {
        self.attached = attached
        let text = SQLText(sql, limit: Self.maximumWords)
        words = Self.words(of: text)
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

    private static func words(of text: SQLText) -> [String] {
        guard text.tokens.first?.isWord("with") == true,
            let start = text.tokens.indices.first(where: { index in
                let token = text.tokens[index]
                // There is a function of that name, too.
                return token.depth == 0
                    && (token.isWord(in: ["insert", "update", "delete"])
                        || token.isWord("replace") && text.tokens[safe: index + 1]?.text != "(")
            })
        else { return text.words }
        return Array(text.words[start...])
    }

    /// The folded names of SQLite's tables with the schema.
    private static let schemaTables: Set = [
        "sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema",
    ]

    /// True if all tables that the text reads are SQLite's own ones, and there is one.
    var readsOnlySchemaTables: Bool {
        // A subquery begins with a parenthesis, and has a FROM of its own; a schema may precede the name.
        let sources = zip(words.indices, words).filter {
            ["from", "join"].contains($1) && word($0 + 1) != "("
        }.map { index, _ in word(index + 2) == "." ? word(index + 3) : word(index + 1) }
        return !sources.isEmpty
            && sources.allSatisfy { Self.schemaTables.contains($0) || $0.hasPrefix("pragma_") }
    }

    /// Returns a word, or an empty string if the statement has fewer.
    func word(_ index: Int) -> String { index < words.count ? words[index] : "" }

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

    /// The kind and the table of the statements that start the defined trigger; nil for other definitions.
    var triggerEvent: (kind: Kind, table: String)? {
        guard creates, words.prefix(4).contains("trigger"), let on = words.firstIndex(of: "on") else {
            return nil
        }
        let event = words[..<on]
        let kind: Kind =
            event.contains("insert") ? .insert : event.contains("delete") ? .delete : .update
        return (kind, word(on + 1))
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

/// A database that the connections of its statements attached.
struct AttachedDatabase: Equatable {
    /// The folded name that statements use.
    let name: String
    /// The folded names of its tables.
    let tables: Set<String>
    /// The folded names that mean tables of the connection's other databases, unless the statement names this one.
    var hidden: Set<String> = []

    /// The tables of another store, and the connections that use it.
    typealias Other = (tables: Set<String>, connections: Set<UInt64>)

    /// Finds the connections in a store's log that attached it.
    static func all(
        _ store: BundleMetadata.Store, _ tables: Set<String>, in log: [StatementRecord],
        beside others: @autoclosure () -> [Other]
    ) -> [UInt64: AttachedDatabase] {
        let file = store.originalPath.map(Path.name)
        var found: [UInt64: AttachedDatabase] = [:]
        for record in log
        where record.error == nil && LeadingComments(of: record.sql).firstWord == "attach" {
            let words = StatementOutline(record.sql).words
            guard let place = words.lastIndex(of: "as"),
                place + 1 < words.count,
                file.map((record.sqlWithLiterals ?? record.sql).contains)
                    ?? (words[place + 1] == folded(store.name))
            else { continue }
            found[record.connection] = AttachedDatabase(name: words[place + 1], tables: tables)
        }
        if found.isEmpty { return [:] }
        for other in others() {
            for connection in other.connections {
                found[connection]?.hidden.formUnion(other.tables)
            }
        }
        return found
    }

    func lacks(_ table: String?) -> Bool {
        table.map { !tables.contains($0) || hidden.contains($0) } ?? false
    }

    /// Returns a statement for a connection that opens the database itself.
    func opened(_ sql: String) -> String {
        let text = SQLText(sql)
        var result: [UInt8] = []
        var end = 0
        for (token, next) in zip(text.tokens, text.tokens.dropFirst())
        where token.kind == .name && token.text == name && next.text == "." {
            result += text.bytes[end..<token.range.lowerBound]
            end = next.range.upperBound
        }
        return String(decoding: result + text.bytes[end...], as: UTF8.self)
    }
}

extension StatementRecord {
    /// The number of rows that the statement itself inserted, updated or deleted; nil if unknown.
    ///
    /// SQLite doesn't count the rows of a query, so for other statements the number is nil, not 0. A bundle of an
    /// earlier version counts the rows of triggers, foreign keys and virtual tables, too.
    package var changedRows: Int? {
        let rows = ownChanges ?? changes
        return switch StatementOutline(sql).kind {
        case .insert, .update, .delete: rows == 0 && error != nil ? nil : rows
        // A virtual table writes its own tables when it is created, and when a transaction is committed.
        case .commit, .release, .definition: nil
        default: rows == 0 ? nil : rows
        }
    }

    /// The values of the parameters, of which only the start may be known; nil if they were not recorded.
    var knownValues: [BoundValue]? {
        values ?? (StatementParameter.all(in: sql).isEmpty ? [] : nil)
    }

    /// The table whose rows the statement inserts, updates or deletes, in lower case; nil for others or if uncertain.
    package var writtenTable: String? {
        let outline = StatementOutline(sql)
        return outline.isWrite && !outline.isElsewhere ? outline.table : nil
    }

    package var hasFailed: Bool { error != nil || leftOpen == true }

    /// The error's message and code, or a note on a `COMMIT` that failed for an unknown reason; nil if the statement
    /// isn't known to have failed.
    package var failureText: String? {
        error.map { "\($0.message) (\($0.code))" }
            ?? (leftOpen == true ? "failed: the transaction stayed open" : nil)
    }

    /// The minimum number of rows that the statement read in scans; nil without a scan that went past its first row.
    ///
    /// SQLite counts the steps from one row to the next, so each scan has read one row more than it counted. A nested
    /// scan that runs several times reads one more each time, and rows count again.
    var leastScannedRows: Int? {
        guard let fullScanSteps, fullScanSteps > 0 else { return nil }
        return Self.rows(afterSteps: fullScanSteps)
    }

    private static func rows(afterSteps steps: Int) -> Int { steps == .max ? .max : steps + 1 }

    /// The costly work that SQLite counted: `scanned at least 20,000 rows`, `1 sort`,
    /// `automatic index over at least 50 rows`.
    package var queryFacts: [String] {
        var facts: [String] = []
        if let rows = leastScannedRows { facts.append("scanned at least " + Self.rows(rows)) }
        if let sorts, sorts > 0 { facts.append(Counted.items(Int64(sorts), "sort")) }
        if let autoIndexes, autoIndexes > 0 {
            let rows = Self.rows(Self.rows(afterSteps: autoIndexes))
            facts.append("automatic index over at least " + rows)
        }
        return facts
    }

    /// True if the statement only begins or ends a transaction, is a `PRAGMA`, or reads only the schema.
    package var isQuiet: Bool {
        let outline = StatementOutline(sql)
        switch outline.kind {
        case .begin, .commit, .savepoint, .release, .walMode: return true
        default: break
        }
        return outline.words.first == "pragma" || outline.isQuery && outline.readsOnlySchemaTables
    }

    /// The text and the line, which are the same for all executions of a statement in a loop.
    var textAndPlace: String { (source?.place ?? "") + "\n" + sql }

    /// The lines of the query plan, as many as the packer writes.
    package var shownPlan: ArraySlice<String> { (queryPlan ?? []).prefix(QueryPlan.maximumLines) }

    private static func rows(_ count: Int) -> String {
        Counted.number(Int64(count)) + (count == 1 ? " row" : " rows")
    }
}

extension BundleMetadata.Test {
    /// The name of the test's function, without its parameters.
    var function: String { name.prefix { $0 != "(" }.filter { $0 != "`" } }
}

extension StatementRecord.Source {
    /// The place, such as `Sources/Ledger/Ledger.swift:42`.
    package var place: String { "\(file):\(line)" }

    /// True if the path stays below the package root.
    package var isInPackage: Bool {
        // An absolute path begins with an empty part.
        file.split(separator: "/", omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }

    /// True if a test's function, or a closure in it, has the line, as far as known.
    func isIn(_ test: String) -> Bool { function?.contains(test) ?? true }

    /// True if the file is below a directory for tests, such as `Tests` or `ShopTests`.
    var isInTests: Bool {
        file.split(separator: "/").dropLast().contains { $0.hasSuffix("Tests") }
    }
}
