internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

extension DiscoveredConnection {
    /// The statements in its log as they were recorded, in no order; nil if a thread uses the connection all the time,
    /// and if its copy of SQLite doesn't report all statements.
    var recordedStatements: [LoggedStatement]? {
        let log = CollectedLog()
        guard failure_artifacts_statements_of(library) == failure_artifacts_records_all, read(log)
        else { return nil }
        return log.chunks.flatMap(\.statements)
    }

    /// Reads the log of an open connection; returns false if a thread uses the connection all the time.
    fileprivate func read(_ log: CollectedLog) -> Bool {
        let context = Unmanaged.passUnretained(log).toOpaque()
        // With the connection borrowed, the number of changes by its last statement is known too.
        let isRead = try? lend(until: .now, waitsForRest: false) { _ in
            failure_artifacts_log_read(record.pointee.log, handle, context, CollectedLog.read)
        }
        if isRead == true { return true }
        for _ in 0..<20 {
            let isDone = ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
                guard failure_artifacts_borrowing_begins(record) else { return false }
                defer { failure_artifacts_borrowing_ends(record) }
                return failure_artifacts_log_read(record.pointee.log, nil, context, CollectedLog.read)
            }
            if isDone != false { return true }
            sleep(microseconds: 200)
        }
        return false
    }
}

extension DiscoveredStore {
    /// The last statements of the connections that have or had the store.
    struct Statements: Sendable {
        /// The statements, oldest first.
        var statements: [LoggedStatement] = []
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
            let collected = CollectedLog()
            let isRead = connection.read(collected)
            var log = collected.statements(keeping: history)
            // The connection's later changes may come from statements that are not known.
            let isUnwatched = connection.isUnwatched && recorded == failure_artifacts_records_all
            if isUnwatched, let last = log.indices.last { log[last].record.changes = nil }
            statements += log
            isReplaced = isReplaced || isUnwatched
            isCut = isCut || !isRead
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
