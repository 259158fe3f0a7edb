import CSuiteSQLite
import Foundation

/// The calls that SQLite makes to an application.
enum Event: String, CaseIterable {
    case commit, rollback, update, preupdate, wal, progress, authorizer, busy, trace
    case collation, collationDestructor, function, functionDestructor
}

/// A connection with every hook set, whose calls are counted.
final class Connection: @unchecked Sendable {
    let name: String
    private(set) var handle: OpaquePointer?
    private let log: Observations
    private var counts: [Event: Int] = [:]
    private var answers: [Event: () -> Int32] = [:]
    private var isClosing = false

    init(_ name: String, path: String, flags: Int32, vfs: String?, log: Observations) {
        self.name = name
        self.log = log
        log("\(name) opens", sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_URI, vfs))
        setHooks()
    }

    /// Sets the action and result of a callback, besides counting it.
    func on(_ event: Event, _ answer: @escaping () -> Int32) { answers[event] = answer }

    /// Sets the application's own trace.
    func listen() {
        let callback:
            @convention(c) (
                UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
            ) -> Int32 = { _, context, _, _ in Connection.hear(.trace, context) }
        sqlite3_trace_v2(handle, UInt32(SQLITE_TRACE_STMT), callback, context)
    }

    private var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    @discardableResult
    private static func hear(_ event: Event, _ context: UnsafeMutableRawPointer?) -> Int32 {
        guard let context else { return 0 }
        let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
        connection.counts[event, default: 0] += 1
        return connection.answers[event]?() ?? 0
    }

    private func setHooks() {
        sqlite3_commit_hook(handle, { Connection.hear(.commit, $0) }, context)
        sqlite3_rollback_hook(handle, { Connection.hear(.rollback, $0) }, context)
        sqlite3_update_hook(
            handle, { context, _, _, _, _ in Connection.hear(.update, context) }, context)
        suite_preupdate_hook(
            handle, { context, _, _, _, _, _, _ in Connection.hear(.preupdate, context) }, context)
        sqlite3_wal_hook(handle, { context, _, _, _ in Connection.hear(.wal, context) }, context)
        sqlite3_progress_handler(handle, 1, { Connection.hear(.progress, $0) }, context)
        sqlite3_set_authorizer(
            handle, { context, _, _, _, _, _ in Connection.hear(.authorizer, context) }, context)
        sqlite3_busy_handler(handle, { context, _ in Connection.hear(.busy, context) }, context)
        sqlite3_create_collation_v2(
            handle, "noted", SQLITE_UTF8, context,
            { context, leftCount, left, rightCount, right in
                Connection.hear(.collation, context)
                guard let left, let right else { return leftCount - rightCount }
                let order = memcmp(left, right, Int(min(leftCount, rightCount)))
                return order == 0 ? leftCount - rightCount : order
            }, { Connection.hear(.collationDestructor, $0) })
        // Returns its argument.
        sqlite3_create_function_v2(
            handle, "noted", 1, SQLITE_UTF8, context,
            { context, _, values in
                Connection.hear(.function, sqlite3_user_data(context))
                sqlite3_result_value(context, values?[0])
            }, nil, nil, { Connection.hear(.functionDestructor, $0) })
    }

    // MARK: - Statements

    /// Runs one statement and notes its results.
    func run(_ sql: String) { Statement(sql, on: self, log: log).finish() }

    func prepare(_ sql: String) -> Statement { Statement(sql, on: self, log: log) }

    /// Closes the handle and records the result.
    func close() {
        guard handle != nil else { return }
        isClosing = true
        log("\(name) closes", sqlite3_close(handle))
        handle = nil
        observeCalls("closed")
    }

    // MARK: - Observations

    /// Records everything that can be read without running a statement.
    func observe(_ phase: String) {
        observeCalls(phase)
        // A handle that is being closed can't be read.
        guard let handle, !isClosing else { return }
        func note(_ what: String, _ value: some CustomStringConvertible) {
            log("\(phase): \(name) \(what)", value)
        }
        note("errcode", sqlite3_errcode(handle))
        note("extended errcode", sqlite3_extended_errcode(handle))
        note("errmsg", String(cString: sqlite3_errmsg(handle)))
        note("error offset", sqlite3_error_offset(handle))
        note("autocommit", sqlite3_get_autocommit(handle))
        note("transaction", sqlite3_txn_state(handle, nil))
        note("transaction of main", sqlite3_txn_state(handle, "main"))
        note("changes", "\(sqlite3_changes(handle)), \(sqlite3_total_changes(handle)) in total")
        note("last row", sqlite3_last_insert_rowid(handle))
        note("limits", (0...SQLITE_LIMIT_WORKER_THREADS).map { sqlite3_limit(handle, $0, -1) })
        note("pages written", status(SQLITE_DBSTATUS_CACHE_WRITE))
        note("cache spills", status(SQLITE_DBSTATUS_CACHE_SPILL))
        var (statements, busy) = (0, 0)
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            statements += 1
            if sqlite3_stmt_busy(current) != 0 { busy += 1 }
            statement = sqlite3_next_stmt(handle, current)
        }
        note("statements", "\(statements), \(busy) of them busy")
    }

    /// Records the number of SQLite's calls since the last phase.
    private func observeCalls(_ phase: String) {
        for event in Event.allCases {
            log("\(phase): \(name) calls of \(event.rawValue)", counts[event] ?? 0)
        }
        counts = [:]
    }

    private func status(_ counter: Int32) -> Int32 {
        var (current, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(handle, counter, &current, &highest, 0)
        return current
    }
}

/// A statement whose steps are recorded.
final class Statement {
    private let sql: String
    private let connection: Connection
    private let log: Observations
    private var handle: OpaquePointer?
    private let preparation: Int32

    init(_ sql: String, on connection: Connection, log: Observations) {
        (self.sql, self.connection, self.log) = (sql, connection, log)
        preparation = sqlite3_prepare_v2(connection.handle, sql, -1, &handle, nil)
        if preparation != SQLITE_OK { note("prepare", preparation) }
    }

    /// Makes one step.
    ///
    /// - Returns: True if there may be another.
    @discardableResult
    func step() -> Bool {
        let code = sqlite3_step(handle)
        let columns = (0..<sqlite3_data_count(handle)).map { column in
            sqlite3_column_text(handle, column).map { String(cString: $0) } ?? "NULL"
        }
        note("step", code, " (" + columns.joined(separator: ", ") + ")")
        return code == SQLITE_ROW
    }

    /// Makes the remaining steps.
    func finish() {
        guard handle != nil else { return }
        while step() {}
        let code = sqlite3_finalize(handle)
        handle = nil
        note("finalize", code)
    }

    private func note(_ call: String, _ code: Int32, _ result: String = "") {
        let message = String(cString: sqlite3_errmsg(connection.handle))
        let extended = sqlite3_extended_errcode(connection.handle)
        log("\(connection.name) \(call): \(sql)", "\(code), \(extended) \(message)\(result)")
    }
}
