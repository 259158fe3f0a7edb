import CFailureArtifactsCapture
import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The events that an application's traces receive, in order.
private final class Heard {
    var events: [String] = []
    /// Called inside an event.
    var reaction: (() -> Void)?

    func note(_ event: String) {
        events.append(event)
        reaction?()
    }
}

/// The context of one trace.
private final class Listener {
    let name: String
    let heard: Heard
    let thread = pthread_self()

    init(_ name: String, _ heard: Heard) { (self.name, self.heard) = (name, heard) }

    var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func hear(_ context: UnsafeMutableRawPointer?, _ event: String) {
        guard let context else { return }
        let listener = Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue()
        let place = pthread_equal(listener.thread, pthread_self()) != 0 ? "" : " on another thread"
        listener.heard.note("\(listener.name) \(event)\(place)")
    }

    static let trace:
        @convention(c) (
            UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
        ) -> Int32 = { event, context, subject, argument in
            switch Int32(event) {
            case SQLITE_TRACE_STMT:
                let text = argument?.assumingMemoryBound(to: CChar.self)
                hear(context, "start \(text.map { String(cString: $0) } ?? "NULL")")
            case SQLITE_TRACE_CLOSE:
                hear(context, "close")
            default:
                hear(context, "\(event) " + String(cString: sqlite3_sql(OpaquePointer(subject))))
            }
            return 1
        }
}

/// A sequence of calls, the same for each connection.
private struct Calls {
    private static let schema = """
        PRAGMA foreign_keys = on; CREATE TABLE t(a); CREATE TABLE log(a);
        CREATE TABLE parent(id INTEGER PRIMARY KEY);
        CREATE TABLE child(parent REFERENCES parent ON UPDATE CASCADE);
        INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1), (1);
        CREATE TRIGGER added AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END
        """
    private static let statements = [
        "SELECT a FROM t", "INSERT INTO t VALUES (?1)", "UPDATE parent SET id = id + 100",
        "SELECT 1\nUNION ALL SELECT 2", "SELECT nested()", "DELETE FROM t WHERE a = ?1",
        "INSERT INTO t VALUES (7) RETURNING a", "INSERT INTO log VALUES (nested())",
    ]

    let handle: ApplicationHandle
    let heard = Heard()
    private var random: Seeded
    private let listeners: [Listener]
    private var prepared: [OpaquePointer?] = []

    init(_ handle: ApplicationHandle, seed: UInt64) throws {
        self.handle = handle
        random = Seeded(state: seed)
        listeners = ["a", "b", "c"].map { [heard] in Listener($0, heard) }
        sqlite3_create_function_v2(
            handle.handle, "nested", 0, SQLITE_UTF8, nil,
            { context, _, _ in
                let sql = "INSERT INTO t VALUES (5);\nSELECT a,\na FROM log"
                sqlite3_exec(sqlite3_context_db_handle(context), sql, nil, nil, nil)
                sqlite3_result_int(context, 1)
            }, nil, nil, nil)
        try handle.run(Self.schema)
        for sql in Self.statements {
            var statement: OpaquePointer?
            try #require(sqlite3_prepare_v2(handle.handle, sql, -1, &statement, nil) == SQLITE_OK)
            prepared.append(statement)
        }
    }

    /// Sets one of the traces.
    private mutating func setTrace() {
        let listener = listeners[random.next(below: 3)], isSet = random.next(below: 4) > 0
        let events = UInt32(random.next(below: 16))
        let code = sqlite3_trace_v2(
            handle.handle, events, isSet ? Listener.trace : nil, listener.context)
        heard.events.append("trace_v2 \(events): \(code)")
    }

    mutating func run(reacts: Bool) {
        for _ in 0..<40 {
            let statement = prepared[random.next(below: prepared.count)]
            switch random.next(below: 7) {
            case 0, 1: setTrace()
            case 2, 3: heard.events.append("step \(sqlite3_step(statement))")
            case 4: heard.events.append("reset \(sqlite3_reset(statement))")
            case 5:
                sqlite3_reset(statement)
                sqlite3_bind_int(statement, 1, Int32(random.next(below: 10)))
                while sqlite3_step(statement) == SQLITE_ROW {}
                sqlite3_reset(statement)
            default:
                if reacts {
                    var others = self
                    others.random = Seeded(state: UInt64(random.next(below: 1000)))
                    heard.reaction = { [heard] in
                        heard.reaction = nil
                        others.setTrace()
                    }
                }
                sqlite3_exec(handle.handle, "SELECT 'x'; BEGIN; ROLLBACK -- end", nil, nil, nil)
            }
        }
        heard.reaction = nil
        prepared.forEach { sqlite3_finalize($0) }
        handle.close()
    }
}

private struct Seeded {
    var state: UInt64

    /// SplitMix64.
    mutating func next(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ (value >> 31)) % UInt64(limit))
    }
}

extension StatementLogTests {
    /// Opens a connection that the product doesn't know, so that it has SQLite's own functions.
    private func unknownConnection() throws -> ApplicationHandle {
        failure_artifacts_discovery_pause()
        defer { failure_artifacts_discovery_resume() }
        return try ApplicationHandle(":memory:")
    }

    @Test(arguments: [0, 20], [false, true])
    func anApplicationsTracesReceiveTheSameEventsAsWithoutTheProduct(
        statements: Int, reacts: Bool
    ) throws {
        try withConnection(statements: statements, path: ":memory:") { _ in
            for seed in 0..<300 {
                var known = try Calls(ApplicationHandle(":memory:"), seed: UInt64(seed))
                let record = try known.handle.discovered
                // In every other round, SQLite isn't asked for ends until the application asks.
                if statements > 0, seed % 2 == 1 { try leaveOutEnds(of: known.handle) }
                var unknown = try Calls(unknownConnection(), seed: UInt64(seed))
                known.run(reacts: reacts)
                unknown.run(reacts: reacts)
                #expect(known.heard.events == unknown.heard.events, "seed \(seed)")
                #expect(record.lastUse == nil, "The close was not reported.")
            }
        }
    }

    /// Sets a trace on a connection, and returns what it receives.
    private func listening(
        to handle: ApplicationHandle, events: Int32 = SQLITE_TRACE_STMT, _ body: () throws -> Void
    ) rethrows -> [String] {
        let heard = Heard()
        let listener = Listener("a", heard)
        sqlite3_trace_v2(handle.handle, UInt32(events), Listener.trace, listener.context)
        defer { sqlite3_trace_v2(handle.handle, 0, nil, nil) }
        try body()
        return heard.events
    }

    @Test func theLogIsCompleteBesideAnApplicationsTrace() throws {
        try withConnection(statements: 3000, path: ":memory:") { handle in
            try handle.run("CREATE TABLE t(a)")
            let inserts = (1...2000).map { "INSERT INTO t VALUES (\($0))" }
            let heard = try listening(to: handle) { try inserts.forEach { try handle.run($0) } }
            #expect(heard == inserts.map { "a start \($0)" })
            try handle.run("DELETE FROM t")
            let found = try handle.store.statements(keeping: .none)
            #expect(!found.isReplaced)
            #expect(
                found.statements.map(\.record.sql) == ["CREATE TABLE t(a)"] + inserts + ["DELETE FROM t"]
            )
            #expect(found.statements.map(\.record.changes) == [0] + inserts.map { _ in 1 } + [2000])
        }
    }

    /// Runs statements so often that their ends aren't recorded any more.
    private func leaveOutEnds(of handle: ApplicationHandle) throws {
        let record = try handle.discovered.record
        let statement = try Prepared(handle, "SELECT 'frequent'")
        for _ in 0..<1_000_000 where !record.pointee.leaves_out_ends { statement.run() }
        try #require(record.pointee.leaves_out_ends)
    }

    /// SQLite asks the system for the time twice per statement whose end it reports.
    @Test func endsAreReportedWhereTheyAreRecorded() throws {
        try withConnection(statements: 3000, path: ":memory:") { handle in
            try leaveOutEnds(of: handle)
            let frequent = try #require(statements(handle).last)
            #expect(frequent.sorts == nil)
            // The first run is observed, and its successors' ends are recorded.
            for _ in 0..<3 { try handle.run("SELECT 1 AS a ORDER BY a") }
            #expect(try !handle.discovered.record.pointee.leaves_out_ends)
            #expect(try statements(handle).suffix(3).map { $0.sorts != nil } == [false, true, true])
        }
    }

    /// A profile function of code that the product doesn't see stays, so ends are reported to both.
    @Test func endsAreNotLeftOutBesideAProfileFunction() throws {
        try withConnection(statements: 20, path: ":memory:") { handle in
            sqlite3_profile(handle.handle, { _, _, _ in tracedEvents += 1 }, nil)
            tracedEvents = 0
            let statement = try Prepared(handle, "SELECT 1")
            for _ in 0..<3000 { statement.run() }
            #expect(tracedEvents == 3000)
            sqlite3_profile(handle.handle, nil, nil)
        }
    }

    @Test(arguments: [SQLITE_TRACE_STMT, SQLITE_TRACE_PROFILE, SQLITE_TRACE_ROW])
    func theEndsOfStatementsAreReportedToWhoAskedForThem(events: Int32) throws {
        try withConnection(statements: 3000) { handle in
            let heard = try listening(to: handle, events: events) {
                for _ in 0..<3000 { try handle.run("SELECT 1 WHERE 0") }
            }
            let event = events == SQLITE_TRACE_STMT ? "start" : "\(events)"
            let count = events == SQLITE_TRACE_ROW ? 0 : 3000
            #expect(heard == Array(repeating: "a \(event) SELECT 1 WHERE 0", count: count))
            // Beyond the allowance of a text, few ends are recorded.
            let ends = try statements(handle).filter { $0.sorts != nil }.count
            #expect(ends >= 8 && ends < 2900)
        }
    }

    /// Discovery may see the open before or after an automatic extension of the application.
    @Test func aTraceThatAnAutomaticExtensionSetsIsCalled() async {
        await #expect(processExitsWith: .success) {
            let extensionFunction:
                @convention(c) (
                    OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
                    UnsafeRawPointer?
                ) -> Int32 = { handle, _, _ in
                    sqlite3_trace_v2(
                        handle, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_CLOSE), countingTrace, nil)
                    return SQLITE_OK
                }
            let function = unsafeBitCast(extensionFunction, to: (@convention(c) () -> Void).self)
            sqlite3_auto_extension(function)
            ConnectionRegistry.shared.install()
            ConnectionRegistry.shared.configureLog(statements: 10)
            for round in 0..<3 {
                if round == 2 {
                    // From now on it comes after the product's.
                    sqlite3_cancel_auto_extension(function)
                    sqlite3_auto_extension(function)
                }
                let handle = try ApplicationHandle(":memory:")
                tracedEvents = 0
                try handle.run("SELECT 1; SELECT 2")
                let log = try handle.store.statements(keeping: .none)
                // Before that, the product leaves the connection alone.
                let isLogged = !log.isReplaced && log.statements.count == 2
                guard tracedEvents == 2, isLogged == (round == 2), log.isReplaced == !isLogged else {
                    exit(1)
                }
                handle.close()
                guard tracedEvents == 3 else { exit(2) }
            }
            exit(0)
        }
    }
}

nonisolated(unsafe) private var tracedEvents = 0
private let countingTrace:
    @convention(c) (
        UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
    ) -> Int32 = { _, _, _, _ in
        tracedEvents += 1
        return 0
    }
