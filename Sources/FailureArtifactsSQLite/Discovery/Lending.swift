internal import CFailureArtifactsDiscovery
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Why a connection of the application could not be used.
enum LendingRefusal: Error {
    /// It was closed meanwhile.
    case ended
    /// Another thread was inside a call on it until the deadline.
    case busy
    /// It was opened without a mutex, and another thread used it last: that thread may be inside it now.
    case belongsToOtherThread
}

/// A connection of the application, for the time it may be used.
struct LentHandle {
    let handle: OpaquePointer
    /// What keeps other threads from using it meanwhile.
    fileprivate let protection: Protection
    fileprivate let record: UnsafeMutablePointer<failure_artifacts_connection>

    fileprivate enum Protection {
        /// Its mutex.
        case mutex
        /// That this thread is the one that uses it.
        case thread
        /// That all threads slept when they were looked at.
        case rest
    }

    /// Whether statements may be run on it: where no other thread can come in between, and no trace of the
    /// application hears them.
    ///
    /// Else only those calls are made that touch nothing that compiling a statement does: the backup API.
    var mayRunStatements: Bool {
        if failure_artifacts_trace_is_replaced(record) { return false }
        switch protection {
        case .mutex: return true
        case .thread:
            // Where the application has handed the connection on, the next thread compiles a statement before
            // it starts, and nothing tells of that. Inside a transaction nobody hands it on.
            return sqlite3_get_autocommit(handle) == 0 || Threads.othersSleep()
        case .rest: return false
        }
    }
}

extension DiscoveredConnection {
    /// Uses a connection of the application, from this thread, if that is safe.
    ///
    /// A connection with a mutex is used with that mutex held. One without
    /// (`SQLITE_OPEN_NOMUTEX`, as GRDB opens its own) is used if this very thread ran its last statement:
    /// then the application either is inside a synchronous block on this thread, or has left it; unless other
    /// tests that run at the same time have the connection too. If the store has no file, so that there is no
    /// other way to it, it is also used while every other thread of the process sleeps and no statement is
    /// under way, as after the `await` of an access. Where several tests run, there is no such moment; then it
    /// is the thread that used a connection of this test's own last that has to sleep.
    ///
    /// - Parameters:
    ///   - deadline: Until when to wait for another thread to leave the connection.
    ///   - waitsForRest: Whether there is no other way to the store than this connection.
    ///   - body: Uses the handle. What it runs counts as no use of the connection by the application.
    /// - Returns: What `body` returns.
    /// - Throws: Why the connection can't be used.
    func lend<Result>(
        until deadline: Instant, waitsForRest: Bool, _ body: (LentHandle) -> Result
    ) throws(LendingRefusal) -> Result {
        failure_artifacts_discovery_pause()
        defer { failure_artifacts_discovery_resume() }
        let isPrivate = ConnectionRegistry.shared.isPrivate(self)
        // Made when a connection is found to have no mutex, and not where the registry is locked.
        var hold: ConnectionHold?
        var isPrepared = false
        while true {
            // Looking at the mutex, or at the record in place of one, needs the connection to exist, which only
            // the registry's lock grants.
            let attempt = ConnectionRegistry.shared.withOpenHandle(of: self) { handle in
                guard let mutex = sqlite3_db_mutex(handle) else {
                    // Another test's connection is not even held up.
                    guard isPrivate || waitsForRest else { return Attempt.noMutex }
                    guard isPrepared else { return .unprepared }
                    guard failure_artifacts_lending_begins(record) else { return .noMutex }
                    if hold?.take(handle) == true { return .lent }
                    failure_artifacts_lending_ends(record)
                    return .noMutex
                }
                return sqlite3_mutex_try(mutex) == SQLITE_OK ? .entered(mutex) : .busy
            }
            switch attempt {
            case nil: throw .ended
            case .unprepared:
                hold = ConnectionHold()
                isPrepared = true
            case .lent, .noMutex:
                if case .lent = attempt {
                    let result = useWithoutMutex(
                        isPrivate: isPrivate, mayBeAtRest: waitsForRest, body)
                    // While it is lent: whoever closes it would end it as well once it is given back.
                    hold?.release()
                    // Where the close was not told of, the connection has ended with the hold.
                    _ = ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
                        failure_artifacts_lending_ends(record)
                    }
                    if let result { return result }
                }
                // Threads come to rest, but a connection to a file need not be waited for.
                guard waitsForRest, Instant.now < deadline else { throw .belongsToOtherThread }
                sleep(microseconds: 500)
            case .entered(let mutex):
                defer { sqlite3_mutex_leave(mutex) }
                return body(LentHandle(handle: handle, protection: .mutex, record: record))
            case .busy:
                guard Instant.now < deadline else { throw .busy }
                sleep(microseconds: 200)
            }
        }
    }

    /// Uses a connection without a mutex, which does not end meanwhile, if that is safe at this moment.
    private func useWithoutMutex<Result>(
        isPrivate: Bool, mayBeAtRest: Bool, _ body: (LentHandle) -> Result
    ) -> Result? {
        // Another test may use a connection that both have, at this moment.
        let isOnThisThread = isPrivate && lastUse?.isOnThisThread == true
        guard isOnThisThread || (mayBeAtRest && isAtRest(isPrivate: isPrivate)) else { return nil }
        return body(
            LentHandle(handle: handle, protection: isOnThisThread ? .thread : .rest, record: record))
    }

    /// Whether nobody is using the connection: over a while the threads that might sleep, none has run a
    /// statement on it, and none has gone to sleep inside one.
    private func isAtRest(isPrivate: Bool) -> Bool {
        let isAmongOthers = isPrivate && ConnectionRegistry.shared.runsSeveralTests
        let order = lastUse?.order
        for _ in 0..<3 {
            let sleeps =
                isAmongOthers
                ? Threads.sleeps(number: Int(failure_artifacts_last_thread_number(record)))
                : Threads.othersSleep()
            guard sleeps else { return false }
            sleep(microseconds: 300)
        }
        guard lastUse?.order == order else { return false }
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            if sqlite3_stmt_busy(current) != 0 { return false }
            statement = sqlite3_next_stmt(handle, current)
        }
        return true
    }

    private enum Attempt {
        case lent, noMutex, unprepared, busy
        case entered(OpaquePointer)
    }

    /// Whether the last call that the application made on the connection failed, so that it may be about to
    /// ask for the error.
    var hasError: Bool {
        let code = sqlite3_errcode(handle)
        // After success SQLITE_ROW and SQLITE_DONE stand there too.
        return code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE
    }

    /// Runs statements on a lent connection and gives it back with the error state it had.
    ///
    /// SQLite tells an application's error log of the call that restores an error, so that this is only for
    /// what can't be left out.
    ///
    /// - Parameter body: Uses the handle.
    /// - Returns: What `body` returns.
    func withErrorStateKept<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        guard hasError else { return body(handle) }
        let code = sqlite3_extended_errcode(handle)
        let message = String(cString: sqlite3_errmsg(handle))
        let result = body(handle)
        message.withCString { failure_artifacts_restore_error(record, code, $0) }
        return result
    }

    /// Has the cache of a lent connection hold all of a database that it writes to.
    ///
    /// With a cache that is too small, reading has SQLite write pages of the open transaction to the file, for
    /// which it locks everybody out (<https://www.sqlite.org/pragma.html#pragma_cache_spill>, a setting that does
    /// not work inside a transaction).
    ///
    /// - Parameters:
    ///   - schema: The database's name.
    ///   - handle: The connection.
    ///   - body: Reads it.
    /// - Returns: What `body` returns.
    func withRoom<Result>(
        for schema: String, on handle: OpaquePointer, _ body: () -> Result
    ) -> Result {
        let schema = quotedIdentifier(schema)
        func number(_ pragma: String) -> Int64? {
            text(of: "PRAGMA \(schema).\(pragma)", on: handle).flatMap { Int64($0) }
        }
        guard let size = number("cache_size"), let pages = number("page_count"),
            let pageSize = number("page_size"), pageSize > 0
        else { return body() }
        // A negative size is one in KiB. Pages that have changed may fill nine tenths of the cache.
        let room = size < 0 ? -size * 1024 / pageSize : size
        let need = pages + pages / 4 + 100
        guard room < need else { return body() }
        _ = text(of: "PRAGMA \(schema).cache_size = \(need)", on: handle)
        defer { _ = text(of: "PRAGMA \(schema).cache_size = \(size)", on: handle) }
        return body()
    }

    /// The first value a statement gives on a lent connection, as text; nil where it fails.
    func text(of sql: String, on handle: OpaquePointer) -> String? {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let text = sqlite3_column_text(statement, 0)
        else { return nil }
        return String(cString: text)
    }
}
