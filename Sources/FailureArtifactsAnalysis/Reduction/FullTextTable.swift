internal import FailureArtifactsSQLite

/// A full-text table: FTS3, FTS4 or FTS5 (<https://www.sqlite.org/fts5.html>, <https://www.sqlite.org/fts3.html>).
struct FullTextTable {
    /// The place of the texts that the table indexes.
    enum Content {
        /// The table itself.
        case own
        /// Another table or a view.
        case external
        /// The texts are not stored.
        case none
    }

    let name: String
    let content: Content
    private let module: String

    /// Returns the full-text tables of a store.
    static func all(in connection: borrowing Connection) throws(SQLiteError) -> [FullTextTable] {
        let statement = try connection.prepare(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
        )
        var tables: [FullTextTable] = []
        while try statement.step() {
            let definition = statement.text(at: 1)
            guard let module = DefinitionText.module(definition),
                ["fts3", "fts4", "fts5"].contains(module)
            else { continue }
            let options = folded(definition.filter { !$0.isWhitespace })
            let content: Content =
                if !options.contains("(content=") && !options.contains(",content=") {
                    .own
                } else if options.contains("content=''") || options.contains("content=\"\"") {
                    .none
                } else {
                    .external
                }
            tables.append(
                FullTextTable(name: statement.text(at: 0), content: content, module: module))
        }
        return tables
    }

    /// Returns the full-text tables with texts of their own, if their rows can be read.
    static func withOwnTexts(
        in connection: borrowing Connection
    ) throws(SQLiteError) -> [FullTextTable] {
        var tables = try all(in: connection)
        tables.removeAll { $0.content != .own || !$0.isReadable(connection) }
        return tables
    }

    /// Returns true if the table's rows can be read.
    ///
    /// They can't if it has a tokenizer of the application.
    func isReadable(_ connection: borrowing Connection) -> Bool {
        (try? connection.prepare("SELECT rowid FROM \(quotedIdentifier(name))").step()) != nil
    }

    /// Builds the index again from the texts, without traces of texts that were removed.
    ///
    /// An index without texts is left as it is.
    ///
    /// - Parameter connection: A connection to the store.
    /// - Throws: An error if SQLite can't build it.
    func rebuild(in connection: borrowing Connection) throws(SQLiteError) {
        guard content != .none else { return }
        let name = quotedIdentifier(name)
        let command = module == "fts3" ? "optimize" : "rebuild"
        try connection.execute("INSERT INTO \(name)(\(name)) VALUES ('\(command)')")
    }
}
