internal import CFailureArtifactsFunctions
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Makes a copy of a store that obeys the rules on what must not get into a bundle.
///
/// The first copy, of which nothing is left, is changed by statements of SQL in a private place. Its content is
/// then written anew by `VACUUM INTO`: that leaves behind free pages, the ends of pages, and journals, so that
/// nothing of what was deleted before the failure or is removed now gets into the second copy.
package struct StoreRedactor: Sendable {
    /// What was done to a copy.
    package struct Result: Sendable {
        /// Each as `table.column: hashed` or `table: dropped`.
        package var summaries: [String] = []
        /// Full sentences on what was done beyond the rules.
        package var notes: [CaptureWarning] = []
        /// The names in the store's schema, folded, what was dropped included.
        package var names: Set<String> = []
        /// Some of the values that are gone.
        package var removed = RemovedValues()

        package init() {}

        /// Adds what was done to another copy of the same store.
        package mutating func add(_ other: Result) {
            summaries += other.summaries.filter { !summaries.contains($0) }
            notes += other.notes.filter { !notes.contains($0) }
            names.formUnion(other.names)
            removed.add(other.removed)
        }
    }

    package let rules: RedactionRules
    /// Seconds that the redaction of one copy may take.
    package var timeLimit: Double

    package init(_ rules: RedactionRules, timeLimit: Double = 10) {
        self.rules = rules
        self.timeLimit = timeLimit
    }

    /// Makes a redacted copy.
    ///
    /// - Parameters:
    ///   - copy: A stand-alone database that nobody else uses; it is unfit for use afterwards.
    ///   - target: A file that does not exist.
    /// - Returns: What was done.
    /// - Throws: Why the copy can't be redacted; then there is no file at `target`.
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
        let schema = try DatabaseSchema("main", of: connection)
        let plan = try RedactionPlan(rules, of: connection, schema: schema)
        var result = Result()
        (result.summaries, result.notes) = (plan.summaries, plan.notes)
        result.names = Self.names(in: schema)
        try result.removed.sample(plan, schema, of: connection)
        try removeVirtualTables(plan.virtualTables, of: connection)
        for table in plan.dropped {
            try connection.execute("DROP TABLE main.\(quotedIdentifier(table))")
        }
        for table in plan.changed { try change(table, in: connection) }
        if !plan.isEmpty { try removeSamples(of: connection) }
        // SQLite would give it the permissions of any other file.
        try File(creating: target).close()
        let write = try connection.prepare("VACUUM main INTO ?")
        try write.bind([.text(Path.absolute(target))])
        _ = try write.step()
        return result
    }

    /// Has the connection run nothing but what it is told to.
    private func prepare(_ connection: borrowing Connection) throws(SQLiteError) {
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_FKEY, 0)
        // The schema itself is written to.
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_DEFENSIVE, 0)
        // An index of hashes is written in any order: pages of it that had to go would soon be needed again.
        // Half a redaction is thrown away: neither locks nor a journal nor waiting for the disk is of use.
        try connection.execute(
            "PRAGMA cache_size = -65536; PRAGMA locking_mode = exclusive; PRAGMA journal_mode = off; "
                + "PRAGMA synchronous = off; PRAGMA ignore_check_constraints = 1; "
                + "PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0")
        let key = rules.key
        let code = failure_artifacts_add_redact(connection.handle, key, key.count)
        guard code == SQLITE_OK else { throw SQLiteError("add a function", code: code) }
        connection.setDeadline(Instant.now.advanced(bySeconds: timeLimit))
    }

    /// Removes virtual tables without their modules, which may not be there.
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
        let assignments = table.columns.map { column in
            let column = (name: quotedIdentifier(column.name), column)
            let value =
                column.1.becomesNull
                ? "NULL" : "failure_artifacts_redact(\(column.1.method.code), \(column.name))"
            return "\(column.name) = \(value)"
        }
        try connection.execute("UPDATE main.\(name) SET \(assignments.joined(separator: ", "))")
        // Of an index that did not fit its table, entries would be left.
        try connection.execute("REINDEX main.\(name)")
    }

    /// Removes the values that `ANALYZE` has taken from indexes.
    private func removeSamples(of connection: borrowing Connection) throws(SQLiteError) {
        for table in ["sqlite_stat3", "sqlite_stat4"] {
            let count = try connection.integer(
                of: "SELECT count(*) FROM main.sqlite_master WHERE name = '\(table)'")
            if count > 0 { try connection.execute("DELETE FROM main.\(table)") }
        }
    }

    private static func names(in schema: DatabaseSchema) -> Set<String> {
        var names: Set<String> = ["main", "temp"]
        for object in schema.objects { names.formUnion([folded(object.name), folded(object.table)]) }
        for table in schema.tables.values { names.formUnion(table.columns.map { folded($0.name) }) }
        return names
    }
}
