internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The log of a connection, which C passes chunk by chunk.
private final class Collection {
    private(set) var chunks: [RecordedChunk] = []
    private var state: RecordedState?

    func statements(keeping history: LoggedHistory) -> [RecordedStatement] {
        chunks.statements(before: state, keeping: history)
    }

    static let read: failure_artifacts_log_reader = { context, chunk, used, end in
        guard let context, let chunk else { return }
        let collection = Unmanaged<Collection>.fromOpaque(context).takeUnretainedValue()
        let bytes = UnsafeRawBufferPointer(start: chunk, count: used)
        if let chunk = RecordedChunk(bytes) { collection.chunks.append(chunk) }
        if let end { collection.state = RecordedState(end.pointee) }
    }
}

extension RecordedState {
    /// Nil if the state is not known.
    fileprivate init?(_ end: failure_artifacts_log_end) {
        guard end.changes >= 0 else { return nil }
        self.init(
            totalChanges: UInt32(truncatingIfNeeded: end.changes),
            ownChanges: UInt32(truncatingIfNeeded: end.own_changes), written: end.written,
            spilled: end.spilled, version: end.version, isInTransaction: end.is_in_transaction,
            failure: end.message.map { .init(code: end.code, message: String(cString: $0)) })
    }
}

/// The statements of a connection that has ended.
final class KeptLog: Sendable {
    private nonisolated(unsafe) let log: OpaquePointer

    /// Takes the log from a connection that is being closed; nil if it has none.
    init?(of record: UnsafeMutablePointer<failure_artifacts_connection>) {
        guard let log = failure_artifacts_log_take(record) else { return nil }
        self.log = log
    }

    /// Shares a log with its other owner.
    init(sharing log: OpaquePointer) {
        failure_artifacts_log_retain(log)
        self.log = log
    }

    deinit { failure_artifacts_log_release(log) }

    func statements(keeping history: LoggedHistory) -> [RecordedStatement] {
        let collection = Collection()
        failure_artifacts_log_read(
            log, nil, Unmanaged.passUnretained(collection).toOpaque(), Collection.read)
        return collection.statements(keeping: history)
    }
}

/// The statements of ended connections to one store.
struct KeptLogs: Sendable {
    /// The maximum number of connections.
    ///
    /// If there are more, the last ones are kept.
    static let maximumCount = 16

    private var logs: [KeptLog] = []
    /// True if there were more connections.
    private(set) var isCut = false
    /// True if logs are missing from before the store was closed and opened again.
    private(set) var lacksOlder = false

    init(_ log: KeptLog? = nil) { add(log) }

    mutating func add(_ log: KeptLog?) {
        guard let log else { return }
        if logs.count == Self.maximumCount {
            logs.removeFirst()
            isCut = true
        }
        logs.append(log)
    }

    /// Adds the logs from before the store was closed and opened again, as far as there is space.
    ///
    /// If `earlier` is nil, they are missing.
    mutating func addEarlier(_ earlier: KeptLogs?) {
        let kept = earlier?.logs.suffix(Self.maximumCount - logs.count) ?? []
        lacksOlder = earlier.map { $0.lacksOlder || kept.count < $0.logs.count } ?? true
        isCut = isCut || earlier?.isCut == true
        logs = kept + logs
    }

    func statements(keeping history: LoggedHistory) -> [RecordedStatement] {
        logs.flatMap { $0.statements(keeping: history) }
    }
}

extension DiscoveredConnection {
    /// The statements in its log as they were recorded, in no order; nil if a thread uses the connection all the time,
    /// and if its copy of SQLite doesn't report all statements.
    var recordedStatements: [RecordedStatement]? {
        let collection = Collection()
        guard failure_artifacts_statements_of(library) == failure_artifacts_records_all, read(collection)
        else { return nil }
        return collection.chunks.flatMap(\.statements)
    }

    /// Reads the log of an open connection; returns false if a thread uses the connection all the time.
    fileprivate func read(_ collection: Collection) -> Bool {
        let context = Unmanaged.passUnretained(collection).toOpaque()
        // With the connection borrowed, the number of changes by its last statement is known too.
        let isRead = try? lend(until: .now, waitsForRest: false) { _ in
            failure_artifacts_log_read(record.pointee.log, handle, context, Collection.read)
        }
        if isRead == true { return true }
        for _ in 0..<20 {
            let isDone = ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
                guard failure_artifacts_borrowing_begins(record) else { return false }
                defer { failure_artifacts_borrowing_ends(record) }
                return failure_artifacts_log_read(record.pointee.log, nil, context, Collection.read)
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
            let collection = Collection()
            let isRead = connection.read(collection)
            var log = collection.statements(keeping: history)
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
