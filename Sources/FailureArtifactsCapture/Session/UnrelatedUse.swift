internal import CFailureArtifactsCapture
internal import FailureArtifactsBundle

extension DiscoveredStore {
    /// Returns true if the store is known to have been used during a test only as it is used while no test runs.
    ///
    /// An earlier test has opened it, and left a thread that goes on. Each statement during the test must also have run
    /// while no test was running, on the same connection by the same thread. Work that a test hands to a pool's threads
    /// doesn't run at that time. If the log is incomplete, the result is false.
    func isUsedRegardless(of test: RunningTest) -> Bool {
        // Other connections of the test to the same store have ended, or are among these.
        !accesses.isEmpty && users.isEmpty && endedUse <= test.start.statement
            && accesses.allSatisfy { $0.connection.isUsedRegardless(of: test) }
    }
}

extension DiscoveredConnection {
    /// A way to use a connection: a statement, and the thread that runs it.
    private struct Way: Hashable {
        let thread: String
        let kind: LoggedStatement.Kind

        init(_ statement: LoggedStatement) {
            thread = statement.record.thread
            kind = .init(statement)
        }
    }

    fileprivate func isUsedRegardless(of test: RunningTest) -> Bool {
        let start = test.start.statement
        guard owner != nil, leftAt > 0, let use = lastUse else { return false }
        if use.order <= start { return true }
        guard !use.isOnThisThread, !isUnwatched, let log = recordedStatements,
            log.contains(where: { $0.lastOrder >= use.order })
        else { return false }
        // By the functions that have run them before, too: further callers would be the test's.
        let known = Set(log.lazy.filter { $0.record.order <= start }.map(\.record.stack))
        let ways = Set(
            log.lazy.filter { $0.record.test == nil && $0.lastOrder > leftAt }.map { Way($0) })
        let threadOfTest = String(test.thread, radix: 16)
        return log.allSatisfy { statement in
            guard statement.record.test != nil, statement.lastOrder > start else { return true }
            let stack = statement.record.stack
            return statement.record.thread != threadOfTest && ways.contains(Way(statement))
                && (stack == nil || known.contains(stack))
        }
    }
}

extension LoggedStatement {
    /// The number of its last execution.
    fileprivate var lastOrder: UInt64 { record.lastOrder ?? record.order }
}
