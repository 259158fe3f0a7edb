import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCapture

// Stores with a WAL, which may have lost the beginning.
extension RecordedStatesTests {
    @Test(arguments: [
        "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(RESTART)", "close", "vacuum",
    ])
    func theStatesBeforeTheWALBeganAnewAreKept(event: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            var application = try ApplicationHandle(path)
            try application.run("PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            if event == "close" {
                application.close()
                application = try ApplicationHandle(path)
            } else {
                try application.run(event)
            }
            try application.run("INSERT INTO t VALUES (2); BEGIN; DELETE FROM t WHERE a = 1; COMMIT")
            let storeCopy = capture(try application.store, in: directory)
            let history = try #require(storeCopy.history)
            let found = try rebuiltStates(directory)
            #expect(
                found.suffix(event == "vacuum" ? 2 : 4)
                    == ["", "1", "1,2", "2"].suffix(event == "vacuum" ? 2 : 4))
            #expect(
                history.commits.count == history.transactions
            )
            // Each state is a stand-alone file.
            try HistoryReader(path: directory + "/copy.wal-history").rebuild(
                at: history.transactions - 1, from: directory + "/copy.sqlite",
                to: directory + "/one.sqlite")
            try expectStandalone(directory + "/one.sqlite")
        }
    }

    /// The pages of a large transaction may be in the WAL only.
    @Test func aTransactionThatIsLargerThanTheCacheLeavesTheHistoryToTheWAL() throws {
        try withStore { application, _, directory in
            try application.run(
                """
                PRAGMA journal_mode = wal; PRAGMA cache_size = 10; CREATE TABLE t(a); CREATE TABLE large(b);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100)
                INSERT INTO large SELECT zeroblob(3000) FROM c; INSERT INTO t VALUES (1)
                """)
            let history = try #require(capture(try application.store, in: directory).history)
            #expect(history.transactions == 4 && history.commits.isEmpty)
            #expect(try rebuiltStates(directory).last == "1")
        }
    }

    /// Another process's transactions between those of this one would make states that never were.
    @Test func anotherProcessLeavesTheHistoryToTheWAL() throws {
        try withStore { application, path, directory in
            try application.run("PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let other = try OtherProcess(path)
            try other.run("INSERT INTO t VALUES (2)")
            try application.run("INSERT INTO t VALUES (3)")
            let history = try #require(capture(try application.store, in: directory).history)
            #expect(history.commits.isEmpty)
            #expect(try rebuiltStates(directory).suffix(3) == ["1", "1,2", "1,2,3"])
        }
    }

    /// The index of the WAL is then in the connection's own memory, and asking for it would create its file.
    @Test func aConnectionWithAnExclusiveLockIsLeftAlone() throws {
        try withStore { application, path, directory in
            try application.run(
                "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)"
            )
            #expect(FileSystem.regularFile(path + "-wal") != nil)
            #expect(FileSystem.regularFile(path + "-shm") == nil)
        }
    }

    /// The file lacks the content of a WAL that existed when the store was opened.
    @Test func aWALThatWasThereBeforeHasTheHistory() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let other = try OtherProcess(path)
            try other.run("PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let application = try ApplicationHandle(path)
            try application.run("INSERT INTO t VALUES (2)")
            let history = try #require(capture(try application.store, in: directory).history)
            #expect(history.commits.isEmpty)
            #expect(try rebuiltStates(directory).suffix(2) == ["1", "1,2"])
        }
    }
}
