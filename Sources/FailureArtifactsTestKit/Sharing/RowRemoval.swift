internal import CFailureArtifactsSQLite

extension TestStore {
    /// Deletes all rows of all tables, and has `AUTOINCREMENT` start from 1 again.
    ///
    /// Rows that refer to others go first; where tables refer to one another in a circle, foreign keys are
    /// checked when all is gone. It is one transaction: it does all of it, or nothing.
    ///
    /// - Parameter kept: Tables that stay as they are.
    /// - Throws: What SQLite or a trigger has against it, a table that triggers fill again, or that the store
    ///   lends no connection; a ``TestStoreError``, or what ``withConnection(_:)`` throws.
    public func deleteAllRows(keeping kept: Set<String> = []) throws {
        try withConnection { handle in
            try RowRemoval(LentConnection(handle: handle), keeping: kept).run()
        }
    }
}

/// Empties the tables of a database.
private struct RowRemoval {
    let connection: LentConnection
    /// Referring tables before those they refer to, as far as there is such an order.
    let tables: [String]
    let kept: Set<String>

    init(_ connection: LentConnection, keeping kept: Set<String>) throws(TestStoreError) {
        self.connection = connection
        self.kept = Set(kept.map { $0.lowercased() })
        // The shadow tables of a virtual table are its own affair.
        let names = try connection.texts(
            """
            SELECT name FROM pragma_table_list
            WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
            ORDER BY name
            """
        ).filter { [kept = self.kept] in !kept.contains($0.lowercased()) }
        var parents: [String: Set<String>] = [:]
        for name in names {
            let referred = try connection.texts(
                "SELECT \"table\" FROM pragma_foreign_key_list(?)", [.text(name)])
            parents[name.lowercased()] = Set(referred.map { $0.lowercased() }).subtracting([
                name.lowercased()
            ])
        }
        tables = Self.order(names, parents)
    }

    /// Sorts so that no table comes after one it refers to, as long as that is possible.
    private static func order(_ names: [String], _ parents: [String: Set<String>]) -> [String] {
        var left = names
        var result: [String] = []
        while !left.isEmpty {
            let referred = left.reduce(into: Set<String>()) {
                $0.formUnion(parents[$1.lowercased()] ?? [])
            }
            let free = left.filter { !referred.contains($0.lowercased()) }
            // In a circle any table will do.
            let next = free.isEmpty ? [left[0]] : free
            result += next
            left.removeAll { next.contains($0) }
        }
        return result
    }

    func run() throws(TestStoreError) {
        let isAlone = sqlite3_get_autocommit(connection.handle) != 0
        do throws(TestStoreError) {
            try inTransaction()
        } catch {
            // RESTRICT is not put off to the end of a transaction, and a row may even refer to itself. What
            // is empty breaks no foreign key.
            guard case .sqlite(let code) = error.reason, code & 0xff == SQLITE_CONSTRAINT, isAlone,
                kept.isEmpty, try connection.integer("PRAGMA foreign_keys") == 1
            else { throw error }
            try connection.execute("PRAGMA foreign_keys = OFF")
            let result = Result { () throws(TestStoreError) in try inTransaction() }
            try connection.execute("PRAGMA foreign_keys = ON")
            try result.get()
        }
    }

    private func inTransaction() throws(TestStoreError) {
        let name = "failure_artifacts_delete_all_rows"
        try connection.execute("SAVEPOINT \(name)")
        do throws(TestStoreError) {
            try connection.execute("PRAGMA defer_foreign_keys = ON")
            try deleteRows()
            try connection.execute("RELEASE \(name)")
        } catch {
            try? connection.execute("ROLLBACK TO \(name); RELEASE \(name)")
            throw error
        }
    }

    private func deleteRows() throws(TestStoreError) {
        // Triggers may write into a table that was emptied before.
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
