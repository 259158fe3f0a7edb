internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension Connection {
    /// Opens an untrusted store for reading; every store of a bundle is opened by this method.
    ///
    /// Code in the file is not run, except expressions with SQLite's own harmless functions
    /// (<https://www.sqlite.org/security.html>):
    ///
    /// - Defensive mode and `query_only`: nothing is written, neither by pragmas nor through shadow tables.
    /// - The schema is not trusted: its views, triggers, generated columns, CHECK constraints and indexes can't
    ///   call functions with side effects. They can't use virtual tables that aren't declared innocuous. Versions of
    ///   SQLite that mark their own JSON functions wrongly are an exception.
    /// - No extension is loaded, no trigger is run, and no tokenizer is registered by its address.
    /// - Sizes, nesting and time are limited.
    ///
    /// - `isPrivate`: true if nothing else uses the file and it needs no journal. It is then read without
    ///   locks.
    package static func untrusted(
        _ path: String, isPrivate: Bool = true, limits: UntrustedLimits = .standard
    ) throws(SQLiteError) -> Connection {
        let connection = try Connection(
            path: path, mode: isPrivate ? .immutable : .readOnly, busyTimeout: 1)
        try connection.distrust(limits)
        // These pragmas don't read the file. If it isn't a database, the first statement that reads it fails. Files
        // aren't mapped, because a process may truncate one that isn't private.
        try connection.execute("PRAGMA query_only = 1; PRAGMA mmap_size = 0")
        return connection
    }

    /// Prevents that the connection runs code in its file, as ``untrusted(_:isPrivate:limits:)`` describes.
    borrowing func distrust(_ limits: UntrustedLimits) throws(SQLiteError) {
        for (option, value) in [
            (SQLITE_DBCONFIG_DEFENSIVE, CInt(1)), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
            (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0), (SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0),
            (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), (SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0),
        ] {
            failure_artifacts_db_config(handle, option, value)
        }
        for (category, value) in [
            (SQLITE_LIMIT_LENGTH, CInt(clamping: limits.valueBytes)),
            // Enough for queries over 2000 columns, the maximum of a table.
            (SQLITE_LIMIT_SQL_LENGTH, 4 << 20), (SQLITE_LIMIT_VDBE_OP, 1_000_000),
            // Matching a pattern with many wildcards takes long and can't be interrupted.
            (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
            (SQLITE_LIMIT_TRIGGER_DEPTH, 1), (SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            sqlite3_limit(handle, category, value)
        }
        if try trustsSchema() { failure_artifacts_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1) }
        setTimeLimit(limits.seconds)
        try execute("PRAGMA cell_size_check = 1")
        // Queries keep temporary data, such as that of endless recursion, in memory, which is limited, and not in
        // a file.
        if limits.seconds != nil { try execute("PRAGMA temp_store = memory") }
    }

    /// True if the schema has to be trusted so that it can use SQLite's own JSON functions, and can use nothing harmful.
    ///
    /// SQLite marks these functions wrongly before 3.41. A store that uses one in a generated column, an index, a CHECK
    /// constraint or a view then can't be read. In such a version, the schema is trusted if the connection has no
    /// functions but SQLite's own. Two of these would be harmful, `load_extension()` and `fts3_tokenizer()`, and both
    /// are switched off.
    private borrowing func trustsSchema() throws(SQLiteError) -> Bool {
        guard sqlite3_libversion_number() < 3_041_000 else { return false }
        let extensions: Set = [
            "match", "snippet", "offsets", "matchinfo", "optimize", "fts3_tokenizer", "fts5",
            "fts5_source_id", "bm25", "highlight", "rtreenode", "rtreedepth", "rtreecheck",
        ]
        var isJSONUnsafe = false
        // Unlike pragma_function_list, this pragma doesn't read the schema.
        let functions = try prepare("PRAGMA function_list")
        while try functions.step() {
            let isInnocuous = functions.integer(at: 5) & 0x20_0000 != 0
            if isInnocuous { continue }
            let (name, isBuiltIn) = (functions.text(at: 0), functions.integer(at: 1) != 0)
            guard isBuiltIn || extensions.contains(name) else { return false }
            if name.hasPrefix("json") { isJSONUnsafe = true }
        }
        return isJSONUnsafe
    }

    /// Limits SQLite's memory; nil lifts the limit.
    ///
    /// Only programs that do nothing but read stores may use it, because the limit applies to the whole library.
    package static func limitMemory(toBytes bytes: Int64?) {
        sqlite3_hard_heap_limit64(bytes ?? 0)
    }

    /// Interrupts statements once this process has used `seconds` of processor time from now on; nil lifts the
    /// limit.
    ///
    /// The statements fail with an error whose ``SQLiteError/isInterrupted`` is true. Waiting for a reader of the
    /// output does not count.
    private borrowing func setTimeLimit(_ seconds: Double?) {
        guard let seconds else { return setDeadline(nil) }
        let end = Instant.processorTime.advanced(bySeconds: seconds)
        // The time is stored in the context pointer itself, so no object has to outlive the call.
        let context = UnsafeMutableRawPointer(bitPattern: UInt(max(end.nanoseconds, 1)))
        sqlite3_progress_handler(
            handle, 1000,
            { context in
                let end = Instant(nanoseconds: UInt64(UInt(bitPattern: context)))
                return Instant.processorTime > end ? 1 : 0
            }, context)
    }
}
