internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite
package import FailureArtifactsSystem

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

    /// Interrupts statements once this thread, which alone uses the connection, has used `seconds` of processor time from
    /// now on; nil lifts the limit.
    ///
    /// The statements fail with an error whose ``SQLiteError/isInterrupted`` is true. Waiting for a reader of the
    /// output does not count.
    private borrowing func setTimeLimit(_ seconds: Double?) {
        guard let seconds else { return setDeadline(nil) }
        let end = Instant.threadTime.advanced(bySeconds: seconds)
        // The time is stored in the context pointer itself, so no object has to outlive the call.
        let context = UnsafeMutableRawPointer(bitPattern: UInt(max(end.nanoseconds, 1)))
        sqlite3_progress_handler(
            handle, 1000,
            { context in
                let end = Instant(nanoseconds: UInt64(UInt(bitPattern: context)))
                return Instant.threadTime > end ? 1 : 0
            }, context)
    }
}

// Changes to private copies of untrusted stores.
extension Connection {
    /// The maximum growth of an untrusted store that is changed, in bytes.
    private static let growthLimit: Int64 = 256 << 20

    /// Opens a private copy of an untrusted store for changing it.
    ///
    /// Code in the file is not run, as in ``untrusted(_:isPrivate:limits:)``: no trigger, for example. Foreign keys are
    /// not enforced, other constraints are. The journal is in memory, so a process that ends in a transaction leaves a
    /// damaged file.
    package static func untrustedForWriting(
        _ path: String, limits: UntrustedLimits = .standard
    ) throws(SQLiteError) -> Connection {
        let connection = try Connection(path: path, mode: .readWrite)
        try connection.distrust(limits)
        try connection.execute(
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF")
        if limits.seconds != nil {
            // A statement of an untrusted log must not fill the disk.
            let pages = try connection.integer(of: "PRAGMA page_count")
            let size = try max(connection.integer(of: "PRAGMA page_size"), 512)
            try connection.execute("PRAGMA max_page_count = \(pages + growthLimit / size)")
        }
        return connection
    }

    /// Switches triggers and foreign keys on, which ``untrusted(_:isPrivate:limits:)`` switches off, or off again; also
    /// inside a transaction.
    ///
    /// `prepare` then fails for statements whose triggers or foreign keys name something that is missing. Temporary
    /// triggers run in any case.
    package borrowing func enforce(triggers: Bool = true, foreignKeys: Bool) {
        failure_artifacts_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, triggers ? 1 : 0)
        failure_artifacts_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, foreignKeys ? 1 : 0)
        // The actions of foreign keys count, too. The time limit ends endless recursion.
        sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 100)
    }
}

/// The tables and columns that a statement reads, as SQLite's authorizer reports them while it compiles the statement
/// (<https://www.sqlite.org/c3ref/set_authorizer.html>).
///
/// Names are folded. Tables of views and of triggers count like those that the statement names.
package struct StatementAccess: Sendable, Equatable {
    /// The columns that are read, by table; no columns if only the number of rows matters.
    package private(set) var reads: [String: Set<String>] = [:]
    package private(set) var functions: Set<String> = []

    /// Compiles a statement.
    ///
    /// - `connection`: a connection to a database with the statement's tables. It has no other authorizer.
    package init(of sql: String, on connection: borrowing Connection) throws(SQLiteError) {
        let recorder = Recorder()
        try withExtendedLifetime(recorder) { () throws(SQLiteError) in
            let context = Unmanaged.passUnretained(recorder).toOpaque()
            sqlite3_set_authorizer(
                connection.handle,
                { context, action, first, second, _, _ in
                    guard let context else { return SQLITE_OK }
                    let recorder = Unmanaged<Recorder>.fromOpaque(context).takeUnretainedValue()
                    recorder.add(
                        action, first.map { folded(String(cString: $0)) } ?? "",
                        second.map { folded(String(cString: $0)) } ?? "")
                    return SQLITE_OK
                }, context)
            defer { sqlite3_set_authorizer(connection.handle, nil, nil) }
            _ = try connection.prepare(sql)
        }
        self = recorder.access
    }

    private init() {}

    private final class Recorder {
        var access = StatementAccess()

        func add(_ action: CInt, _ first: String, _ second: String) {
            switch action {
            case SQLITE_READ:
                access.reads[first, default: []].formUnion(second.isEmpty ? [] : [second])
            case SQLITE_FUNCTION: access.functions.insert(second)
            default: break
            }
        }
    }
}

extension SQLiteError {
    /// True if another connection held a lock for longer than the busy timeout.
    package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }

    /// True if the file is at fault: it is damaged or not a database.
    package var isDatabaseDamaged: Bool {
        primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB
    }

    /// True if a value, a statement or all memory would have been larger than the limits allow.
    package var isTooMuch: Bool { primaryCode == SQLITE_TOOBIG || primaryCode == SQLITE_NOMEM }
}

extension Statement {
    /// Resets the statement to its start and keeps its values.
    package borrowing func reset() { sqlite3_reset(handle) }

    package var columnNames: [String] {
        (0..<sqlite3_column_count(handle)).map { index in
            sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
        }
    }

    package var columnCount: Int { Int(sqlite3_column_count(handle)) }

    package var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }

    /// True if running the statement does not change the database file.
    package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }
}

extension Instant {
    /// The processor time that this process has used.
    ///
    /// Don't compare it with ``now``.
    package static var processorTime: Instant { time(of: CLOCK_PROCESS_CPUTIME_ID) }

    /// The processor time that this thread has used.
    ///
    /// Don't compare it with ``now``, or on another thread.
    package static var threadTime: Instant { time(of: CLOCK_THREAD_CPUTIME_ID) }

    private static func time(of clock: clockid_t) -> Instant {
        var time = timespec()
        clock_gettime(clock, &time)
        return Instant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }
}
