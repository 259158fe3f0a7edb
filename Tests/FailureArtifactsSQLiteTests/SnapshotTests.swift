import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import Foundation
import Testing

/// Each test builds a state of a store for real, copies it, and reads the copy with the `sqlite3` program.
@Suite struct SnapshotTests {
    init() { ConnectionRegistry.shared.install() }

    /// The store of one path, as discovery finds it.
    private func discovered(_ path: String) throws -> DiscoveredStore {
        let connections = ConnectionRegistry.shared.openConnections.filter { $0.path == path }
        return try #require(DiscoveredStore.grouping(connections).first)
    }

    private func capture(
        _ store: DiscoveredStore, in directory: String, maximumBytes: UInt64 = 1 << 30,
        timeLimit: Double = 2
    ) -> Snapshot {
        Snapshotter(timeLimit: timeLimit, maximumBytes: maximumBytes).capture(
            store, to: .copies(in: directory))
    }

    /// Checks that a copy is one sound stand-alone file.
    private func expectStandalone(_ path: String) throws {
        for suffix in ["-wal", "-shm", "-journal"] {
            #expect(!FileManager.default.fileExists(atPath: path + suffix))
        }
        let header = try FileSystem.contents(ofFile: path).prefix(20)
        #expect(Array(header[18...]) == [1, 1])
        #expect(try sqlite3Program(path, "PRAGMA integrity_check; PRAGMA journal_mode") == "ok\ndelete")
    }

    @Test func rowsThatAreOnlyInTheWALAreInTheCopy() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                """
                PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
                CREATE TABLE item(name); INSERT INTO item VALUES ('りんご'), ('b')
                """)
            let before = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 4096)

            let snapshot = capture(try discovered(path), in: directory)

            #expect(snapshot.method == .ownConnection)
            #expect(snapshot.isConsistent && snapshot.reason == nil && snapshot.warnings.isEmpty)
            #expect(snapshot.journalMode == "wal" && snapshot.isTransactionOpen == false)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT * FROM item") == "りんご\nb")
            // The original was not checkpointed, and is still written to by others.
            let after = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
            #expect(before == after)
            #expect(
                try sqlite3Program(path, "INSERT INTO item VALUES (1); SELECT count(*) FROM item") == "3"
            )
            #expect(try application.value("SELECT count(*) FROM item") == "3")
        }
    }

    @Test(arguments: ["delete", "truncate", "persist", "memory", "off"])
    func aRollbackJournalStoreIsCopiedAndItsModeKnown(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (7)")

            let snapshot = capture(try discovered(path), in: directory)

            #expect(snapshot.method == .fileCopy && snapshot.journalMode == mode)
            #expect(snapshot.isConsistent && snapshot.isTransactionOpen == false)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT * FROM t") == "7")
            #expect(try application.value("PRAGMA journal_mode") == mode)
        }
    }

    @Test(arguments: ["wal", "delete"])
    func anOpenTransactionGivesBothStates(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                """
                PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1);
                BEGIN; INSERT INTO t VALUES (2)
                """)

            let snapshot = capture(try discovered(path), in: directory)

            #expect(snapshot.method == .serialize && snapshot.isTransactionOpen == true)
            #expect(snapshot.hasCommittedCopy && snapshot.warnings.isEmpty)
            try expectStandalone(directory + "/copy.sqlite")
            try expectStandalone(directory + "/copy.committed.sqlite")
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT a FROM t") == "1\n2")
            #expect(try sqlite3Program(directory + "/copy.committed.sqlite", "SELECT a FROM t") == "1")
            // The transaction goes on.
            try application.run("COMMIT")
            #expect(try sqlite3Program(path, "SELECT count(*) FROM t") == "2")
        }
    }

    @Test func aStoreTooLargeForMemoryGivesTheCommittedState() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                "CREATE TABLE t(a); INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)")
            let snapshotter = Snapshotter(maximumBytes: 1 << 30, maximumMemory: 1000)

            let snapshot = snapshotter.capture(
                try discovered(path), to: .copies(in: directory))

            #expect(snapshot.method == .secondConnection && snapshot.isTransactionOpen == true)
            #expect(snapshot.warnings.count == 1)
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT a FROM t") == "1")
        }
    }

    @Test func aReaderSeesItsOwnSnapshotOfAWALStore() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run("PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            try application.run("BEGIN; SELECT * FROM t")
            #expect(try sqlite3Program(path, "INSERT INTO t VALUES (2); SELECT count(*) FROM t") == "2")

            let snapshot = capture(try discovered(path), in: directory)

            #expect(snapshot.method == .ownConnection)
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT a FROM t") == "1")
        }
    }

    @Test func storesInMemoryAndTemporaryOnesAreCopied() throws {
        try withTemporaryDirectory { directory in
            for (name, storage) in [(":memory:", Snapshot.Storage.memory), ("", .temporary)] {
                let before = Set(ConnectionRegistry.shared.openConnections.map(\.serial))
                let application = try ApplicationHandle(name)
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES ('\(storage)')")
                let mine = ConnectionRegistry.shared.openConnections.filter {
                    !before.contains($0.serial) && $0.path == nil && $0.lastUse?.isOnThisThread == true
                }
                let store = try #require(DiscoveredStore.grouping(mine).last)

                let snapshot = capture(store, in: directory)

                #expect(snapshot.storage == storage && snapshot.method == .ownConnection)
                try expectStandalone(directory + "/copy.sqlite")
                #expect(
                    try sqlite3Program(directory + "/copy.sqlite", "SELECT a FROM t") == "\(storage)")
                try FileManager.default.removeItem(atPath: directory + "/copy.sqlite")
            }
        }
    }

    @Test(arguments: ["wal", "delete"])
    func aConnectionWithoutAMutexIsUsedOnlyOnItsThread(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
            let application = try ApplicationHandle(path, flags: flags)
            try application.run(
                """
                PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1);
                BEGIN; INSERT INTO t VALUES (2)
                """)

            // On this thread: as inside a synchronous transaction block.
            let here = capture(try discovered(path), in: directory)
            #expect(here.method == .serialize)
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT a FROM t") == "1\n2")

            // Elsewhere: only what is committed, by a way that is in no writer's way.
            try FileManager.default.removeItem(atPath: directory + "/copy.sqlite")
            let elsewhere = Lock<Snapshot?>(nil)
            let store = try discovered(path)
            let thread = Thread {
                let snapshot = capture(store, in: directory)
                elsewhere.withLock { $0 = snapshot }
            }
            thread.start()
            while !thread.isFinished { usleep(1000) }
            #expect(elsewhere.withLock { $0?.method } == .fileCopy)
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT a FROM t") == "1")
        }
    }

    @Test func aBusyConnectionIsNotWaitedForPastTheLimit() throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(":memory:")
            let connection = try application.discovered
            let handle = application.handle
            let mutex = try #require(sqlite3_db_mutex(handle))
            let isHeld = Lock(false)
            let mayEnd = Lock(false)
            nonisolated(unsafe) let held = mutex
            let thread = Thread {
                sqlite3_mutex_enter(held)
                isHeld.withLock { $0 = true }
                while !mayEnd.withLock(\.self) { usleep(1000) }
                sqlite3_mutex_leave(held)
            }
            thread.start()
            while !isHeld.withLock(\.self) { usleep(1000) }
            let store = try #require(DiscoveredStore.grouping([connection]).first)

            let start = Instant.now
            let snapshot = capture(store, in: directory, timeLimit: 0.2)

            #expect(start.elapsed < 5)
            #expect(snapshot.method == .described)
            #expect(snapshot.reason?.contains("Another thread") == true)
            mayEnd.withLock { $0 = true }
            while !thread.isFinished { usleep(1000) }
        }
    }

    /// A writer that has locked everyone out, its first pages in the file already.
    @Test func aLockedStoreIsCopiedAsItWasCommitted() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let reader = try ApplicationHandle(path)
            try reader.run(
                """
                CREATE TABLE t(a); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000)
                INSERT INTO t SELECT zeroblob(500) FROM c
                """)
            let writer = Process()
            writer.executableURL = URL(filePath: "/usr/bin/env")
            writer.arguments = ["sqlite3", path]
            let (input, output) = (Pipe(), Pipe())
            writer.standardInput = input
            writer.standardOutput = output
            try writer.run()
            let statements =
                "PRAGMA cache_size = 5; BEGIN EXCLUSIVE; UPDATE t SET a = 'gone'; SELECT 'locked';\n"
            input.fileHandleForWriting.write(Data(statements.utf8))
            _ = output.fileHandleForReading.availableData
            #expect(try FileSystem.status(of: path + "-journal") != nil)

            let start = Instant.now
            let snapshot = capture(try discovered(path), in: directory)

            #expect(start.elapsed < 5)
            #expect(snapshot.method == .fileCopy && snapshot.isConsistent && snapshot.foldedJournal)
            try expectStandalone(directory + "/copy.sqlite")
            let rows = "SELECT count(*), sum(a = zeroblob(500)) FROM t"
            #expect(try sqlite3Program(directory + "/copy.sqlite", rows) == "1000|1000")
            try input.fileHandleForWriting.close()
            writer.waitUntilExit()
        }
    }

    @Test func aClosedStoreIsCopiedWithItsWAL() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            // A process that dies leaves a WAL behind.
            let kept = try ApplicationHandle(path)
            try kept.run("PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(
                    atPath: path + suffix, toPath: directory + "/left" + suffix)
            }

            let snapshot = capture(DiscoveredStore(path: directory + "/left"), in: directory)

            #expect(snapshot.method == .fileCopy && snapshot.isConsistent && snapshot.foldedJournal)
            #expect(snapshot.journalMode == "wal" && snapshot.isTransactionOpen == false)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT a FROM t") == "1")
            #expect(FileManager.default.fileExists(atPath: directory + "/left-wal"))
            #expect(!FileManager.default.fileExists(atPath: directory + "/left-shm"))
        }
    }

    @Test func aStoreThatSomebodyHasOpenIsReadWithoutDroppingItsLocks() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run("CREATE TABLE t(a); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")

            // As if the connection were unknown: registered, with discovery off.
            let snapshot = capture(DiscoveredStore(path: path), in: directory)

            #expect(snapshot.method == .fileCopy && snapshot.isTransactionOpen == nil)
            // Opening and closing the file would have dropped the lock.
            #expect(try sqlite3Program(path, "INSERT INTO t VALUES (2)").contains("locked"))
        }
    }

    @Test func aStoreDeletedWhileOpenIsReadThroughItsConnection() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            try FileManager.default.removeItem(atPath: path)

            let snapshot = capture(try discovered(path), in: directory)

            #expect(snapshot.method == .ownConnection && snapshot.warnings.count == 1)
            #expect(try sqlite3Program(directory + "/copy.sqlite", "SELECT a FROM t") == "1")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func aVanishedStoreAndAStoreOverTheLimitAreDescribed() throws {
        try withTemporaryDirectory { directory in
            let vanished = capture(DiscoveredStore(path: directory + "/gone.sqlite"), in: directory)
            #expect(vanished.method == .described && vanished.reason?.contains("gone.sqlite") == true)

            let path = directory + "/large.sqlite"
            let application = try ApplicationHandle(path)
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000))")
            let large = capture(try discovered(path), in: directory, maximumBytes: 50_000)
            #expect(large.method == .described && large.excessiveBytes == 106_496 && large.reason != nil)
            let memory = try ApplicationHandle(":memory:")
            try memory.run("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000))")
            let store = try #require(try memory.stores.first)
            #expect(capture(store, in: directory, maximumBytes: 50_000).excessiveBytes == 106_496)
        }
    }

    @Test func aFileThatIsNoDatabaseIsCopiedAsItIs() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/notes.sqlite"
            try Data("no database at all, but somebody registered it".utf8).write(
                to: URL(filePath: path))

            let snapshot = capture(DiscoveredStore(path: path), in: directory)

            #expect(snapshot.method == .fileCopy && snapshot.warnings.count == 1)
            #expect(
                try Data(contentsOf: URL(filePath: directory + "/copy.sqlite"))
                    == Data(contentsOf: URL(filePath: path)))
        }
    }
}
