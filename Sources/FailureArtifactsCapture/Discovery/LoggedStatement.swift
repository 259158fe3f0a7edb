internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// A statement that a connection has run.
struct LoggedStatement: Sendable {
    /// An error from SQLite.
    struct Failure: Sendable {
        /// The extended result code.
        let code: Int32
        let message: String
    }

    /// The statement's number, which increases over all connections of the process.
    let order: UInt64
    /// The number of the connection that ran it, in the order of the process's opens, from 1.
    let connection: UInt64
    /// The start time, with an accuracy of some milliseconds.
    let date: Timestamp
    /// The system's handle of the thread that ran it.
    let thread: UInt
    let sql: String
    /// True if ``sql`` contains only the start of the statement.
    let isCut: Bool
    /// The number of rows inserted, updated and deleted; nil if not known.
    fileprivate(set) var changes: Int?
    /// The error; nil if the statement is not known to have failed.
    let failure: Failure?
    /// The duration, in seconds; nil if not recorded.
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

/// A list of the statements that C passes one by one.
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

    /// Takes the log from a connection that is being closed; nil if it has none.
    init?(of record: UnsafeMutablePointer<failure_artifacts_connection>) {
        guard let log = failure_artifacts_log_take(record) else { return nil }
        self.log = log
        connection = record.pointee.serial
    }

    /// Shares a log with its other owner.
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

/// The statements of ended connections to one store.
struct KeptLogs: Sendable {
    /// The maximum number of connections.
    ///
    /// If there are more, the last ones are kept.
    static let maximumCount = 16

    private var logs: [KeptLog] = []
    /// True if there were more connections.
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

/// The known statements of a connection.
struct StatementLog {
    var statements: [LoggedStatement] = []
    /// True if the application has set its own trace callback, so that ours is not called.
    var isReplaced = false
    /// True if the statements could not be read, because a thread used the connection all the time.
    var isUnread = false
}

extension DiscoveredConnection {
    /// The last statements, oldest first; empty if a thread uses the connection all the time.
    var log: StatementLog {
        let collection = Collection(of: serial)
        let context = Unmanaged.passUnretained(collection).toOpaque()
        var result = StatementLog()
        // With the connection borrowed, the number of changes by its last statement is known too.
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
        // The connection's later changes may come from statements that are not known.
        if result.isReplaced {
            result.statements.indices.last.map { result.statements[$0].changes = nil }
        }
        return result
    }
}

extension DiscoveredStore {
    /// The last statements of the connections that have or had the store.
    struct Statements: Sendable {
        /// The statements, oldest first.
        var statements: [LoggedStatement] = []
        /// True if statements are missing because the application has set its own trace callback.
        var isReplaced = false
        /// True if statements are missing because too many connections have ended, or one is in use all the time.
        var isCut = false
    }

    /// The known statements of the store; to be read on the test's thread.
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
    /// Creates the record of a statement that was run.
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
