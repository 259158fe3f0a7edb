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
    static func all(in schema: DatabaseSchema) -> [FullTextTable] {
        schema.objects.compactMap { object in
            guard object.type == "table", DefinitionText.isVirtual(object.sql),
                let module = DefinitionText.module(object.sql),
                ["fts3", "fts4", "fts5"].contains(module)
            else { return nil }
            let options = folded(object.sql.filter { !$0.isWhitespace })
            let content: Content =
                if !options.contains("(content=") && !options.contains(",content=") {
                    .own
                } else if options.contains("content=''") || options.contains("content=\"\"") {
                    .none
                } else {
                    .external
                }
            return FullTextTable(name: object.name, content: content, module: module)
        }
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
