internal import CFailureArtifactsShared
internal import CFailureArtifactsSQLite
package import FailureArtifactsSystem

/// A database connection of this package, which discovery does not see.
///
/// It is opened without a mutex: use it on one thread at a time. It is closed when it goes out of scope.
package struct Connection: ~Copyable {
    /// The access mode of a connection.
    package enum Mode: Sendable {
        /// An existing database, for reading; its journal is honoured.
        case readOnly
        /// An existing file that nothing else uses and that needs no journal, for reading. No lock is taken, and
        /// no file is created beside it.
        case immutable
        /// An existing database, for reading and writing.
        case readWrite
        /// A database that may have to be created.
        case create
    }

    package let handle: OpaquePointer

    /// Opens a database.
    ///
    /// - `path`: the path of the file; it is never read as a URI, whatever characters it contains.
    /// - `vfs`: the name of the VFS that reads it; nil for the system's own, whatever the application's default
    ///   is.
    /// - `busyTimeout`: the maximum time to wait for a lock that another connection holds, in seconds.
    package init(
        path: String, mode: Mode, vfs: String? = nil, busyTimeout: Double = 0
    ) throws(SQLiteError) {
        let absolute = Path.absolute(path)
        let (name, access) =
            switch mode {
            case .readOnly:
                (Self.uri(path: absolute, isImmutable: false), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            case .immutable:
                (Self.uri(path: absolute, isImmutable: true), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            case .readWrite: (absolute, SQLITE_OPEN_READWRITE)
            case .create: (absolute, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
            }
        var handle: OpaquePointer?
        let code = failure_artifacts_open(
            name, &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
        guard let opened = handle, code == SQLITE_OK else {
            let error = SQLiteError("open '\(path)'", handle: handle)
            // "Whether or not an error occurs when it is opened, resources associated with the database
            // connection handle should be released by passing it to sqlite3_close()."
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = opened
        sqlite3_busy_timeout(opened, CInt(min(max(busyTimeout, 0) * 1000, 86_400_000)))
    }

    deinit {
        sqlite3_close_v2(handle)
    }

    /// Returns a `file:` URI that names exactly `path`, for reading (<https://www.sqlite.org/uri.html>).
    ///
    /// An immutable file is read without locks and without its journal.
    package static func uri(path: String, isImmutable: Bool) -> String {
        let escaped = path.unicodeScalars.map { scalar in
            switch scalar {
            case "%": "%25"
            case "?": "%3F"
            case "#": "%23"
            default: String(scalar)
            }
        }
        return "file:\(escaped.joined())?" + (isImmutable ? "immutable=1" : "mode=ro")
    }

    /// Runs one or more statements and discards their rows.
    package borrowing func execute(_ sql: String) throws(SQLiteError) {
        var message: UnsafeMutablePointer<CChar>?
        let code = sqlite3_exec(handle, sql, nil, nil, &message)
        defer { sqlite3_free(message) }
        guard code == SQLITE_OK else {
            throw SQLiteError(
                "run '\(sql)'", code: sqlite3_extended_errcode(handle),
                message: message.map { String(cString: $0) })
        }
    }

    /// Compiles one statement.
    package borrowing func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(sql, on: handle)
    }

    /// Returns the value of the first column of a single row; null if there is no row.
    package borrowing func value(of sql: String) throws(SQLiteError) -> Value {
        let statement = try prepare(sql)
        return try statement.step() ? statement.value(at: 0) : .null
    }

    /// Returns the single integer of a single row, or 0 if the row is missing.
    package borrowing func integer(of sql: String) throws(SQLiteError) -> Int64 {
        guard case .integer(let number) = try value(of: sql) else { return 0 }
        return number
    }

    /// Returns the single text of a single row, or an empty string for any other value.
    package borrowing func text(of sql: String) throws(SQLiteError) -> String {
        if case .text(let text) = try value(of: sql) { return text }
        return ""
    }

    /// Interrupts statements that still run when `deadline` has passed; nil lifts the limit.
    ///
    /// They fail with an error whose ``SQLiteError/isInterrupted`` is true.
    package borrowing func setDeadline(_ deadline: Instant?) {
        guard let deadline else {
            sqlite3_progress_handler(handle, 0, nil, nil)
            return
        }
        // The time is stored in the context pointer itself, so no object has to outlive the call.
        let context = UnsafeMutableRawPointer(bitPattern: UInt(max(deadline.nanoseconds, 1)))
        // Seldom enough to cost little, and often enough where each row takes long, such as with a slow function.
        sqlite3_progress_handler(
            handle, 100,
            { context in
                Instant.now > Instant(nanoseconds: UInt64(UInt(bitPattern: context))) ? 1 : 0
            }, context)
    }
}

extension Connection {
    /// Runs `body` with a limit of SQLite's memory that is higher by a number of bytes, if the application has set one.
    ///
    /// The limit applies to the whole process. The old one is restored, unless another one was set meanwhile.
    package static func exceedingMemoryLimit<Result>(by bytes: Int64, _ body: () -> Result) -> Result {
        let isRaised = raisedLimit.withLock { raised in
            let limit = sqlite3_hard_heap_limit64(-1)
            guard limit > 0 else { return false }
            raised = min(limit, Int64.max - bytes) + bytes
            sqlite3_hard_heap_limit64(raised)
            return true
        }
        defer {
            if isRaised {
                raisedLimit.withLock { raised in
                    // The application may have set another limit meanwhile.
                    guard sqlite3_hard_heap_limit64(-1) == raised else { return }
                    raised -= bytes
                    sqlite3_hard_heap_limit64(raised)
                }
            }
        }
        return body()
    }

    /// The limit that ``exceedingMemoryLimit(by:_:)`` set last, in bytes.
    private static let raisedLimit = Lock<Int64>(0)
}
