internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// Temporary schemas, which belong to a connection and refer to its other databases.
extension SnapshotAttempt {
    /// Makes the copy of a temporary schema a database that opens by itself, or removes it if it has no tables.
    ///
    /// A temporary trigger may belong to a table of another database. Without that table, SQLite considers the whole
    /// schema malformed.
    mutating func separateTemporarySchema() throws(SnapshotFailure) {
        guard store.accesses.first?.schema == "temp" else { return }
        do {
            let count = try Self.removeStrayTriggers(in: targets.copy)
            guard let count else {
                try FileSystem.remove(targets.copy)
                snapshot.isNothing = true
                return
            }
            guard count > 0 else { return }
            snapshot.warnings.add(
                .temporaryTriggersMissing,
                "Temporary triggers on tables of other databases are not in the copy: \(count).",
                ["count": .number(Int64(count))])
        } catch {
            throw SnapshotFailure(error)
        }
    }

    /// Removes the triggers that the copy can't have, and returns their number; nil if the schema has no tables.
    private static func removeStrayTriggers(in path: String) throws(SQLiteError) -> Int64? {
        let copy = try Connection(path: path, mode: .readWrite)
        // Lets SQLite read the valid part of a malformed schema
        // (<https://www.sqlite.org/pragma.html#pragma_writable_schema>).
        try copy.execute("PRAGMA writable_schema = on")
        guard try copy.integer(of: "SELECT count(*) FROM sqlite_schema WHERE type = 'table'") > 0 else {
            return nil
        }
        let before = try copy.integer(of: "SELECT count(*) FROM sqlite_schema")
        try copy.execute(
            """
            DELETE FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) NOT IN
                (SELECT lower(name) FROM sqlite_schema WHERE type IN ('table', 'view'))
            """)
        // A trigger on a temporary table may name other databases in its body.
        if (try? Connection(path: path, mode: .readOnly).integer(
            of: "SELECT count(*) FROM sqlite_schema")) == nil
        {
            try copy.execute("DELETE FROM sqlite_schema WHERE type = 'trigger'")
        }
        return before - (try copy.integer(of: "SELECT count(*) FROM sqlite_schema"))
    }
}
