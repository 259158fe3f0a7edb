internal import CFailureArtifactsShared
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Makes a copy of a store that obeys the redaction rules.
///
/// SQL statements change the first copy, which is in a private place and isn't kept. `VACUUM INTO` then writes
/// its content into the second copy. That leaves out free pages, the unused ends of pages, and journals. So
/// nothing that was deleted before the failure, or is removed now, gets into the second copy.
package struct StoreRedactor: Sendable {
    /// The changes to a copy.
    package struct Result: Sendable {
        /// The changes, each as `table.column: hashed` or `table: dropped`.
        package var summaries: [String] = []
        /// Warnings about changes beyond the rules, as full sentences.
        package var notes: [CaptureWarning] = []
        /// The folded names in the store's schema, including dropped objects, and `main` and `temp`.
        package var names: Set<String> = []
        /// A sample of the removed values.
        package var removed = RemovedValues()

        package init() {}

        /// Adds the changes to another copy of the same store.
        package mutating func add(_ other: Result) {
            summaries += other.summaries.filter { !summaries.contains($0) }
            notes += other.notes.filter { !notes.contains($0) }
            names.formUnion(other.names)
            removed.add(other.removed)
        }
    }

    package let rules: RedactionRules
    /// The maximum duration of the redaction of one copy, in seconds.
    package var timeLimit: Double

    package init(_ rules: RedactionRules, timeLimit: Double = 10) {
        self.rules = rules
        self.timeLimit = timeLimit
    }

    /// Makes a redacted copy at a path that does not exist; after an error, there is none.
    ///
    /// The given copy is stand-alone, and nothing else uses it. It is unfit for use afterwards.
    package func redact(_ copy: String, to target: String) throws(RedactionError) -> Result {
        do {
            return try run(copy, target)
        } catch {
            for suffix in ["", "-journal"] { try? FileSystem.remove(target + suffix) }
            switch error {
            case let error as RedactionError: throw error
            case let error as SQLiteError where error.isInterrupted:
                throw RedactionError("It took longer than \(timeLimit) s.")
            case let error as SQLiteError: throw RedactionError(error)
            default: throw RedactionError("\(error).")
            }
        }
    }

    private func run(_ copy: String, _ target: String) throws -> Result {
        let connection = try Connection(path: copy, mode: .readWrite)
        try prepare(connection)
        let plan = try RedactionPlan(rules, of: connection)
        var result = Result()
        (result.summaries, result.notes, result.names) = (plan.summaries, plan.notes, plan.names)
        try result.removed.sample(plan.removed, of: connection)
        try removeVirtualTables(plan.virtualTables, of: connection)
        for table in plan.dropped {
            try connection.execute("DROP TABLE main.\(quotedIdentifier(table))")
        }
        for table in plan.changed { try change(table, in: connection) }
        if !plan.isEmpty { try removeSamples(of: connection) }
        // Created here, because SQLite would give the file the usual permissions.
        try File(creating: target).close()
        let write = try connection.prepare("VACUUM main INTO ?")
        try write.bind([.text(Path.absolute(target))])
        _ = try write.step()
        return result
    }

    /// Prevents the connection from running code of the store, and prepares it for the redaction.
    private func prepare(_ connection: borrowing Connection) throws(SQLiteError) {
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_FKEY, 0)
        // Defensive mode would prevent writes to the schema.
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_DEFENSIVE, 0)
        // Hashes enter an index in random order: a small cache would drop pages that are soon needed again. A
        // redaction that fails is discarded, so locks, a journal and syncing to disk are of no use.
        try connection.execute(
            "PRAGMA cache_size = -65536; PRAGMA locking_mode = exclusive; PRAGMA journal_mode = off; "
                + "PRAGMA synchronous = off; PRAGMA ignore_check_constraints = 1; "
                + "PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0")
        let key = rules.key
        let code = failure_artifacts_add_redact(connection.handle, key, key.count)
        guard code == SQLITE_OK else { throw SQLiteError("add a function", code: code) }
        connection.setDeadline(Instant.now.advanced(bySeconds: timeLimit))
    }

    /// Removes virtual tables without using their modules, which may be missing.
    private func removeVirtualTables(
        _ tables: [String], of connection: borrowing Connection
    ) throws(SQLiteError) {
        guard !tables.isEmpty else { return }
        try connection.execute("PRAGMA writable_schema = 1")
        for table in tables {
            let statement = try connection.prepare(
                "DELETE FROM main.sqlite_master WHERE type IN ('table', 'trigger') AND tbl_name = ?")
            try statement.bind([.text(table)])
            _ = try statement.step()
        }
        try connection.execute("PRAGMA writable_schema = RESET")
    }

    private func change(
        _ table: RedactionPlan.Table, in connection: borrowing Connection
    ) throws(SQLiteError) {
        let name = quotedIdentifier(table.name)
        let assignments = table.columns.map { "\(quotedIdentifier($0.name)) = \($0.value)" }
        try connection.execute("UPDATE main.\(name) SET \(assignments.joined(separator: ", "))")
        // If an index did not match its table, old entries would be left in it.
        try connection.execute("REINDEX main.\(name)")
    }

    /// Removes the values that `ANALYZE` has copied from indexes.
    private func removeSamples(of connection: borrowing Connection) throws(SQLiteError) {
        for table in ["sqlite_stat3", "sqlite_stat4"] {
            let count = try connection.integer(
                of: "SELECT count(*) FROM main.sqlite_master WHERE name = '\(table)'")
            if count > 0 { try connection.execute("DELETE FROM main.\(table)") }
        }
    }
}

/// The reason why a copy cannot be redacted.
package struct RedactionError: Error, CustomStringConvertible {
    /// A full sentence, without any value of the store.
    package let description: String

    init(_ description: String) { self.description = description }

    init(_ error: SQLiteError) {
        // The operation is a statement of ours; the message names tables and columns only.
        self.init("SQLite says: \(error.message) (error \(error.code)).")
    }
}
