internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// A statement that a connection has run.
struct LoggedStatement: Sendable {
    /// An error of SQLite.
    struct Failure: Sendable {
        /// The extended code.
        let code: Int32
        let message: String
    }

    /// Grows from statement to statement, over all connections of the process.
    let order: UInt64
    /// Which connection ran it; counts the process's opens, from 1.
    let connection: UInt64
    /// When it started, to some milliseconds.
    let date: Timestamp
    /// The system's handle of the thread that ran it.
    let thread: UInt
    let sql: String
    /// Whether ``sql`` is only the start of it.
    let isCut: Bool
    /// Rows inserted, updated and deleted; nil where that is not known.
    fileprivate(set) var changes: Int?
    /// Why it failed; nil where it did not, as far as that is known.
    let failure: Failure?
    /// In seconds; nil where it was not recorded.
    let duration: Double?

    fileprivate init(_ statement: failure_artifacts_logged_statement, of connection: UInt64) {
        order = statement.order
        self.connection = connection
        date = Timestamp(
            seconds: statement.time / 1000, milliseconds: Int32(statement.time % 1000))
        thread = UInt(statement.thread)
        let text = UnsafeRawBufferPointer(start: statement.text, count: statement.length)
        sql = String(decoding: text, as: UTF8.self)
        isCut = statement.is_cut
        changes = statement.changes < 0 ? nil : Int(statement.changes)
        failure =
            statement.error_code == SQLITE_OK
            ? nil
            : Failure(
                code: statement.error_code,
                message: statement.error_message.map { String(cString: $0) } ?? "")
        duration = statement.duration < 0 ? nil : Double(statement.duration) / 1_000_000_000
    }
}

/// Collects what C hands out one by one.
private final class Collection {
    let connection: UInt64
    var statements: [LoggedStatement] = []

    init(of connection: UInt64) { self.connection = connection }

    static let read: failure_artifacts_log_reader = { context, statement in
        guard let context, let statement else { return }
        let collection = Unmanaged<Collection>.fromOpaque(context).takeUnretainedValue()
        collection.statements.append(
            LoggedStatement(statement.pointee, of: collection.connection))
    }
}

/// The statements of a connection that has ended.
final class KeptLog: Sendable {
    private nonisolated(unsafe) let log: OpaquePointer
    private let connection: UInt64

    /// Takes the log from a connection that is ending; nil where it has none.
    init?(of record: UnsafeMutablePointer<failure_artifacts_connection>) {
        guard let log = failure_artifacts_log_take(record) else { return nil }
        self.log = log
        connection = record.pointee.serial
    }

    /// Reads a log that somebody else has too.
    init(sharing log: OpaquePointer, of connection: UInt64) {
        failure_artifacts_log_retain(log)
        self.log = log
        self.connection = connection
    }

    deinit { failure_artifacts_log_release(log) }

    var statements: [LoggedStatement] {
        let collection = Collection(of: connection)
        failure_artifacts_log_read_taken(
            log, Unmanaged.passUnretained(collection).toOpaque(), Collection.read)
        return collection.statements
    }
}

/// The statements of connections to one store that have ended.
struct KeptLogs: Sendable {
    /// Of more connections the last ones matter.
    static let maximumCount = 16

    private var logs: [KeptLog] = []
    /// Whether there were more.
    private(set) var isCut = false

    init(_ log: KeptLog? = nil) { add(log) }

    mutating func add(_ log: KeptLog?) {
        guard let log else { return }
        if logs.count == Self.maximumCount {
            logs.removeFirst()
            isCut = true
        }
        logs.append(log)
    }

    var statements: [LoggedStatement] { logs.flatMap(\.statements) }
}

/// What is known of a connection's statements.
struct StatementLog {
    var statements: [LoggedStatement] = []
    /// Whether the application has set a trace of its own, so that ours is not called.
    var isReplaced = false
    /// Whether nobody could read them, because a thread was at it all the time.
    var isUnread = false
}

extension DiscoveredConnection {
    /// The last statements, the oldest first; none where a thread is at it all the time.
    var log: StatementLog {
        let collection = Collection(of: serial)
        let context = Unmanaged.passUnretained(collection).toOpaque()
        var result = StatementLog()
        // With the connection in hand, what its last statement has changed is known too.
        let isRead: Void? = try? lend(until: .now, waitsForRest: false) { _ in
            failure_artifacts_log_read(record, true, context, Collection.read)
            result.isReplaced = failure_artifacts_trace_is_replaced(record)
        }
        result.isUnread = isRead == nil
        for _ in 0..<20 where result.isUnread {
            let isDone = ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
                guard failure_artifacts_borrowing_begins(record) else { return false }
                failure_artifacts_log_read(record, false, context, Collection.read)
                result.isReplaced = failure_artifacts_trace_is_replaced(record)
                failure_artifacts_borrowing_ends(record)
                return true
            }
            if isDone != false { result.isUnread = false }
            if isDone != false { break }
            sleep(microseconds: 200)
        }
        result.statements = collection.statements
        // What the connection has changed since may be the work of statements that are not known.
        if result.isReplaced {
            result.statements.indices.last.map { result.statements[$0].changes = nil }
        }
        return result
    }
}

extension DiscoveredStore {
    /// The last statements of the connections that have or had the store.
    struct Statements: Sendable {
        /// The oldest first.
        var statements: [LoggedStatement] = []
        /// Whether statements are missing because the application has set a trace of its own.
        var isReplaced = false
        /// Whether statements are missing because too many connections have ended, or one is in use all the time.
        var isCut = false
    }

    /// What is known of its statements; to be asked for on the thread of the test.
    var statements: Statements {
        var seen: Set<UInt64> = []
        let connections = accesses.map(\.connection).filter { seen.insert($0.serial).inserted }
        var result = Statements(statements: endedLogs.statements, isCut: endedLogs.isCut)
        for connection in connections {
            let log = connection.log
            result.statements += log.statements
            if log.isReplaced { result.isReplaced = true }
            if log.isUnread { result.isCut = true }
        }
        result.statements.sort { $0.order < $1.order }
        return result
    }
}

extension StatementRecord {
    /// The line for a statement that was run.
    init(_ statement: LoggedStatement, phase: Phase) {
        self.init(
            at: statement.date.description, changes: statement.changes,
            connection: statement.connection, cut: statement.isCut ? true : nil,
            duration: statement.duration,
            error: statement.failure.map { Failure(code: $0.code, message: $0.message) },
            order: statement.order, phase: phase, sql: statement.sql,
            thread: String(statement.thread, radix: 16))
    }
}
