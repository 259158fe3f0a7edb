import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The history that is read from a WAL, for each capture strategy.
@Suite struct HistoryCaptureTests {
    init() { ConnectionRegistry.shared.install() }

    /// A WAL with three transactions: one creates the table, one inserts 1, and one inserts 2 and 3.
    private let transactions = """
        PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(a);
        INSERT INTO t VALUES (1); INSERT INTO t VALUES (2), (3);
        """

    private let expected = ["empty", "", "1", "1,2,3"]

    @Test(arguments: [0, SQLITE_OPEN_NOMUTEX]) func ofFilesThatAreCopied(flags: Int32) throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(
                directory + "/shop.sqlite", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags)
            try application.run(transactions)
            let storeCopy = try Witness.undisturbed(path: directory + "/shop.sqlite") {
                capture(try application.store, in: directory)
            }
            #expect(storeCopy.method == .fileCopy && storeCopy.warnings.isEmpty)
            #expect(storeCopy.history?.transactions == 3 && storeCopy.history?.reason == nil)
            #expect(try rebuiltStates(directory) == expected)
            #expect(FileSystem.regularFile(directory + "/copy.sqlite-index") == nil)
        }
    }

    @Test func ofACopyInsideATransaction() throws {
        try withStore { application, _, directory in
            try application.run(transactions + "BEGIN; INSERT INTO t VALUES (4)")
            let storeCopy = capture(try application.store, in: directory)
            #expect(storeCopy.method == .pageCache && storeCopy.hasCommittedCopy)
            #expect(storeCopy.history?.transactions == 3)
            #expect(try rebuiltStates(directory, of: "copy.committed.sqlite") == expected)
            try application.run("COMMIT")
        }
    }

    @Test func ofAStoreOfADeadProcess() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let process = try OtherProcess(path)
            try process.run(transactions)
            process.kill()
            let storeCopy = capture(DiscoveredStore(path: path), in: directory)
            #expect(storeCopy.method == .fileCopy && storeCopy.history?.transactions == 3)
            #expect(try rebuiltStates(directory) == expected)
        }
    }

    /// The copy has a commit that only the process itself can read.
    ///
    /// Some versions of SQLite, 3.40.1 among them, have a defect. If a savepoint was rolled back in a transaction, they
    /// leave some of its frames without a checksum. The connection sees the commit, but a process that recovers the WAL
    /// does not.
    @Test(arguments: [0, SQLITE_OPEN_NOMUTEX])
    func whatOnlyTheProcessItselfCanReadIsInTheCopy(flags: Int32) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(
                path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags)
            try application.run(
                """
                PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
                CREATE TABLE t(k INTEGER PRIMARY KEY, a); CREATE TABLE u(k INTEGER PRIMARY KEY, a);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 3000)
                INSERT INTO t SELECT n, zeroblob(100) FROM c;
                INSERT INTO u SELECT * FROM t; PRAGMA wal_checkpoint(truncate);
                PRAGMA cache_size = 10; BEGIN; UPDATE t SET a = 'new' WHERE k = 1; SAVEPOINT s;
                UPDATE u SET a = 1; UPDATE u SET a = 2; ROLLBACK TO s; UPDATE t SET a = 'new'; COMMIT
                """)
            let count = "SELECT count(*) FROM t WHERE a = 'new'"
            #expect(try application.value(count) == "3000")

            let storeCopy = capture(try application.store, in: directory)

            try expectStandalone(directory + "/copy.sqlite")
            #expect(try sqlite3Program(directory + "/copy.sqlite", count) == "3000")
            #expect(storeCopy.isConsistent)
            // With a version that has the defect, nothing can be rebuilt, and the history says so.
            let history = try #require(storeCopy.history)
            #expect((history.transactions == 0) == (history.reason != nil))
        }
    }
}
