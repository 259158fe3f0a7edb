internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

extension DiscoveredStore {
    /// The last statements of the connections that have or had the store.
    struct Statements: Sendable {
        /// The statements, oldest first.
        var statements: [RecordedStatement] = []
        /// True if the last statements were not reported, because the application has replaced the trace.
        var isReplaced = false
        /// The prefix of the copy of SQLite that has opened the store, if its statements can't be recorded; otherwise nil.
        var unrecordedPrefix: String?
        /// True if statements are missing because too many connections have ended, or one is in use all the time.
        var isCut = false
        var lacksOlder = false

        /// Adds the statements of an open connection, unless a thread uses it all the time.
        fileprivate mutating func add(_ connection: DiscoveredConnection, keeping history: LoggedHistory)
        {
            let recorded = failure_artifacts_statements_of(connection.library)
            if recorded == failure_artifacts_records_none { unrecordedPrefix = connection.prefix }
            let record = connection.record
            let collected = CollectedLog()
            let context = Unmanaged.passUnretained(collected).toOpaque()
            var isUnwatched = false
            // With the connection borrowed, the number of changes by its last statement is known too.
            let isRead = try? connection.lend(until: .now, waitsForRest: false) { _ in
                isUnwatched = failure_artifacts_is_unwatched(record)
                return failure_artifacts_log_read(
                    record.pointee.log, connection.handle, context, CollectedLog.read)
            }
            var isUnread = isRead != true
            for _ in 0..<20 where isUnread {
                let isDone = ConnectionRegistry.shared.withOpenHandle(of: connection) { _ in
                    guard failure_artifacts_borrowing_begins(record) else { return false }
                    isUnwatched = failure_artifacts_is_unwatched(record)
                    defer { failure_artifacts_borrowing_ends(record) }
                    return failure_artifacts_log_read(
                        record.pointee.log, nil, context, CollectedLog.read)
                }
                isUnread = isDone == false
                if isUnread { sleep(microseconds: 200) }
            }
            var log = collected.statements(keeping: history)
            // The connection's later changes may come from statements that are not known.
            isUnwatched = isUnwatched && recorded == failure_artifacts_records_all
            if isUnwatched, let last = log.indices.last { log[last].record.changes = nil }
            statements += log
            isReplaced = isReplaced || isUnwatched
            isCut = isCut || isUnread
        }
    }

    /// Returns the known statements of the store; to be called on the test's thread.
    ///
    /// Older ones are counted, except for those that belong to the store's history.
    func statements(keeping history: LoggedHistory) -> Statements {
        var seen: Set<UInt64> = []
        var result = Statements(
            statements: endedLogs.statements(keeping: history), isCut: endedLogs.isCut,
            lacksOlder: endedLogs.lacksOlder)
        for access in accesses where seen.insert(access.connection.serial).inserted {
            result.add(access.connection, keeping: history)
        }
        result.statements = result.statements.merged()
        return result
    }
}
