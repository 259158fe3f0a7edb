import CFailureArtifactsCapture
import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

// Callbacks and counters of SQLite that the application uses too.
extension StatementLogTests {
    // MARK: sqlite3_profile()

    /// Runs `body` with a counter of the calls of the connection's profile function.
    private func profiling(
        _ handle: ApplicationHandle, _ body: (UnsafeMutablePointer<Int>) throws -> Void
    ) rethrows {
        var calls = 0
        try withUnsafeMutablePointer(to: &calls) { counter in
            sqlite3_profile(
                handle.handle,
                { context, _, _ in context?.assumingMemoryBound(to: Int.self).pointee += 1 }, counter)
            try body(counter)
            sqlite3_profile(handle.handle, nil, nil)
        }
    }

    /// The log ceases to observe ends after the first 1,000 statements, and begins again after a pause.
    @Test(arguments: [true, false], [0, 500, 3000])
    func anApplicationsProfileFunctionGetsAllCalls(isDiscovered: Bool, earlier: Int) throws {
        try withConnection(statements: 10, path: ":memory:") { discovered in
            if !isDiscovered { failure_artifacts_discovery_pause() }
            let handle = isDiscovered ? discovered : try ApplicationHandle(":memory:")
            if !isDiscovered { failure_artifacts_discovery_resume() }
            try handle.run("CREATE TABLE t(a)")
            for number in 0..<earlier { try handle.run("INSERT INTO t VALUES (\(number))") }
            try profiling(handle) { calls in
                for number in 0..<5000 {
                    if number == 4000 { usleep(200_000) }
                    try handle.run("INSERT INTO t VALUES (\(number))")
                }
                #expect(calls.pointee == 5000)
            }
            #expect(try handle.value("SELECT count(*) FROM t") == "\(earlier + 5000)")
            guard isDiscovered else { return }
            #expect(try statements(handle).map(\.sql).last == "SELECT count(*) FROM t")
        }
    }

    @Test func aProfileFunctionThatAnAutomaticExtensionSetsIsCalled() async {
        await #expect(processExitsWith: .success) {
            let extensionFunction:
                @convention(c) (
                    OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
                    UnsafeRawPointer?
                ) -> Int32 = { handle, _, _ in
                    sqlite3_profile(handle, { _, _, _ in profileCalls += 1 }, nil)
                    return SQLITE_OK
                }
            sqlite3_auto_extension(
                unsafeBitCast(extensionFunction, to: (@convention(c) () -> Void).self))
            ConnectionRegistry.shared.install()
            ConnectionRegistry.shared.configureLog(statements: 10)
            for _ in 0..<2 {
                let handle = try ApplicationHandle(":memory:")
                profileCalls = 0
                for _ in 0..<3000 { try handle.run("SELECT 1") }
                guard profileCalls == 3000, try handle.store.statements(keeping: .none).isReplaced else {
                    exit(1)
                }
            }
            exit(0)
        }
    }

    // MARK: Counters

    /// SQLite's counters that the query below increases.
    private static let counters = [SQLITE_STMTSTATUS_FULLSCAN_STEP, SQLITE_STMTSTATUS_SORT]

    @Test func aCounterThatTheApplicationResetsIsLeftOut() throws {
        try withConnection(statements: 10) { handle in
            try handle.run("CREATE TABLE t(a)")
            try handle.run(
                "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000) "
                    + "INSERT INTO t SELECT n FROM c")
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            let sql = "SELECT a FROM t WHERE a % 2 = 0 ORDER BY a DESC"
            try #require(
                sqlite3_prepare_v2(handle.handle, sql, -1, &statement, nil) == SQLITE_OK)
            for isReset in [false, true, false] {
                try #require(sqlite3_step(statement) == SQLITE_ROW)
                for counter in Self.counters where isReset {
                    sqlite3_stmt_status(statement, counter, 1)
                }
                while sqlite3_step(statement) == SQLITE_ROW {}
                sqlite3_reset(statement)
            }
            let ends = try log(handle).suffix(3).filter { $0.endTicks != nil }.map(\.record)
            #expect(ends.map(\.sorts) == [1, nil, 1])
            #expect(ends.map(\.fullScanSteps) == [2999, nil, 2999])
            #expect(ends.map(\.autoIndexes) == [0, 0, 0])
        }
    }

    @Test(arguments: [false, true])
    func writtenPagesAreLeftOutOnceTheApplicationResetsTheirCounter(isInTransaction: Bool) throws {
        try withConnection(statements: 100) { handle in
            #expect(try handle.value("PRAGMA journal_mode = wal") == "wal")
            try handle.run("CREATE TABLE t(a)")
            try handle.run("INSERT INTO t VALUES (0)")
            for number in 1...3 {
                if isInTransaction { try handle.run("BEGIN") }
                try handle.run("INSERT INTO t VALUES (\(number))")
                if isInTransaction && number == 2 { reset(handle) }
                if isInTransaction { try handle.run("COMMIT") }
                if !isInTransaction && number == 2 { reset(handle) }
            }
            try handle.run("SELECT 1")
            let log = try statements(handle)
            #expect(log.map(\.pages).prefix(4).dropFirst() == [2, 1, isInTransaction ? 0 : 1])
            let later = log.drop { !$0.sql.contains("(2)") }
            #expect(later.allSatisfy { $0.pages == nil && $0.versions == nil })
            #expect(later.map(\.changes).reduce(0) { $0 + ($1 ?? 0) } == 2)
        }
    }

    private func reset(_ handle: ApplicationHandle) {
        var (current, highest): (CInt, CInt) = (0, 0)
        sqlite3_db_status(handle.handle, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 1)
    }
}

/// The number of calls of the profile function that an automatic extension sets.
private nonisolated(unsafe) var profileCalls = 0
