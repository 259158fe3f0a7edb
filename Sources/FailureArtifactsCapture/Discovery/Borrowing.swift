internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The reason why a connection of the application could not be used.
enum BorrowingRefusal: Error, CustomStringConvertible {
    /// It was closed meanwhile.
    case ended
    /// Another thread was inside a call on it until the deadline.
    case busy
    /// It was opened without a mutex, and another thread used it last: that thread may be inside it now.
    case belongsToOtherThread

    /// A full sentence.
    var description: String {
        switch self {
        case .ended: "The connection was closed while the capture was made."
        case .busy: "Another thread was using the connection for longer than the time limit."
        case .belongsToOtherThread:
            "The connection has no mutex and was used last by another thread, "
                + "so that it cannot be used safely from the thread of the failure."
        }
    }
}

/// A connection of the application, for the time it may be used.
struct BorrowedHandle {
    let handle: OpaquePointer
    let record: UnsafeMutablePointer<failure_artifacts_connection>

    /// The ways to read one of its databases that disturb nothing, by the table in reading.h.
    func permittedReading(of schema: String) -> failure_artifacts_reading {
        failure_artifacts_permitted_reading(record, schema)
    }

    /// The transaction that the connection has open in a database, by `sqlite3_txn_state`.
    func transaction(in schema: String) -> TransactionState {
        switch sqlite3_txn_state(handle, schema) {
        case SQLITE_TXN_WRITE: .write
        case SQLITE_TXN_READ: .read
        default: .none
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
        until deadline: Instant, waitsForRest: Bool, _ body: (BorrowedHandle) -> Result
    ) throws(BorrowingRefusal) -> Result {
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
                    // In a destructor of the application's, this thread would wait for itself.
                    if failure_artifacts_is_closing(record) { return Attempt.closing }
                    // Another test's connection is not even held up.
                    guard isPrivate || waitsForRest else { return Attempt.noMutex }
                    guard isPrepared else { return .unprepared }
                    guard failure_artifacts_borrowing_begins(record) else { return .noMutex }
                    if hold?.take(record) == true { return .borrowed }
                    failure_artifacts_borrowing_ends(record)
                    return .noMutex
                }
                return sqlite3_mutex_try(mutex) == SQLITE_OK ? .entered(mutex) : .busy
            }
            switch attempt {
            case nil, .closing: throw .ended
            case .unprepared:
                hold = ConnectionHold()
                isPrepared = true
            case .borrowed, .noMutex:
                if case .borrowed = attempt {
                    let result = useWithoutMutex(
                        isPrivate: isPrivate, mayBeAtRest: waitsForRest, body)
                    // While it is borrowed: whoever closes it would end it as well once it is given back.
                    hold?.release()
                    // Where the close was not told of, the connection has ended with the hold.
                    _ = ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
                        failure_artifacts_borrowing_ends(record)
                    }
                    if let result { return result }
                }
                // Threads come to rest, but a connection to a file need not be waited for.
                guard waitsForRest, Instant.now < deadline else { throw .belongsToOtherThread }
                sleep(microseconds: 500)
            case .entered(let mutex):
                defer { sqlite3_mutex_leave(mutex) }
                // This thread may be inside the close, in a destructor of the application's.
                if failure_artifacts_is_closing(record) { throw .ended }
                return body(BorrowedHandle(handle: handle, record: record))
            case .busy:
                guard Instant.now < deadline else { throw .busy }
                sleep(microseconds: 200)
            }
        }
    }

    /// Uses a connection without a mutex, which does not end meanwhile, if that is safe at this moment.
    private func useWithoutMutex<Result>(
        isPrivate: Bool, mayBeAtRest: Bool, _ body: (BorrowedHandle) -> Result
    ) -> Result? {
        // Another test may use a connection that both have, at this moment.
        let isOnThisThread = isPrivate && lastUse?.isOnThisThread == true
        guard isOnThisThread || (mayBeAtRest && isAtRest(isPrivate: isPrivate)) else { return nil }
        return body(BorrowedHandle(handle: handle, record: record))
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
        return !failure_artifacts_has_pending_statement(handle)
    }

    private enum Attempt {
        case borrowed, noMutex, unprepared, busy, closing
        case entered(OpaquePointer)
    }
}
