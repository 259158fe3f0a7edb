internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The reason why a connection of the application could not be used.
enum BorrowingRefusal: Error, CustomStringConvertible {
    /// The connection was closed in the meantime.
    case ended
    /// Another thread was inside a call on it until the deadline.
    case busy
    /// It was opened without a mutex, and another thread used it last.
    ///
    /// That thread may be inside it now.
    case belongsToOtherThread
    /// It was opened without a mutex, by another copy of SQLite or with a trace of the application.
    ///
    /// Nothing keeps another thread from using or ending it in the meantime.
    case isUnprotected

    /// The reason as a full sentence.
    var description: String {
        switch self {
        case .ended: "The connection was closed while the capture was made."
        case .busy: "Another thread was using the connection for longer than the time limit."
        case .belongsToOtherThread:
            "The connection has no mutex and was used last by another thread, "
                + "so that it cannot be used safely from the thread of the failure."
        case .isUnprotected:
            "The connection has no mutex, and belongs to another copy of SQLite or has a trace of the application, "
                + "so that it cannot be used safely."
        }
    }
}

extension DiscoveredConnection {
    /// Uses a connection of the application from this thread, if that is safe.
    ///
    /// A connection with a mutex is used with that mutex held.
    ///
    /// A connection without a mutex (`SQLITE_OPEN_NOMUTEX`, as GRDB opens its own) is used if this thread ran its last
    /// statement. Then the application is inside a synchronous block on this thread, or has left it. The connection is
    /// not used in this way if other tests that run at the same time have it too.
    ///
    /// If the store has no file, there is no other way to read it. Then the connection is also used while every other
    /// thread of the process sleeps and no statement is pending. This is the case after the `await` of an access. If
    /// several tests run, all other threads never sleep at the same time. Then it is enough that one thread sleeps: the
    /// one that last used this test's own connection.
    ///
    /// - `waitsForRest`: true if there is no other way to the store than this connection.
    /// - `body`: receives the handle. Statements that it runs don't count as uses by the application.
    func lend<Result>(
        until deadline: Instant, waitsForRest: Bool, _ body: (BorrowedHandle) -> Result
    ) throws(BorrowingRefusal) -> Result {
        failure_artifacts_discovery_pause()
        defer { failure_artifacts_discovery_resume() }
        let isPrivate = ConnectionRegistry.shared.isPrivate(self)
        while true {
            // The connection must exist while its mutex or its record is inspected. Only the registry's lock ensures
            // that.
            let attempt = ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
                switch failure_artifacts_enter(record) {
                case failure_artifacts_has_entered: return Attempt.entered
                case failure_artifacts_is_busy: return .busy
                default:
                    guard prefix == nil else { return .unprotected }
                    // In a destructor of the application, this thread would wait for itself.
                    if failure_artifacts_is_closing(record) { return .closing }
                    // Nothing would report that another thread closes it.
                    if failure_artifacts_is_unwatched(record) { return .unprotected }
                    // A connection that another test may use is not even held up, unless there is no other way.
                    guard isPrivate || waitsForRest else { return .noMutex }
                    return failure_artifacts_borrowing_begins(record) ? .borrowed : .noMutex
                }
            }
            switch attempt {
            case nil, .closing: throw .ended
            case .unprotected: throw .isUnprotected
            case .borrowed, .noMutex:
                if case .borrowed = attempt {
                    let result = useWithoutMutex(
                        isPrivate: isPrivate, mayBeAtRest: waitsForRest, body)
                    // A thread that closes the connection doesn't wait forever.
                    _ = ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
                        failure_artifacts_borrowing_ends(record)
                    }
                    if let result { return result }
                }
                // Threads come to rest eventually, but a connection to a file isn't worth the wait.
                guard waitsForRest, Instant.now < deadline else { throw .belongsToOtherThread }
                sleep(microseconds: 500)
            case .entered:
                defer { failure_artifacts_leave(record) }
                // This thread may be inside the close, in a destructor of the application.
                if failure_artifacts_is_closing(record) { throw .ended }
                return body(BorrowedHandle(handle: handle, record: record, hasMutex: true))
            case .busy:
                guard Instant.now < deadline else { throw .busy }
                sleep(microseconds: 200)
            }
        }
    }

    /// Uses a connection without a mutex, if that is safe at this time; returns nil if it isn't.
    ///
    /// The caller must ensure that the connection does not end in the meantime.
    private func useWithoutMutex<Result>(
        isPrivate: Bool, mayBeAtRest: Bool, _ body: (BorrowedHandle) -> Result
    ) -> Result? {
        // Another test that shares the connection may be using it at this time.
        let isOnThisThread = isPrivate && lastUse?.isOnThisThread == true
        guard isOnThisThread || (mayBeAtRest && isAtRest(isPrivate: isPrivate)) else { return nil }
        return body(BorrowedHandle(handle: handle, record: record, hasMutex: false))
    }

    /// Returns true if no thread is using the connection.
    ///
    /// The threads that could use it must be asleep in several checks over a short period. In this period, no statement
    /// may start on the connection. At its end, none may be pending.
    private func isAtRest(isPrivate: Bool) -> Bool {
        let isAmongOthers = isPrivate && ConnectionRegistry.shared.runsSeveralTests
        let order = lastUse?.order
        for _ in 0..<3 {
            let sleeps =
                isAmongOthers
                ? Threads.sleeps(number: Int(failure_artifacts_last_thread(record)))
                : Threads.othersSleep()
            guard sleeps else { return false }
            sleep(microseconds: 300)
        }
        guard lastUse?.order == order else { return false }
        return !failure_artifacts_has_pending_statement(record)
    }

    private enum Attempt {
        case borrowed, noMutex, unprotected, busy, closing, entered
    }
}
