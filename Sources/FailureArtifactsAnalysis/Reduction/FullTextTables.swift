internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The full-text tables of a store: FTS3, FTS4 or FTS5 (<https://www.sqlite.org/fts5.html>).
enum FullTextTables {
    private static func names(in schema: DatabaseSchema) -> [String] {
        schema.objects.filter { object in
            object.type == "table"
                && ["fts3", "fts4", "fts5"].contains(
                    VirtualTable(object.name, definition: object.sql)?.module)
        }.map(\.name)
    }

    /// Returns the tables with texts of their own, without those that need a tokenizer of the application.
    static func withTexts(
        in schema: DatabaseSchema, of connection: borrowing Connection
    ) -> [TableShape] {
        names(in: schema).compactMap { name in
            let rows = "SELECT rowid FROM \(quotedIdentifier(name))"
            guard schema.tables[folded(name) + "_content"] != nil,
                (try? connection.prepare(rows).step()) != nil
            else { return nil }
            return schema.tables[folded(name)]
        }
    }

    /// Builds the indexes again from their texts, without traces of texts that were removed; false if an index was left
    /// as it was, because its texts aren't stored or can't be read.
    @discardableResult
    static func rebuild(in connection: borrowing Connection) throws(SQLiteError) -> Bool {
        var isWhole = true
        for name in try names(in: DatabaseSchema("main", of: connection)).map(quotedIdentifier) {
            do throws(SQLiteError) {
                try connection.execute("INSERT INTO \(name)(\(name)) VALUES ('rebuild')")
            } catch {
                if error.isInterrupted { throw error }
                isWhole = false
            }
        }
        return isWhole
    }
}
