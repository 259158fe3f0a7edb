import CSuiteCallbacks
import CSuiteSQLite
import XCTest

/// Statements whose bundle has the lines that ran them.
///
/// A comment marks the line of each statement with a word of the statement.
final class SourceLineTests: XCTestCase {
    private typealias Closure = @Sendable () -> Void

    /// The closures that a function stores and a different one calls.
    private var closures: [Closure] = []

    /// `lines`: one row for each marker.
    func testLines() async throws {
        let database = try Database(try freshPath("lines.sqlite"), journal: "wal")
        let sql = "INSERT INTO fruit VALUES ('plain')"
        sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: plain
        step("INSERT INTO fruit VALUES ('wrapper')", in: database)
        insertInRowCallback(database)
        insert(7, in: database)
        store {
            let sql = "INSERT INTO fruit VALUES ('stored')"
            sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: stored
        }
        callClosures()
        insertOnThread(database)
        insertOnQueue(database)
        await Task.detached {
            let sql = "INSERT INTO fruit VALUES ('detached')"
            _ = sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: detached
        }.value
        await insertAfterAwait(database)
        XCTFail("lines")
        try database.close()
    }

    /// `c-code`: apple, called back, direct.
    func testCCode() throws {
        let database = try Database(try freshPath("c-code.sqlite"), journal: "wal", fruit: "apple")
        let handle = UnsafeMutableRawPointer(database.handle)
        suite_call(
            { context in
                let sql = "INSERT INTO fruit VALUES ('called back')"
                sqlite3_exec(context.map { OpaquePointer($0) }, sql, nil, nil, nil)  // line: called back
            }, handle)
        suite_run(handle, "INSERT INTO fruit VALUES ('direct')")  // line: direct
        XCTFail("C code")
        try database.close()
    }

    /// `c-callback`: for a row.
    func testCCodeInACallback() throws {
        let database = try Database(try freshPath("c-callback.sqlite"), journal: "wal")
        let sql = "INSERT INTO fruit VALUES ('for a row')"
        let handle = UnsafeMutableRawPointer(database.handle)
        suite_run_for_each_row(handle, "SELECT 1", sql)  // line: for a row
        XCTFail("C code in a callback")
        try database.close()
    }

    /// `interleaved`: 100 rows of two connections, which two threads insert in transactions of their own.
    func testInterleavedTransactions() throws {
        let path = try freshPath("interleaved.sqlite")
        let first = try Database(path, journal: "wal")
        let second = try Database(path)
        let turns = Turns()
        let threads = [first, second].enumerated().map { index, database in
            Thread {
                for number in 0..<50 {
                    turns.wait(for: 2 * number + index)
                    sqlite3_exec(database.handle, "BEGIN IMMEDIATE", nil, nil, nil)
                    let sql = "INSERT INTO fruit VALUES ('\(index == 0 ? "first" : "second") \(number)')"
                    if index == 0 {
                        sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: first thread
                    } else {
                        sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: second thread
                    }
                    sqlite3_exec(database.handle, "COMMIT", nil, nil, nil)
                    turns.finish()
                }
            }
        }
        for thread in threads { thread.start() }
        turns.wait(for: 100)
        XCTFail("interleaved")
        try second.close()
        try first.close()
    }

    private func step(_ sql: String, in database: Database) {
        var statement: OpaquePointer?
        sqlite3_prepare_v2(database.handle, sql, -1, &statement, nil)
        sqlite3_step(statement)  // line: wrapper
        sqlite3_finalize(statement)
    }

    private func insertInRowCallback(_ database: Database) {
        let context = UnsafeMutableRawPointer(database.handle)
        let callback:
            @convention(c) (
                UnsafeMutableRawPointer?, CInt, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
                UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
            ) -> CInt = { context, _, _, _ in
                let handle = context.map { OpaquePointer($0) }
                let sql = "INSERT INTO fruit VALUES ('callback')"
                return sqlite3_exec(handle, sql, nil, nil, nil)  // line: callback
            }
        sqlite3_exec(database.handle, "SELECT 1", callback, context, nil)  // line: row query
    }

    private func insert<Value: CustomStringConvertible>(_ value: Value, in database: Database) {
        let sql = "INSERT INTO fruit VALUES ('generic \(value)')"
        sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: generic
    }

    private func store(_ closure: @escaping Closure) { closures.append(closure) }

    private func callClosures() { for closure in closures { closure() } }

    private func insertOnThread(_ database: Database) {
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            let sql = "INSERT INTO fruit VALUES ('thread')"
            sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: thread
            done.signal()
        }
        thread.start()
        done.wait()
    }

    private func insertOnQueue(_ database: Database) {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue(label: "lines").async {
            let sql = "INSERT INTO fruit VALUES ('queue')"
            sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: queue
            done.signal()
        }
        done.wait()
    }

    private func insertAfterAwait(_ database: Database) async {
        try? await Task.sleep(nanoseconds: 1_000_000)
        let sql = "INSERT INTO fruit VALUES ('await')"
        sqlite3_exec(database.handle, sql, nil, nil, nil)  // line: await
    }
}

/// Threads that take turns.
private final class Turns: @unchecked Sendable {
    private let condition = NSCondition()
    private var turn = 0

    /// Waits until this number of turns is finished.
    func wait(for turn: Int) {
        condition.lock()
        while self.turn < turn { condition.wait() }
        condition.unlock()
    }

    func finish() {
        condition.lock()
        turn += 1
        condition.broadcast()
        condition.unlock()
    }
}

nonisolated(unsafe) private var childSignals: sig_atomic_t = 0

/// Failing tests in a row, which look for traces of the symbolizer while the bundle of the previous one is packed.
final class UnnoticedSymbolizerTests: XCTestCase {
    private nonisolated(unsafe) static var descriptors: Int?

    override class func setUp() {
        signal(SIGCHLD) { _ in childSignals += 1 }
    }

    override class func tearDown() { signal(SIGCHLD, SIG_DFL) }

    /// `first`: apple.
    func test1() throws { try fail("first") }

    /// `second`: apple.
    func test2() throws {
        waitForChildren()
        Self.descriptors = try openDescriptors().count
        try fail("second")
    }

    func test3() throws {
        waitForChildren()
        XCTAssertEqual(try openDescriptors().count, Self.descriptors)
    }

    private func fail(_ name: String) throws {
        let database = try Database(try freshPath("\(name).sqlite"), journal: "wal", fruit: "apple")
        XCTFail(name)
        try database.close()
    }

    /// Checks that the process has no child during the seconds after a failure.
    private func waitForChildren() {
        let end = Date(timeIntervalSinceNow: 2)
        var found = false
        while Date() < end {
            var status: CInt = 0
            if waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD { found = true }
            usleep(200)
        }
        XCTAssertFalse(found, "waitpid found a child")
        XCTAssertEqual(childSignals, 0)
    }
}
