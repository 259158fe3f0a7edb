internal import CFailureArtifactsFunctions
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// How much a store that may come from anybody can ask for.
package struct UntrustedLimits: Equatable, Sendable {
    /// The largest text or BLOB, and the largest row, in bytes.
    package var valueBytes: Int
    /// Seconds of this process's time on the processors, for all that one connection does; nil for no limit.
    package var seconds: Double?

    package init(valueBytes: Int, seconds: Double?) {
        self.valueBytes = valueBytes
        self.seconds = seconds
    }

    /// More than the stores of tests need.
    package static let standard = UntrustedLimits(valueBytes: 128 << 20, seconds: 60)
    /// For stores that are known to be good: SQLite's own limits.
    package static let none = UntrustedLimits(valueBytes: 1_000_000_000, seconds: nil)
}

extension Connection {
    /// Opens a store of which nothing is believed, for reading; every store of a bundle is opened by this.
    ///
    /// What the file brings along is not run, but for expressions of SQLite's own harmless functions
    /// (<https://www.sqlite.org/security.html>):
    ///
    /// - Defensive mode and `query_only`: nothing is written, neither by pragmas nor by way of shadow tables.
    /// - The schema is not trusted: its views, triggers, generated columns, CHECK constraints and indexes call no
    ///   function with side effects, and no virtual table that was not declared innocuous. SQLite's functions for
    ///   JSON are taken for what they are, also by versions that mark them wrongly.
    /// - No extension is loaded, no trigger is run, no tokenizer is taken by its address.
    /// - Sizes, nesting and time have limits.
    ///
    /// - Parameters:
    ///   - path: An existing database.
    ///   - isPrivate: Whether nobody else uses the file, and it needs no journal: it is read without locks.
    ///   - limits: How much it can ask for.
    /// - Returns: The connection.
    /// - Throws: The failure to open it; see ``init(path:mode:vfs:busyTimeout:)``.
    package static func untrusted(
        _ path: String, isPrivate: Bool = true, limits: UntrustedLimits = .standard
    ) throws(SQLiteError) -> Connection {
        let connection = try Connection(
            path: path, mode: isPrivate ? .immutable : .readOnly, busyTimeout: 1)
        try connection.distrust(limits)
        return connection
    }

    private borrowing func distrust(_ limits: UntrustedLimits) throws(SQLiteError) {
        for (option, value) in [
            (SQLITE_DBCONFIG_DEFENSIVE, CInt(1)), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
            (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0), (SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0),
            (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), (SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0),
        ] {
            failure_artifacts_db_config(handle, option, value)
        }
        for (category, value) in [
            (SQLITE_LIMIT_LENGTH, CInt(clamping: limits.valueBytes)),
            // Room for queries over the 2000 columns that a table has at most.
            (SQLITE_LIMIT_SQL_LENGTH, 4 << 20), (SQLITE_LIMIT_VDBE_OP, 1_000_000),
            // A pattern of many wildcards takes time that nothing interrupts.
            (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
            (SQLITE_LIMIT_TRIGGER_DEPTH, 1), (SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            sqlite3_limit(handle, category, value)
        }
        let code = failure_artifacts_trust_json(handle)
        guard code == SQLITE_OK else { throw SQLiteError("prepare the functions for JSON", code: code) }
        setTimeLimit(limits.seconds)
        // No pragma here reads the file: that it is no database is said by the first statement that does.
        try execute("PRAGMA query_only = 1; PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0")
        // What a query has to put aside, as endless recursion does, is memory, which has a limit, and no file.
        if limits.seconds != nil { try execute("PRAGMA temp_store = memory") }
    }

    /// Ends every statement that still runs when this process has used so many seconds of the processors from
    /// now on, with an error that ``SQLiteError/isInterrupted``; nil lifts the limit.
    ///
    /// Waiting for somebody to read the output does not count.
    package borrowing func setTimeLimit(_ seconds: Double?) {
        guard let seconds else { return setDeadline(nil) }
        let end = Instant.processorTime.advanced(bySeconds: seconds)
        // The moment travels in the context pointer itself, so that nothing has to outlive the call.
        let context = UnsafeMutableRawPointer(bitPattern: UInt(max(end.nanoseconds, 1)))
        sqlite3_progress_handler(
            handle, 1000,
            { context in
                let end = Instant(nanoseconds: UInt64(UInt(bitPattern: context)))
                return Instant.processorTime > end ? 1 : 0
            }, context)
    }
}
