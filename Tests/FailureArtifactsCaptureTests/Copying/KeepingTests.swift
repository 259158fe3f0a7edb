import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

extension ProcessWideTests {
    /// Content that a rollback or a close would lose, saved while a test runs.
    @Suite struct KeepingTests {
        init() { ConnectionRegistry.shared.install() }

        /// Runs `body` as a test is run, with a point in time before it.
        private func keeping(_ body: (String, ConnectionRegistry.PointInTime) throws -> Void) throws {
            ConnectionRegistry.shared.beginKeeping(maximumBytes: 16 << 20)
            defer { ConnectionRegistry.shared.endKeeping() }
            try withTemporaryDirectory { directory in try body(directory, ConnectionRegistry.shared.now)
            }
        }

        /// Returns the stores that were closed since, without those of other tests.
        private func closed(
            since pointInTime: ConnectionRegistry.PointInTime, where isMine: (ClosedStore) -> Bool
        ) -> [DiscoveredStore] {
            ConnectionRegistry.shared.storesClosed(after: pointInTime).filter(isMine).map {
                DiscoveredStore($0)
            }
        }

        /// Returns the store that this test closed, identified by its path or, in memory, by its size or its last use.
        ///
        /// Tests that run at the same time close stores in memory, too. No two statements have the same number.
        private func closedStore(
            since pointInTime: ConnectionRegistry.PointInTime, _ path: String?,
            lastUsed order: UInt64? = nil, where fits: (Int) -> Bool = { _ in true }
        ) throws -> DiscoveredStore {
            let mine = closed(since: pointInTime) { store in
                if let order, store.lastUse != order { return false }
                return path == nil
                    ? store.path == nil && fits(store.last?.size ?? 0) : store.path == path
            }
            return try #require(mine.last)
        }

        // MARK: Rollbacks, the store still open

        static let unwindings = [
            "ROLLBACK", "rollback transaction", " ;\n-- a comment\n/* and another */ ROLLBACK",
            "\u{FEFF}ROLLBACK", "ROLLBACK TO a; RELEASE a; ROLLBACK",
            "ROLLBACK TO b; RELEASE b; ROLLBACK TO a; RELEASE a; ROLLBACK",
        ]

        @Test(arguments: ["wal", "delete", ":memory:"], unwindings)
        func anErrorShowsTheStateBeforeTheRollback(mode: String, unwinding: String) throws {
            try keeping { directory, _ in
                let isInMemory = mode == ":memory:"
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(isInMemory ? mode : path)
                if !isInMemory { try application.run("PRAGMA journal_mode = \(mode)") }
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                try application.run(
                    "BEGIN; INSERT INTO t VALUES (2); SAVEPOINT a; INSERT INTO t VALUES (3)")
                try application.run("SAVEPOINT b; INSERT INTO t VALUES (4)")
                try application.run(unwinding)

                let storeCopy = try Witness.undisturbed(
                    application, path: isInMemory ? nil : path, isSilent: true
                ) {
                    return capture(try application.store, in: directory, afterError: true)
                }

                #expect(storeCopy.method == .beforeRollback && storeCopy.isConsistent)
                #expect(storeCopy.isTransactionOpen == true && storeCopy.hasCommittedCopy)
                #expect(storeCopy.warnings.isEmpty)
                try expectStandalone(directory + "/copy.sqlite")
                try expectStandalone(directory + "/copy.committed.sqlite")
                #expect(try copied(directory) == "1\n2\n3\n4")
                #expect(try copied(directory, committed: true) == "1")

                // An assertion is about the state at its own time.
                for name in ["copy.sqlite", "copy.committed.sqlite"] {
                    try FileSystem.remove(directory + "/" + name)
                }
                let asserted = capture(try application.store, in: directory)
                #expect(asserted.method == (mode == ":memory:" ? .ownConnection : .fileCopy))
                #expect(asserted.isTransactionOpen == false && !asserted.hasCommittedCopy)
                #expect(try copied(directory) == "1")
            }
        }

        /// The history belongs to the state after the rollback, and has the same limit as any other.
        @Test func theHistoryOfWhatIsLeftHasItsLimit() throws {
            try keeping { directory, _ in
                let application = try ApplicationHandle(directory + "/shop.sqlite")
                try application.run(
                    "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(a)")
                for _ in 0..<20 { try application.run("INSERT INTO t VALUES (randomblob(20000))") }
                try application.run("BEGIN; INSERT INTO t VALUES (2); ROLLBACK")

                let storeCopy = capture(
                    try application.store, in: directory, maximumHistoryBytes: 200_000, afterError: true)

                #expect(storeCopy.method == .beforeRollback && storeCopy.hasCommittedCopy)
                let history = try #require(storeCopy.history)
                #expect(1..<20 ~= history.transactions, "\(history)")
                let file = try #require(FileSystem.regularFile(directory + "/copy.wal-history"))
                #expect(file.size <= 200_000)
            }
        }

        /// An earlier rollback does not matter to a later error.
        @Test(
            arguments: [
                "INSERT INTO t VALUES (9)", "INSERT INTO t VALUES (9); BEGIN; SELECT * FROM t; ROLLBACK",
                "INSERT INTO t VALUES (9); SAVEPOINT x; ROLLBACK TO x; RELEASE x",
            ])
        func aRollbackThatWasFollowedByOtherThingsIsForgotten(later: String) throws {
            try keeping { directory, pointInTime in
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(path)
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                try application.run("BEGIN; INSERT INTO t VALUES (2); ROLLBACK")
                try application.run(later)

                let open = capture(try application.store, in: directory, afterError: true)
                #expect(open.method == .fileCopy && open.isTransactionOpen == false)
                #expect(try copied(directory) == "1\n9")
                try FileSystem.remove(directory + "/copy.sqlite")

                application.close()
                let closed = capture(
                    try closedStore(since: pointInTime, path), in: directory, afterError: true)
                #expect(closed.method == .fileCopy && !closed.hasCommittedCopy)
                #expect(try copied(directory) == "1\n9")
            }
        }

        /// Another connection has seen the store after the rollback, and used it.
        @Test func aRollbackThatAnotherConnectionHasSeenIsForgotten() throws {
            try keeping { directory, _ in
                let path = directory + "/shop.sqlite"
                let writer = try ApplicationHandle(path)
                let reader = try ApplicationHandle(path)
                try writer.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                try writer.run("BEGIN; INSERT INTO t VALUES (2); ROLLBACK")
                #expect(try reader.value("SELECT count(*) FROM t") == "1")
                let storeCopy = capture(try reader.store, in: directory, afterError: true)
                #expect(storeCopy.method == .fileCopy)
                #expect(try copied(directory) == "1")
            }
        }

        /// As in a pool: the connection that rolled back ends before the others.
        @Test(arguments: [true, false], [true, false])
        func theConnectionThatRolledBackMayEndFirst(isUsedLater: Bool, isClosed: Bool) throws {
            try keeping { directory, pointInTime in
                let path = directory + "/shop.sqlite"
                let writer = try ApplicationHandle(path)
                let reader = try ApplicationHandle(path)
                try writer.run("PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                #expect(try reader.value("SELECT count(*) FROM t") == "1")
                try writer.run("BEGIN; INSERT INTO t VALUES (2); ROLLBACK")
                writer.close()
                if isUsedLater { #expect(try reader.value("SELECT count(*) FROM t") == "1") }
                if isClosed { reader.close() }
                let store = try isClosed ? closedStore(since: pointInTime, path) : reader.store
                let storeCopy = capture(store, in: directory, afterError: true)
                #expect((storeCopy.method == .beforeRollback) == !isUsedLater)
                #expect(try copied(directory) == (isUsedLater ? "1" : "1\n2"))
                if !isUsedLater { #expect(try copied(directory, committed: true) == "1") }
            }
        }

        /// The transaction fits into its cache, with little room left.
        @Test func keepingHasNothingWrittenToTheFile() throws {
            try keeping { directory, _ in
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(path)
                try application.fill(rows: 3000)
                try application.run("PRAGMA cache_size = 100; BEGIN IMMEDIATE")
                // Of 100 pages, 95 are changed. None is written yet, but reading more pages would cause a write.
                for row in stride(from: 1, to: 95 * 8, by: 8) {
                    try application.run("UPDATE big SET a = 'changed' WHERE id = \(row)")
                }
                let before = FileSystem.regularFile(path)
                #expect(try Witness.locks(on: path).contains("1073741825 1073741825"))
                try application.run("ROLLBACK")
                #expect(FileSystem.regularFile(path) == before)
                #expect(try application.value("PRAGMA cache_size") == "100")
                #expect(try application.value(untouched) == "3000")
            }
        }

        @Test func anAttachedStoreIsRolledBackToo() throws {
            try keeping { directory, _ in
                let application = try ApplicationHandle(directory + "/shop.sqlite")
                try application.run(
                    """
                    ATTACH '\(directory)/stock.sqlite' AS stock; ATTACH ':memory:' AS cache;
                    CREATE TABLE stock.t(a); CREATE TABLE cache.t(a)
                    """)
                try application.run(
                    "BEGIN; INSERT INTO stock.t VALUES (1); INSERT INTO cache.t VALUES (2)")
                try application.run("ROLLBACK")
                let stores = try application.stores
                for (index, expected) in ["", "1", "2"].enumerated() {
                    let place = "\(directory)/\(index)"
                    try FileManager.default.createDirectory(
                        atPath: place, withIntermediateDirectories: false)
                    let storeCopy = capture(stores[index], in: place, afterError: true)
                    #expect((storeCopy.method == .beforeRollback) == (index > 0))
                    if index > 0 { #expect(try copied(place) == expected) }
                    if index > 0 { #expect(try copied(place, committed: true) == "") }
                }
            }
        }

        // MARK: Rollbacks, the store closed

        @Test(
            arguments: ["wal", "delete", ":memory:"],
            ["ROLLBACK", "ROLLBACK TO a; RELEASE a; ROLLBACK", "SELECT 1", "ROLLBACK TO a"])
        func closedAfterARollbackOrInsideATransaction(mode: String, end: String) throws {
            try keeping { directory, pointInTime in
                let isInMemory = mode == ":memory:"
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(isInMemory ? mode : path)
                if !isInMemory { try application.run("PRAGMA journal_mode = \(mode)") }
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                try application.run(
                    "BEGIN; INSERT INTO t VALUES (2); SAVEPOINT a; INSERT INTO t VALUES (3)")
                try application.run(end)
                let order = try #require(application.discovered.lastUse?.order)
                application.close()

                let store = try closedStore(
                    since: pointInTime, isInMemory ? nil : path, lastUsed: order)
                let storeCopy = capture(store, in: directory, afterError: true)

                #expect(storeCopy.method == .beforeRollback && storeCopy.isConsistent)
                #expect(storeCopy.isTransactionOpen == true && storeCopy.warnings.isEmpty)
                try expectStandalone(directory + "/copy.sqlite")
                #expect(try copied(directory) == "1\n2\n3")
                #expect(storeCopy.hasCommittedCopy)
                #expect(try copied(directory, committed: true) == "1")
            }
        }

        // MARK: Closed stores

        @Test func aClosedStoreInMemoryIsItsLastState() throws {
            try keeping { directory, pointInTime in
                let application = try ApplicationHandle(":memory:")
                try application.run(
                    "PRAGMA page_size = 8192; CREATE TABLE t(a); INSERT INTO t VALUES (1); ATTACH ':memory:' AS more"
                )
                try application.run(
                    "PRAGMA more.page_size = 1024; CREATE TABLE more.t(a); INSERT INTO more.t VALUES (2)"
                )
                application.close()
                let main = try closedStore(since: pointInTime, nil, where: { $0 == 16384 })
                let storeCopy = capture(main, in: directory)
                #expect(
                    storeCopy.method == .atClose && storeCopy.isConsistent
                        && storeCopy.storage == .memory)
                try expectStandalone(directory + "/copy.sqlite")
                #expect(try copied(directory) == "1")
                try FileSystem.remove(directory + "/copy.sqlite")
                let more = try closedStore(since: pointInTime, nil, where: { $0 == 2048 })
                #expect(more.suggestedName == "more")
                #expect(capture(more, in: directory).method == .atClose)
                #expect(try copied(directory) == "2")
            }
        }

        /// The whole content of such a store is in the connection's page cache.
        @Test(arguments: ["", "; BEGIN; INSERT INTO t VALUES (4)"])
        func aClosedStoreAtDevNullIsItsLastState(end: String) throws {
            try keeping { directory, pointInTime in
                let application = try ApplicationHandle("/dev/null")
                try application.run(
                    """
                    PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
                    PRAGMA page_size = 32768;
                    CREATE TABLE t(a); INSERT INTO t VALUES (3)
                    """ + end)
                let order = try #require(application.discovered.lastUse?.order)
                application.close()
                let store = try closedStore(
                    since: pointInTime, nil, lastUsed: order, where: { $0 == 65536 || end != "" })
                let storeCopy = capture(store, in: directory)
                #expect(storeCopy.isConsistent && storeCopy.storage == .memory)
                try expectStandalone(directory + "/copy.sqlite")
                #expect(try copied(directory) == (end == "" ? "3" : "3\n4"))
            }
        }

        @Test func whatAClosedConnectionHadAttachedIsFound() throws {
            try keeping { directory, pointInTime in
                let path = directory + "/stock.sqlite"
                let application = try ApplicationHandle(":memory:")
                try application.run(
                    "ATTACH '\(path)' AS stock; CREATE TABLE stock.t(a); INSERT INTO stock.t VALUES (1)")
                application.close()
                let store = try closedStore(since: pointInTime, path)
                #expect(store.storage == .file && store.suggestedName == nil)
                let storeCopy = capture(store, in: directory)
                #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent)
                #expect(try copied(directory) == "1")
                // While another connection has it open, the store is found there.
                let other = try ApplicationHandle(path)
                #expect(closed(since: pointInTime) { $0.path == path }.isEmpty)
                let attacher = try ApplicationHandle(":memory:")
                try attacher.run("ATTACH '\(path)' AS again; SELECT * FROM again.t")
                other.close()
                #expect(closed(since: pointInTime) { $0.path == path }.isEmpty)
                #expect(try attacher.stores.contains { $0.path == path })
            }
        }

        /// The store is deleted while it is open, and then closed.
        @Test(arguments: ["wal", "delete"])
        func aDeletedFileIsItsLastState(mode: String) throws {
            try keeping { directory, pointInTime in
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(path)
                try application.run(
                    "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(path + suffix) }
                application.close()
                let storeCopy = capture(try closedStore(since: pointInTime, path), in: directory)
                #expect(storeCopy.method == .atClose && storeCopy.isConsistent)
                #expect(try copied(directory) == "1")
                #expect(storeCopy.history?.transactions == 2)
                #expect(
                    try FileSystem.contents(ofDirectory: directory) == [
                        "copy.sqlite", "copy.wal-history",
                    ])
            }
        }

        /// Linux allows a file to be held without side effects for others.
        ///
        /// A connection that could not checkpoint may leave its WAL.
        @Test(arguments: ["wal", "delete"])
        func aFileDeletedAfterItsCloseIsHeld(mode: String) throws {
            try keeping { directory, pointInTime in
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(path)
                try application.run(
                    "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                if mode == "wal" {
                    var on: CInt = 1
                    #expect(
                        sqlite3_file_control(application.handle, "main", SQLITE_FCNTL_PERSIST_WAL, &on)
                            == SQLITE_OK)
                    // The reader prevents the checkpoint of the close. It is in another process, which is killed
                    // without closing anything.
                    let reader = try OtherProcess(path)
                    try reader.run("BEGIN; SELECT * FROM t")
                    try application.run("INSERT INTO t VALUES (2)")
                    application.close()
                    reader.kill()
                    #expect((FileSystem.regularFile(path + "-wal")?.size ?? 0) > 0)
                } else {
                    application.close()
                }
                for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(path + suffix) }
                let storeCopy = capture(try closedStore(since: pointInTime, path), in: directory)
                #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent && storeCopy.isDeleted)
                #expect(storeCopy.foldedJournal == (mode == "wal"))
                try expectStandalone(directory + "/copy.sqlite")
                #expect(try copied(directory) == (mode == "wal" ? "1\n2" : "1"))
                #expect(storeCopy.history?.transactions == (mode == "wal" ? 3 : 2))
                #expect(
                    try FileSystem.contents(ofDirectory: directory) == [
                        "copy.sqlite", "copy.wal-history",
                    ])
            }
        }

        // MARK: Several tests at a time

        private func expectLastState(
            in directory: String, since pointInTime: ConnectionRegistry.PointInTime
        )
            throws
        {
            let store = try closedStore(since: pointInTime, nil, where: { $0 == 16384 })
            #expect(capture(store, in: directory).method == .atClose)
            #expect(try copied(directory) == "1")
        }

        private let storeInMemory =
            "PRAGMA page_size = 8192; CREATE TABLE t(a); INSERT INTO t VALUES (1)"

        @Test func theLimitOfAnEarlierTestDoesNotApply() throws {
            ConnectionRegistry.shared.beginKeeping(maximumBytes: 0)
            defer { ConnectionRegistry.shared.endKeeping() }
            try keeping { directory, pointInTime in
                let application = try ApplicationHandle(":memory:")
                try application.run(storeInMemory)
                application.close()
                try expectLastState(in: directory, since: pointInTime)
            }
        }

        @Test(arguments: [nil, TestID.max])
        func theEndOfAnotherTestForgetsNothing(test: TestID?) throws {
            try keeping { directory, pointInTime in
                ConnectionRegistry.shared.beginKeeping(maximumBytes: 0)
                let application = try ApplicationHandle(":memory:")
                try application.run(storeInMemory)
                application.close()
                ConnectionRegistry.shared.endKeeping(of: test)
                try expectLastState(in: directory, since: pointInTime)
            }
        }

        /// On a busy machine, a thread waits for a processor in the middle of a copy.
        ///
        /// Here it waits for the file system, longer in the first copy than copying may take in all. The reads are few and
        /// slow, so that the load of the machine changes the time little.
        @Test func aThreadThatHasToWaitLosesNothing() throws {
            ScramblingFileSystem.register()
            try keeping { directory, _ in
                let application = try ApplicationHandle(
                    directory + "/shop.sqlite", vfs: ScramblingFileSystem.name)
                try application.run(
                    "PRAGMA cache_size = 10; CREATE TABLE t(a); CREATE TABLE big(a); INSERT INTO t VALUES (1)"
                )
                for _ in 0..<40 { try application.run("INSERT INTO big VALUES (zeroblob(4000))") }
                for _ in 0..<2 {
                    try application.run("BEGIN; INSERT INTO t VALUES (2)")
                    ScramblingFileSystem.readDelay.withLock { $0 = 5000 }
                    defer { ScramblingFileSystem.readDelay.withLock { $0 = 0 } }
                    try application.run("ROLLBACK")
                }
                let storeCopy = capture(try application.store, in: directory, afterError: true)
                #expect(storeCopy.method == .beforeRollback)
                #expect(try copied(directory) == "1\n2")
            }
        }

        /// The store is larger than the limit for saved content.
        @Test func whatIsTooLargeIsDescribed() throws {
            try keeping { directory, pointInTime in
                let application = try ApplicationHandle(":memory:")
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(17000000))")
                let path = directory + "/shop.sqlite"
                let file = try ApplicationHandle(path)
                try file.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                try file.run("BEGIN; INSERT INTO t VALUES (zeroblob(17000000)); ROLLBACK")
                application.close()

                let store = try closedStore(since: pointInTime, nil) { $0 > 17_000_000 }
                let closed = capture(store, in: directory)
                #expect(closed.method == .described)
                #expect(closed.reason?.contains("last 170") == true, "\(closed.reason ?? "")")
                let rolledBack = capture(try file.store, in: directory, afterError: true)
                #expect(rolledBack.method == .fileCopy)
                #expect(rolledBack.warningCodes == [.stateBeforeRollbackNotKept])
                #expect(try copied(directory) == "1")
            }
        }
    }
}
