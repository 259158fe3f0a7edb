import CFailureArtifactsCapture
import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCapture

/// The rules in reading.h, which decide what may run on a connection of the application.
///
/// The states of connections, each with what a test can notice of a capture, are in the integration suite `StatesSuite`.
@Suite struct PermittedReadingTests {
    init() { ConnectionRegistry.shared.install() }

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

    /// If SQLite wrote pages of the transaction to the file, that would lock all others out.
    @Test func aTransactionIsNotSpilledByReadingIt() throws {
        try withStore { application, path, directory in
            try application.fill()
            // The transaction fills the cache: none of it is in the file yet, but the next page would cause a write.
            try application.run(
                """
                PRAGMA cache_size = 12; BEGIN;
                UPDATE big SET a = 'changed' || randomblob(490) WHERE id <= 72
                """)
            func lock() -> CInt {
                var state: CInt = -1
                sqlite3_file_control(application.handle, "main", SQLITE_FCNTL_LOCKSTATE, &state)
                return state
            }
            #expect(lock() == 2)
            let storeCopy = StoreCopier(maximumBytes: 1 << 30).capture(
                try application.store, to: .copies(in: directory))
            #expect(storeCopy.method == .pageCache && storeCopy.hasCommittedCopy)
            #expect(lock() == 2)
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

    @Test func ourOwnConnectionsAreNotDiscovered() throws {
        try withTemporaryDirectory { directory in
            let connection = try Connection(path: directory + "/own.sqlite", mode: .create)
            try connection.execute("CREATE TABLE t(a)")
            #expect(
                !ConnectionRegistry.shared.openConnections.contains {
                    $0.path == directory + "/own.sqlite"
                })
        }
    }

    @Test func whatATestHasUsedIsToldFromWhatIsMerelyOpen() throws {
        try withStore("CREATE TABLE t(a)") { application, path, directory in
            let pointInTime = ConnectionRegistry.shared.now
            let connections = ConnectionRegistry.shared.openConnections.filter { $0.path == path }
            let store = try #require(DiscoveredStore.grouping(connections).first)
            #expect(!store.isUsed(since: pointInTime))
            _ = StoreCopier(maximumBytes: 1 << 30).capture(
                store, to: .copies(in: directory))
            // Our own statements do not count as a use.
            #expect(!store.isUsed(since: pointInTime))
            try application.run("INSERT INTO t VALUES (1)")
            #expect(store.isUsed(since: pointInTime))
        }
    }
}
