internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite

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

    /// Enables triggers and foreign keys, which ``untrusted(_:isPrivate:limits:)`` switches off.
    ///
    /// `prepare` then fails for statements whose triggers or foreign keys name something that is missing.
    ///
    /// - `foreignKeys`: true to enforce foreign keys.
    package borrowing func enableTriggers(foreignKeys: Bool = true) throws(SQLiteError) {
        failure_artifacts_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
        // The actions of foreign keys count, too. The time limit ends endless recursion.
        sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 100)
        try execute("PRAGMA foreign_keys = \(foreignKeys ? "ON" : "OFF")")
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

/// A number of steps of SQLite's virtual machine that connections may use together; unlike a time limit, it has the
/// same effect on every machine.
package final class StepBudget {
    /// The number of steps between two calls of the progress handler.
    private static let interval: CInt = 1000

    private let left: UnsafeMutablePointer<Int>

    package init(steps: Int) {
        left = .allocate(capacity: 1)
        left.initialize(to: steps)
    }

    deinit {
        left.deallocate()
    }

    package var isUsedUp: Bool { left.pointee <= 0 }

    /// Interrupts the connection's statements once no steps are left; they fail with an error whose
    /// ``SQLiteError/isInterrupted`` is true.
    ///
    /// - `connection`: a connection that is closed before this object ends. It has no other limit of time.
    package func limit(_ connection: borrowing Connection) {
        sqlite3_progress_handler(
            connection.handle, Self.interval,
            { context in
                guard let left = context?.assumingMemoryBound(to: Int.self) else { return 0 }
                left.pointee -= Int(StepBudget.interval)
                return left.pointee <= 0 ? 1 : 0
            }, left)
    }
}

/// Copies whole databases between files and open connections.
package enum DatabaseCopy {
    /// Copies a file's content, including the committed content of its journal, into a new file.
    ///
    /// - `target`: the path of a file that does not exist. The copy needs no journal.
    package static func copy(file source: String, toNewFile target: String) throws(SQLiteError) {
        let input = try Connection(path: source, mode: .readWrite, busyTimeout: 5)
        let output = try Connection(path: target, mode: .create)
        try run(from: input.handle, to: output.handle)
        try output.execute("PRAGMA journal_mode = DELETE")
    }

    /// Copies the content that a connection sees into a new file.
    ///
    /// - `target`: the path of a file that does not exist. The copy needs no journal.
    package static func copy(
        connection source: OpaquePointer, toNewFile target: String
    ) throws(SQLiteError) {
        let output = try Connection(path: target, mode: .create)
        try run(from: source, to: output.handle)
        try output.execute("PRAGMA journal_mode = DELETE")
    }

    /// Replaces the content that a connection sees with a file's content.
    package static func copy(file source: String, to target: OpaquePointer) throws(SQLiteError) {
        let input = try Connection(path: source, mode: .readWrite, busyTimeout: 5)
        try run(from: input.handle, to: target)
    }

    private static func run(from source: OpaquePointer, to target: OpaquePointer) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(target, "main", source, "main") else {
            throw SQLiteError("copy a database", handle: target)
        }
        let result = sqlite3_backup_step(backup, -1)
        let end = sqlite3_backup_finish(backup)
        guard result == SQLITE_DONE, end == SQLITE_OK else {
            throw SQLiteError("copy a database", code: end == SQLITE_OK ? result : end)
        }
    }
}
