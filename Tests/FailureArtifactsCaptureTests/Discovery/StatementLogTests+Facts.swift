import CFailureArtifactsSQLite
import Dispatch
import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

// What the log knows about a statement besides its text: times, SQLite's counts, written pages and return addresses.
extension StatementLogTests {
    /// A query that yields the numbers from 1.
    private func numbers(_ count: Int) -> String {
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < \(count)) SELECT n FROM c"
    }

    @Test func theEndHasTheCountsOfThatRun() throws {
        try withConnection(statements: 10) { handle in
            try handle.run("CREATE TABLE t(a)")
            try handle.run("CREATE TABLE u(a)")
            try handle.run("INSERT INTO t \(numbers(2000))")
            try handle.run("INSERT INTO u \(numbers(300))")
            _ = try handle.texts("SELECT a FROM t ORDER BY a")
            _ = try handle.texts("SELECT count(*) FROM t JOIN u ON t.a = u.a")
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            try #require(
                sqlite3_prepare_v2(handle.handle, "SELECT max(a) FROM u", -1, &statement, nil)
                    == SQLITE_OK)
            for _ in 0..<2 {
                while sqlite3_step(statement) == SQLITE_ROW {}
                sqlite3_reset(statement)
            }
            let ends = try statements(handle)
            #expect(ends.compactMap(\.fullScanSteps).suffix(4) == [1999, 1999, 299, 299])
            #expect(ends.map(\.sorts).suffix(4) == [1, 0, 0, 0])
            let indexes = ends.compactMap(\.autoIndexes).suffix(4)
            #expect(indexes.map { $0 > 0 } == [false, true, false, false])
        }
    }

    /// SQLite names neither the connection nor more than the start of a long statement.
    @Test func aStatementThatCannotBePreparedIsListedWithItsError() throws {
        try withConnection(statements: 200) { handle in
            try handle.run("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
            let long = "SELECT '" + String(repeating: "é", count: 200) + "' FROM missing"
            for sql in ["SELECT a FROM missing", "UPDATE t SET b = 1", "SELEC 1", long] {
                #expect(handle.failure(of: sql) != nil)
            }
            try handle.run("INSERT INTO t VALUES (3)")
            let all = try self.log(handle)
            let log = all.map(\.record)
            #expect(log.map(\.order) == log.map(\.order).sorted())
            #expect(log.map(\.changes) == [0, 2, 0, 0, 0, 0, 1])
            #expect((log[1].pages ?? 0) > 0 && log[2].pages == 0)
            let failed = all.filter(\.isUnprepared).map(\.record)
            #expect(
                failed.map { $0.error?.message } == [
                    "no such table: missing", "no such column: b", "near \"SELEC\": syntax error",
                    "no such table: missing",
                ])
            #expect(
                failed.map(\.sql).dropLast() == [
                    "SELECT a FROM missing", "UPDATE t SET b = 1", "SELEC 1",
                ])
            #expect(failed.last?.cut == true && long.hasPrefix(failed.last?.sql ?? "-"))
        }
    }

    /// The log grows by chunks of 32 KiB, and an error may come at the end of one.
    @Test func aStatementThatCannotBePreparedIsListedWhereverTheLogEnds() throws {
        try withConnection(statements: 2000, stacks: true) { handle in
            try handle.run("CREATE TABLE t(a)")
            let texts = (0..<600).map { "SELECT \($0) FROM missing" }
            for text in texts {
                try handle.run("INSERT INTO t VALUES (1)")
                #expect(handle.failure(of: text) != nil)
            }
            let failed = try log(handle).filter(\.isUnprepared).map(\.record)
            #expect(failed.map(\.sql) == texts)
            #expect(failed.allSatisfy { $0.error?.message == "no such table: missing" })
        }
    }

    /// SQLite logs the error of a statement that it prepares again, after another connection has changed the schema.
    @Test func aStatementThatIsPreparedAgainHasNotFailed() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/a.sqlite"
            try withConnection(statements: 200, path: path) { handle in
                let other = try ApplicationHandle(path)
                #expect(other.text("SELECT count(*) FROM sqlite_master") == "0")
                try handle.run("CREATE TABLE t(a)")
                try other.run("INSERT INTO t VALUES (1)")
                #expect(other.failure(of: "INSERT INTO u VALUES (1)") != nil)
                let log = try self.log(handle)
                #expect(
                    log.map(\.record).filter { $0.sql.contains("INTO t") }.map(\.changes) == [1])
                #expect(log.filter(\.isUnprepared).map(\.record.sql) == ["INSERT INTO u VALUES (1)"])
            }
        }
    }

    /// SQLite logs no error for a `COMMIT` that a deferred foreign key rejects.
    ///
    /// Statements beyond the allowance of a test are recorded in another way.
    @Test(arguments: [":memory:", nil], [0, 3000]) func aCommitThatFailsIsMarked(
        path: String?, others: Int
    ) throws {
        try withConnection(statements: 200, path: path) { handle in
            try handle.run("PRAGMA foreign_keys = on; CREATE TABLE a(id INTEGER PRIMARY KEY)")
            try handle.run("CREATE TABLE b(a REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
            for _ in 0..<others { try handle.run("SELECT 1") }
            for commit in ["COMMIT", "end transaction", "/* all */ COMMIT"] {
                try handle.run("BEGIN IMMEDIATE; INSERT INTO b VALUES (1)")
                #expect(handle.failure(of: commit) == "FOREIGN KEY constraint failed")
                try handle.run("ROLLBACK")
                try handle.run("BEGIN; SELECT 1; COMMIT")
                try handle.run("BEGIN; INSERT INTO b VALUES (1)")
                #expect(handle.failure(of: commit) == "FOREIGN KEY constraint failed")
                try handle.run(
                    "INSERT INTO a VALUES (1); COMMIT; BEGIN EXCLUSIVE; DELETE FROM b; COMMIT; DELETE FROM a"
                )
            }
            #expect(
                try statements(handle).filter { $0.leftOpen == true }.map(\.sql)
                    == ["COMMIT", "end transaction", "/* all */ COMMIT"].flatMap { [$0, $0] })
            // The last statement's error is the connection's.
            try handle.run("BEGIN; INSERT INTO b VALUES (1)")
            #expect(handle.failure(of: "COMMIT") == "FOREIGN KEY constraint failed")
            let last = try #require(try statements(handle).last)
            #expect(last.leftOpen == true)
            #expect(last.error == .init(code: 787, message: "FOREIGN KEY constraint failed"))
        }
    }

    @Test func aCommitThatFindsTheStoreLockedIsMarked() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/log.sqlite"
            try withConnection(statements: 200, path: path) { handle in
                try handle.run("CREATE TABLE t(a)")
                let other = try ApplicationHandle(path)
                try other.run("BEGIN; SELECT * FROM t")
                try handle.run("BEGIN; INSERT INTO t VALUES (1)")
                #expect(handle.failure(of: "COMMIT") == "database is locked")
                try other.run("COMMIT")
                try handle.run("COMMIT")
                let log = try statements(handle)
                let commits = log.filter { $0.sql == "COMMIT" && $0.connection == log[0].connection }
                #expect(commits.map(\.leftOpen) == [true, nil])
            }
        }
    }

    /// A chunk has space for the error of its last statement, with its stack, wherever that one is.
    @Test func noErrorIsLostWhereAChunkIsFull() throws {
        let count = 6000
        try withConnection(statements: 2 * count, path: ":memory:") { handle in
            try handle.run("CREATE TABLE t(a UNIQUE)")
            try handle.run("INSERT INTO t VALUES (1)")
            func prepare(_ sql: String) throws -> OpaquePointer? {
                var statement: OpaquePointer?
                try #require(sqlite3_prepare_v2(handle.handle, sql, -1, &statement, nil) == SQLITE_OK)
                return statement
            }
            let (failing, other) = (try prepare("INSERT INTO t VALUES (1)"), try prepare("SELECT 1"))
            defer { for statement in [failing, other] { sqlite3_finalize(statement) } }
            for number in 0..<count {
                // Other statements between them, so that they end at various places of a chunk.
                let isOther = number % 11 < 3
                let code = sqlite3_step(isOther ? other : failing)
                #expect(code == (isOther ? SQLITE_ROW : SQLITE_CONSTRAINT))
                sqlite3_reset(isOther ? other : failing)
            }
            let log = try statements(handle).suffix(count).filter { $0.sql != "SELECT 1" }
            #expect(log.count > count / 2)
            #expect(log.allSatisfy { $0.error?.message == "UNIQUE constraint failed: t.a" })
            // Whatever the budget is.
            #expect(log.allSatisfy { ($0.stack?.count ?? 0) > 2 })
            #expect(try log.suffix(3).allSatisfy(isOwn))
        }
    }

    @Test func theTimesAreExact() throws {
        try withConnection(statements: 10) { handle in
            try handle.run("CREATE TABLE t(a)")
            let before = Date.now.timeIntervalSince1970
            try handle.run("INSERT INTO t \(numbers(20_000))")
            let after = Date.now.timeIntervalSince1970
            let statement = try #require(try log(handle).last)
            let record = statement.record(by: .current, testStartedAfter: 0)
            let fraction = try #require(record.at.split(separator: ".").last)
            #expect(fraction.count == 7 && fraction.hasSuffix("Z"))
            let whole = try Date(String(record.at.prefix(19)) + "Z", strategy: .iso8601)
            let start =
                whole.timeIntervalSince1970 + Double(try #require(Int(fraction.dropLast()))) / 1_000_000
            let duration = try #require(record.duration)
            // The clock of dates has a precision of some hundred nanoseconds.
            #expect(start - before > -0.000_01)
            #expect(start + duration - after < 0.000_01)
            #expect(duration > 0.000_1)
        }
    }

    @Test func eachHasThePagesThatItWrote() throws {
        try withConnection(statements: 100) { handle in
            #expect(try handle.value("PRAGMA journal_mode = wal") == "wal")
            try handle.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
            try handle.run("INSERT INTO t VALUES (1, 'x')")
            try handle.run("UPDATE t SET a = 'x'")
            for sql in ["BEGIN", "UPDATE t SET a = 'y'", "SELECT a FROM t", "COMMIT", "SELECT 1"] {
                try handle.run(sql)
            }
            let log = try statements(handle).suffix(8).map { try #require($0.pages) }
            // The table and the schema, a row, a value that the row has already, and a transaction.
            #expect(log == [2, 1, 0, 0, 0, 0, 1, 0])
            // A transaction that leaves the value as it is has a version, too.
            let versions = try statements(handle).suffix(7).map(\.versions)
            #expect(versions == [1, nil, nil, nil, nil, 2, nil])
            // An error ends the transaction, and the next statement is one of its own.
            try handle.run("BEGIN; UPDATE t SET a = 'z'")
            #expect(handle.failure(of: "INSERT OR ROLLBACK INTO t VALUES (1, 'x')") != nil)
            for _ in 0..<2 { try handle.run("INSERT INTO t(a) VALUES ('x')") }
            #expect(try statements(handle).suffix(5).map(\.pages) == [0, 0, 0, 1, 1])
            // Pages that the cache has no space for are written early, perhaps more than once.
            try handle.fill()
            try handle.run("PRAGMA cache_size = 5")
            for sql in ["BEGIN", "UPDATE big SET a = zeroblob(400)", "COMMIT"] { try handle.run(sql) }
            #expect(try statements(handle).suffix(3).map { $0.pages == nil } == [false, false, true])
            let memory = try ApplicationHandle(":memory:")
            try memory.run("CREATE TABLE t(a)")
            #expect(try statements(memory).map(\.pages) == [nil])
        }
    }

    // MARK: Return addresses

    /// True if the innermost function is part of this test bundle, as opposed to SQLite.
    private func isOwn(_ statement: StatementRecord) throws -> Bool {
        let address = try #require(statement.stack?.first, "\(statement.sql)")
        let own = UInt64(UInt(bitPattern: #dsohandle))
        let file = try file(at: address)
        return try file != nil && file == self.file(at: own)
    }

    /// The path of the file that is mapped at an address.
    private func file(at address: UInt64) throws -> String? {
        // `String(contentsOfFile:)` ends early where there are many mappings.
        let bytes = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd()
        let maps = String(decoding: bytes ?? Data(), as: UTF8.self)
        for line in maps.split(separator: "\n") {
            let fields = line.split(separator: " ")
            let range = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            if fields.count > 5, range.count == 2, range[0]..<range[1] ~= address {
                return String(fields[5])
            }
        }
        return nil
    }

    @Test func theStackLeadsToTheCaller() async throws {
        ConnectionRegistry.shared.configureLog(statements: 100)
        defer { ConnectionRegistry.shared.configureLog(statements: 0) }
        let opened = try ApplicationHandle(":memory:")
        try opened.run("CREATE TABLE t(a)")
        try await Task.detached { try opened.run("INSERT INTO t VALUES ('task')") }.value
        try DispatchQueue(label: "queue").sync { try opened.run("INSERT INTO t VALUES ('queue')") }
        try onAnotherThread { try? opened.run("INSERT INTO t VALUES ('thread')") }
        let code = sqlite3_exec(
            opened.handle, "SELECT 1",
            { handle, _, _, _ in
                sqlite3_exec(OpaquePointer(handle), "INSERT INTO t VALUES ('callback')", nil, nil, nil)
            }, opened.handle.map { UnsafeMutableRawPointer($0) }, nil)
        #expect(code == SQLITE_OK)
        let log = try statements(opened)
        #expect(
            log.map(\.sql).sorted() == [
                "CREATE TABLE t(a)", "INSERT INTO t VALUES ('callback')",
                "INSERT INTO t VALUES ('queue')", "INSERT INTO t VALUES ('task')",
                "INSERT INTO t VALUES ('thread')", "SELECT 1",
            ])
        for statement in log { #expect(try isOwn(statement), "\(statement.sql)") }
        #expect(log.allSatisfy { (3...64).contains($0.stack?.count ?? 0) })
    }

    /// The frames of SQLite are remembered; what is outside of them differs with each call.
    @Test func eachStackIsThatOfItsOwnCall() throws {
        let depths = [0, 7, 3, 0, 12, 5, 1]
        try withConnection(statements: 100, path: ":memory:") { handle in
            var prepared: OpaquePointer?
            defer { sqlite3_finalize(prepared) }
            sqlite3_prepare_v2(handle.handle, "SELECT 'step'", -1, &prepared, nil)
            @inline(never) func recurse(_ depth: Int, steps: Bool) -> Int {
                if depth > 0 { return recurse(depth - 1, steps: steps) + 1 }
                if steps {
                    sqlite3_step(prepared)
                    sqlite3_reset(prepared)
                } else {
                    sqlite3_exec(handle.handle, "SELECT 'exec'", nil, nil, nil)
                }
                return 0
            }
            // Another thread has no layouts yet.
            onAThread(stack: 1 << 20) {
                for depth in depths { for steps in [true, false] { _ = recurse(depth, steps: steps) } }
            }
            let log = try statements(handle)
            try #require(log.count == 2 * depths.count)
            for sql in ["SELECT 'step'", "SELECT 'exec'"] {
                let stacks = log.filter { $0.sql == sql }.map { $0.stack ?? [] }
                let shortest = try #require(stacks.first)
                for (stack, depth) in zip(stacks, depths) {
                    #expect(stack.count == min(shortest.count + depth, 32))
                    #expect(stack.first == shortest.first)
                    #expect(stack.last == shortest.last || stack.count == 32)
                    #expect(Set(stack).count <= shortest.count + 1)
                }
            }
            #expect(try log.allSatisfy(isOwn))
        }
    }

    @Test func withoutSourceLinesThereAreNoStacks() throws {
        try withConnection(statements: 10, stacks: false) { handle in
            try handle.run("CREATE TABLE t(a)")
            #expect(try statements(handle).allSatisfy { $0.stack == nil && $0.sorts != nil })
        }
    }

    /// A walk takes more than 0.05 µs on any machine, and a loop may spend a hundredth of its time on it.
    @Test func stacksHaveABudget() throws {
        let count = 50_000
        try withConnection(statements: count, path: ":memory:") { handle in
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            try #require(sqlite3_prepare_v2(handle.handle, "SELECT 1", -1, &statement, nil) == SQLITE_OK)
            let start = ContinuousClock.now
            for _ in 0..<count {
                while sqlite3_step(statement) == SQLITE_ROW {}
                sqlite3_reset(statement)
            }
            let duration = start.duration(to: .now) / .microseconds(1)
            let log = try statements(handle).suffix(count)
            #expect(log.prefix(16).allSatisfy { $0.stack != nil && $0.sorts != nil })
            let others = log.dropFirst(32)
            #expect(Double(others.filter { $0.stack != nil }.count) < duration / 100 / 0.05)
            #expect(others.filter { $0.stack == nil }.count > count / 2)
            // The next test has an allowance of its own.
            _ = ConnectionRegistry.shared.beginKeeping(maximumBytes: 0)
            defer { ConnectionRegistry.shared.endKeeping() }
            for _ in 0..<16 {
                while sqlite3_step(statement) == SQLITE_ROW {}
                sqlite3_reset(statement)
            }
            let next = try statements(handle).suffix(16)
            #expect(next.allSatisfy { $0.sql == "SELECT 1" && $0.stack != nil })
            // SQLite starts to report ends with the statement after the first one.
            #expect(next.dropFirst().allSatisfy { $0.sorts != nil })
        }
    }

    @Test(arguments: [true, false])
    func endsAreObservedAgainWhenTheBudgetHasGrown(hasStacks: Bool) throws {
        let count = 20_000
        try withConnection(statements: count, stacks: hasStacks, path: ":memory:") { handle in
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            try #require(sqlite3_prepare_v2(handle.handle, "SELECT 1", -1, &statement, nil) == SQLITE_OK)
            for _ in 0..<count {
                while sqlite3_step(statement) == SQLITE_ROW {}
                sqlite3_reset(statement)
            }
            usleep(500_000)
            for _ in 0..<3 { try handle.run("SELECT 2") }
            let last = try statements(handle).suffix(3)
            #expect(last.allSatisfy { $0.sql == "SELECT 2" })
            // SQLite starts to report ends with the statement after the first one.
            #expect(last.dropFirst().allSatisfy { $0.sorts != nil })
        }
    }

    /// SQLite's callback runs on stacks of any size and depth.
    @Test(arguments: [16, 32, 64, 256])
    func aSmallStackIsLeftAlone(kilobytes: Int) throws {
        try withConnection(statements: 10, path: ":memory:") { handle in
            onAThread(stack: kilobytes << 10) { try? handle.run("CREATE TABLE t(a)") }
            let log = try statements(handle)
            #expect(log.map(\.sql) == ["CREATE TABLE t(a)"])
            if kilobytes >= 64 { #expect(try isOwn(try #require(log.first))) }
        }
    }

    @Test func aDeepRecursionIsWalkedInPart() throws {
        try withConnection(statements: 10, path: ":memory:") { handle in
            @inline(never) func recurse(_ depth: Int) throws -> Int {
                if depth == 0 {
                    try handle.run("CREATE TABLE t(a)")
                    return 0
                }
                return try recurse(depth - 1) + 1
            }
            #expect(try recurse(5000) == 5000)
            let statement = try #require(try statements(handle).first)
            #expect(statement.stack?.count == 64)
            #expect(try isOwn(statement))
        }
    }

    /// A signal handler may run on a stack of its own, on which addresses can't be checked.
    @Test func onASignalStackThereIsNone() throws {
        try withConnection(statements: 10, path: ":memory:") { handle in
            signalHandle = handle.handle
            defer { signalHandle = nil }
            onAThread(stack: 1 << 20) {
                let memory = UnsafeMutableRawPointer.allocate(byteCount: 256 << 10, alignment: 16)
                var alternative = stack_t()
                alternative.ss_sp = memory
                alternative.ss_size = 256 << 10
                sigaltstack(&alternative, nil)
                var action = sigaction()
                action.__sigaction_handler.sa_handler = { _ in
                    signalCode = sqlite3_exec(signalHandle, "CREATE TABLE t(a)", nil, nil, nil)
                }
                action.sa_flags = Int32(SA_ONSTACK)
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, SIGUSR2)
                pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                var old = sigaction()
                sigaction(SIGUSR2, &action, &old)
                #expect(pthread_kill(pthread_self(), SIGUSR2) == 0)
                sigaction(SIGUSR2, &old, nil)
            }
            #expect(signalCode == SQLITE_OK)
            let log = try statements(handle)
            #expect(log.map(\.sql) == ["CREATE TABLE t(a)"])
            #expect(log.allSatisfy { $0.stack == nil })
        }
    }

    /// A thread looks for the callers of functions without a frame pointer a limited number of times.
    @Test func stacksStayCompleteOnAThreadWithManyStatements() throws {
        try withConnection(statements: 800, path: ":memory:") { handle in
            let queue = DispatchQueue(label: "statements")
            onAThread(stack: 1 << 20) {
                for _ in 0..<700 {
                    _ = queue.sync { sqlite3_exec(handle.handle, "SELECT 1", nil, nil, nil) }
                }
            }
            let stacks = try statements(handle).map { $0.stack ?? [] }
            try #require(stacks.count == 700)
            let first = try #require(stacks.first)
            let found = stacks.filter { !$0.isEmpty }
            #expect(found.allSatisfy { $0.count >= first.count } && first.count > 5 && found.count > 20)
        }
    }

    // MARK: Support

    /// Runs `body` on a thread with a stack of this size, in bytes.
    private func onAThread(stack: Int, _ body: @escaping () -> Void) {
        // This thread waits for the other one.
        nonisolated(unsafe) let body = body
        let ended = DispatchSemaphore(value: 0)
        let thread = Thread {
            body()
            ended.signal()
        }
        thread.stackSize = stack
        thread.start()
        ended.wait()
    }
}

/// The connection that a signal handler uses.
private nonisolated(unsafe) var signalHandle: OpaquePointer?
private nonisolated(unsafe) var signalCode: Int32 = -1
