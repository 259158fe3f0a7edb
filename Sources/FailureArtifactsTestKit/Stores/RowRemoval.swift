internal import CFailureArtifactsSQLite

extension TestStore {
    /// Deletes all rows of all tables, and resets the sequences of `AUTOINCREMENT`.
    ///
    /// Foreign keys, those with `RESTRICT` included, are checked after all rows are deleted. The deletion is one
    /// transaction, or a part of the open one: if it fails, no row is deleted.
    ///
    /// - Parameter kept: The names of tables to leave unchanged.
    /// - Throws: A ``TestStoreError`` if SQLite or a trigger refuses the deletion, if triggers fill a table again, or if
    ///   the store has no connection to lend; or the error that ``withConnection(_:)`` throws.
    public func deleteAllRows(keeping kept: Set<String> = []) throws {
        try withConnection { handle in
            try RowRemoval(BorrowedConnection(handle: handle), keeping: kept).run()
        }
    }
}

/// The deletion of all rows of a database's tables.
private struct RowRemoval {
    let connection: BorrowedConnection
    let tables: [String]

    init(_ connection: BorrowedConnection, keeping kept: Set<String>) throws(TestStoreError) {
        self.connection = connection
        let kept = Set(kept.map { $0.lowercased() })
        // A virtual table maintains its shadow tables itself.
        tables = try connection.texts(
            """
            SELECT name FROM pragma_table_list
            WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
            ORDER BY name
            """
        ).filter { !kept.contains($0.lowercased()) }
    }

    func run() throws(TestStoreError) {
        let name = "failure_artifacts_delete_all_rows"
        try connection.execute("SAVEPOINT \(name)")
        do throws(TestStoreError) {
            // Until the end of the transaction; meanwhile RESTRICT acts as NO ACTION.
            try connection.execute("PRAGMA defer_foreign_keys = ON")
            try deleteRows()
            try connection.execute("RELEASE \(name)")
        } catch {
            try? connection.execute("ROLLBACK TO \(name); RELEASE \(name)")
            throw error
        }
    }

    private func deleteRows() throws(TestStoreError) {
        // Triggers may write to a table that was emptied before.
        for _ in 0...2 {
            for table in tables { try connection.execute("DELETE FROM \(quoted(table))") }
            if try filledTable() == nil { return try resetSequences() }
        }
        guard let table = try filledTable() else { return }
        throw TestStoreError(
            .notEmptied,
            "The table '\(table)' cannot be emptied: triggers fill it again whenever rows are deleted.")
    }

    private func filledTable() throws(TestStoreError) -> String? {
        for table in tables {
            if try !connection.rows("SELECT 1 FROM \(quoted(table)) LIMIT 1").isEmpty { return table }
        }
        return nil
    }

    private func resetSequences() throws(TestStoreError) {
        let exists = try connection.integer(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'")
        guard exists > 0 else { return }
        for table in tables {
            _ = try connection.rows("DELETE FROM sqlite_sequence WHERE name = ?", [.text(table)])
        }
    }
}
