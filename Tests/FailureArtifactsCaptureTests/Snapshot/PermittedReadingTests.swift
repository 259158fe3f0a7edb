import CFailureArtifactsCapture
import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCapture

/// The table in reading.h, which decides what may run on a connection of the application.
@Suite struct PermittedReadingTests {
    /// A state of a connection, with what may run in it.
    struct State: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let setUp: String
        /// The permitted reading in a file, and in memory.
        let permitted: [failure_artifacts_reading]
    }

    private static let states = [
        State(testDescription: "idle", setUp: "", permitted: [readsFiles, backsUp]),
        State(testDescription: "read", setUp: "BEGIN; SELECT * FROM t", permitted: [backsUp, backsUp]),
        State(
            testDescription: "write", setUp: "BEGIN; INSERT INTO t VALUES (2)",
            permitted: [serializes, serializes]),
        State(
            testDescription: "savepoint", setUp: "SAVEPOINT s; INSERT INTO t VALUES (2)",
            permitted: [serializes, serializes]),
    ]
    private static let readsFiles = failure_artifacts_reads_files
    private static let backsUp = failure_artifacts_reads_by_backup
    private static let serializes = failure_artifacts_reads_by_serializing

    private func permitted(_ application: ApplicationHandle) throws -> failure_artifacts_reading {
        failure_artifacts_permitted_reading(try application.discovered.record, "main")
    }

    private func withStores(_ body: (ApplicationHandle, Int) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            for (index, path) in [directory + "/shop.sqlite", ":memory:"].enumerated() {
                let application = try ApplicationHandle(path)
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                try body(application, index)
            }
        }
    }

    @Test(arguments: states)
    func aTransactionDecides(state: State) throws {
        try withStores { (application, index) throws in
            try application.run(state.setUp)
            #expect(try permitted(application) == state.permitted[index])
        }
    }

    /// In autocommit mode, a statement would commit what is being written.
    @Test func nothingRunsDuringAStatementThatWrites() throws {
        try withStores { (application, _) throws in
            var statement: OpaquePointer?
            sqlite3_prepare_v2(
                application.handle, "INSERT INTO t VALUES (2) RETURNING a", -1, &statement, nil)
            #expect(sqlite3_step(statement) == SQLITE_ROW)
            #expect(try permitted(application) == failure_artifacts_reads_cache)
            sqlite3_finalize(statement)
        }
    }

    /// Another statement would crash the next step of the backup.
    @Test func nothingRunsOnTheTargetOfABackup() throws {
        try withStores { (application, _) throws in
            let source = try ApplicationHandle(":memory:")
            try source.fill()
            let backup = sqlite3_backup_init(application.handle, "main", source.handle, "main")
            #expect(sqlite3_backup_step(backup, 1) == SQLITE_OK)
            #expect(try permitted(application) == failure_artifacts_is_writing)
            #expect(sqlite3_backup_step(backup, -1) == SQLITE_DONE)
            #expect(sqlite3_backup_finish(backup) == SQLITE_OK)
        }
    }

    /// SQLite uses the same error code for a connection that is being closed.
    @Test func aMisusedStatementIsNoClose() throws {
        let application = try ApplicationHandle(":memory:")
        var statement: OpaquePointer?
        sqlite3_prepare_v2(application.handle, "SELECT 1 WHERE 1 = ?", -1, &statement, nil)
        sqlite3_bind_int(statement, 1, 1)
        #expect(sqlite3_step(statement) == SQLITE_ROW)
        #expect(sqlite3_bind_int(statement, 1, 2) == SQLITE_MISUSE)
        #expect(sqlite3_errcode(application.handle) == SQLITE_MISUSE)
        let record = try application.discovered.record
        #expect(!failure_artifacts_is_closing(record))
        sqlite3_finalize(statement)
    }

    @Test(arguments: [":memory:", ""])
    func whereAStoreWithoutAFileLives(path: String) throws {
        let application = try ApplicationHandle(path)
        #expect(
            try failure_artifacts_is_in_memory(application.discovered.record, "main") == !path.isEmpty)
    }

    /// Without a growing cache, SQLite would write pages of the transaction to the file and lock all others out.
    @Test func aTransactionIsNotSpilledByReadingIt() throws {
        try withStore { application, path, directory in
            try application.fill()
            // The transaction fills the cache: none of it is in the file yet, but the next page would cause a write.
            try application.run(
                """
                PRAGMA cache_size = 12; BEGIN;
                UPDATE big SET a = 'changed' || randomblob(490) WHERE id <= 72
                """)
            #expect(try failure_artifacts_lock_state(application.discovered.record, "main") < 4)
            let snapshot = Snapshotter(maximumBytes: 1 << 30).capture(
                try application.store, to: .copies(in: directory))
            #expect(snapshot.method == .serialize && snapshot.hasCommittedCopy)
            #expect(try failure_artifacts_lock_state(application.discovered.record, "main") < 4)
            #expect(try copied(directory, "SELECT count(*) FROM big WHERE typeof(a) = 'text'") == "72")
        }
    }

    /// The application's limit is restored, and a limit that it set meanwhile stays.
    @Test func theHeapLimitIsRaisedForAWhile() throws {
        // The limit applies to the whole process, so it is larger than other tests need.
        let limit: Int64 = 1 << 40
        let before = sqlite3_hard_heap_limit64(limit)
        defer { sqlite3_hard_heap_limit64(before) }
        Connection.exceedingMemoryLimit(by: 1000) {
            #expect(sqlite3_hard_heap_limit64(-1) >= limit + 1000)
        }
    }
}
