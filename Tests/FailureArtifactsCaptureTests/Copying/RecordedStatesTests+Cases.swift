import CFailureArtifactsCapture
import CFailureArtifactsShared
import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

// Single cases.
extension RecordedStatesTests {
    @Test(arguments: [":memory:", "", "shop.sqlite"])
    func anOpenTransactionIsNotInTheHistory(path: String) throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(
                path.hasSuffix("sqlite") ? "\(directory)/\(path)" : path)
            try application.run(
                """
                CREATE TABLE t(a); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);
                BEGIN; DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (3)
                """)
            let storeCopy = capture(try application.store, in: directory)
            #expect(storeCopy.method == .pageCache && storeCopy.hasCommittedCopy)
            #expect(try copied(directory) == "2\n3")
            #expect(try copied(directory, committed: true) == "1\n2")
            #expect(storeCopy.history?.transactions == 3)
            #expect(
                try rebuiltStates(directory, of: "copy.committed.sqlite") == ["empty", "", "1", "1,2"])
        }
    }

    @Test func aStoreInMemoryThatEndsInsideATransaction() throws {
        try withTemporaryDirectory { directory in
            ConnectionRegistry.shared.beginKeeping(maximumBytes: 1 << 20)
            defer { ConnectionRegistry.shared.endKeeping() }
            let start = ConnectionRegistry.shared.now
            let application = try ApplicationHandle(":memory:")
            let serial = try application.discovered.serial
            try application.run(
                "CREATE TABLE t(a); INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)")
            application.close()
            let closed = try #require(
                ConnectionRegistry.shared.storesClosed(after: start).first {
                    $0.last?.connection == serial
                })
            let storeCopy = capture(DiscoveredStore(closed), in: directory, afterError: true)
            #expect(try copied(directory) == "1\n2")
            #expect(try copied(directory, committed: true) == "1")
            #expect(storeCopy.history?.transactions == 2)
        }
    }

    @Test func attachedDatabasesHaveHistoriesOfTheirOwn() throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(":memory:")
            try application.run(
                """
                CREATE TABLE t(a); INSERT INTO t VALUES (1); ATTACH ':memory:' AS side;
                ATTACH '\(directory)/side.sqlite' AS file; CREATE TABLE side.t(a); CREATE TABLE file.t(a);
                INSERT INTO side.t VALUES (10); INSERT INTO file.t VALUES (20);
                BEGIN; INSERT INTO t VALUES (2); INSERT INTO side.t VALUES (11); INSERT INTO file.t VALUES (21); COMMIT
                """)
            let expected = ["main": "1,2", "side": "10,11", "file": "20,21"]
            for store in try application.stores {
                let schema = try #require(store.accesses.first?.schema)
                let place = "\(directory)/\(schema)"
                try FileSystem.createDirectory(place)
                #expect(capture(store, in: place).history?.transactions == 3, "\(schema)")
                let found = try rebuiltStates(place)
                #expect(found.first == "empty" && found.last == expected[schema], "\(schema): \(found)")
            }
        }
    }

    @Test func theChangesOfAnotherProcessAreOneTransaction() throws {
        try withStore("CREATE TABLE t(a); INSERT INTO t VALUES (1)") { application, path, directory in
            let other = try OtherProcess(path)
            try other.run("INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)")
            try application.run("INSERT INTO t VALUES (4)")
            let summary = try #require(capture(try application.store, in: directory).history)
            #expect(try rebuiltStates(directory) == ["empty", "", "1", "1,2,3,4"])
            #expect(summary.commits.map(\.isForeign) == [false, false, true])
        }
    }

    /// The process has not seen the last change.
    @Test func aChangeThatWasNotSeenIsTheLastTransaction() throws {
        try withStore("CREATE TABLE t(a); INSERT INTO t VALUES (1)") { application, path, directory in
            try OtherProcess(path).run("INSERT INTO t VALUES (2)")
            let summary = try #require(capture(try application.store, in: directory).history)
            #expect(try rebuiltStates(directory) == ["empty", "", "1", "1,2"])
            #expect(summary.commits.map(\.isMerged) == [false, false, true])
        }
    }

    @Test func aFileThatWasThereBeforeHasTheStatesSinceItWasOpened() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            _ = try sqlite3Program(path, "CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let application = try ApplicationHandle(path)
            try application.run("INSERT INTO t VALUES (2); UPDATE t SET a = a + 10")
            let storeCopy = capture(try application.store, in: directory)
            #expect(storeCopy.history?.transactions == 2)
            #expect(try rebuiltStates(directory) == ["1", "1,2", "11,12"])
        }
    }

    @Test func aFileThatReplacesAnotherOneHasNoneOfItsStates() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            for value in [1, 2] {
                let application = try ApplicationHandle(path)
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (\(value))")
                let place = "\(directory)/\(value)"
                try FileSystem.createDirectory(place)
                #expect(try capture(application.store, in: place).history?.transactions == 2)
                #expect(try rebuiltStates(place) == ["empty", "", "\(value)"])
                application.close()
                // The next file often has the same number.
                try FileSystem.remove(path)
            }
        }
    }

    /// Copies of one file have the same header.
    @Test func aCopyThatReplacesAnotherOneHasNoneOfItsStates() throws {
        try withTemporaryDirectory { directory in
            let (template, path) = (directory + "/template.sqlite", directory + "/shop.sqlite")
            _ = try sqlite3Program(template, "CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            for value in 2...9 {
                try FileSystem.copy(template, toNewFile: path)
                let application = try ApplicationHandle(path)
                try application.run("INSERT INTO t VALUES (\(value))")
                let place = "\(directory)/\(value)"
                try FileSystem.createDirectory(place)
                #expect(try capture(application.store, in: place).history?.transactions == 1)
                #expect(try rebuiltStates(place) == ["1", "1,\(value)"])
                application.close()
                // The header equals the template's again.
                try FileSystem.remove(path)
                try FileSystem.copy(template, toNewFile: path)
                let second = try ApplicationHandle(path)
                _ = try second.value("SELECT count(*) FROM t")
                second.close()
                try FileSystem.remove(path)
            }
        }
    }

    @Test func theStatesOfAStoreThatIsOpenedAgainGoOn() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let first = try ApplicationHandle(path)
            try first.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            first.close()
            let second = try ApplicationHandle(path)
            try second.run("INSERT INTO t VALUES (2)")
            #expect(try capture(second.store, in: directory).history?.transactions == 3)
            #expect(try rebuiltStates(directory) == ["empty", "", "1", "1,2"])
        }
    }

    @Test func aDeserializedStoreHasTheStatesSince() throws {
        try withTemporaryDirectory { directory in
            let source = try ApplicationHandle(":memory:")
            try source.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            var size: Int64 = 0
            let bytes = sqlite3_serialize(source.handle, "main", &size, 0)
            let application = try ApplicationHandle(":memory:")
            let flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE
            try #require(
                sqlite3_deserialize(application.handle, "main", bytes, size, size, UInt32(flags))
                    == SQLITE_OK)
            try application.run("INSERT INTO t VALUES (2)")
            #expect(try capture(application.store, in: directory).history?.transactions == 1)
            #expect(try rebuiltStates(directory) == ["1", "1,2"])
        }
    }

    @Test func aStoreThatIsTooLargeSaysSo() throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(":memory:")
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(13 << 20))")
            let history = capture(try application.store, in: directory).history
            #expect(history?.transactions == 0)
            #expect(history?.reason?.contains("12 MiB") == true)
        }
    }

    @Test func theOldestStatesMakeRoom() throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(":memory:")
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (randomblob(100000))")
            for _ in 0..<100 { try application.run("UPDATE t SET a = randomblob(100000)") }
            try application.run("DELETE FROM t; INSERT INTO t VALUES ('end')")
            let history = try #require(capture(try application.store, in: directory).history)
            #expect((10..<60).contains(history.transactions))
            #expect(history.omittedTransactions == 104 - history.transactions)
            #expect(history.reason != nil)
            #expect(try rebuiltStates(directory).last == "end")
        }
    }

    @Test func transactionsBeyondTheBudgetBecomeOneState() throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(":memory:")
            try application.run(
                """
                CREATE TABLE t(a); CREATE TABLE large(b, c);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 300)
                INSERT INTO large SELECT 0, zeroblob(3000) FROM c
                """)
            // Tests that start at the same time renew the allowance.
            var rows = 0
            var history = WALHistory.Summary()
            for attempt in 0..<50 where history.commits.filter(\.isMerged).isEmpty {
                for _ in 0..<100 {
                    try application.run("UPDATE large SET b = b + 1; INSERT INTO t VALUES (\(rows))")
                    rows += 1
                }
                let place = "\(directory)/\(attempt)"
                try FileSystem.createDirectory(place)
                history = try #require(capture(try application.store, in: place).history)
                for name in ["copy.sqlite", "copy.wal-history"] {
                    try? FileSystem.remove("\(directory)/\(name)")
                    try FileSystem.rename("\(place)/\(name)", to: "\(directory)/\(name)")
                }
            }
            #expect(!history.commits.filter(\.isMerged).isEmpty)
            #expect(try copied(directory, "SELECT count(*) FROM t") == "\(rows)")
            // Each state has the first numbers, without a gap.
            let reader = try HistoryReader(path: directory + "/copy.wal-history")
            for state in [1, history.transactions / 2, history.transactions - 1] {
                let path = "\(directory)/state.sqlite"
                try reader.rebuild(at: state, from: directory + "/copy.sqlite", to: path)
                #expect(
                    try sqlite3Program(path, "SELECT count(*) - 1 - ifnull(max(a), -1) FROM t") == "0")
                try FileSystem.remove(path)
            }
        }
    }

    /// Stores that were closed keep their histories only as long as there is space for them.
    @Test func closedStoresMakeRoom() throws {
        try withTemporaryDirectory { directory in
            for number in 0..<40 {
                let application = try ApplicationHandle("\(directory)/\(number).sqlite")
                try application.run(
                    "PRAGMA synchronous = off; CREATE TABLE t(a); INSERT INTO t VALUES (randomblob(4000000))"
                )
                application.close()
            }
            let application = try ApplicationHandle(directory + "/last.sqlite")
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let history = capture(try application.store, in: directory).history
            #expect(history?.transactions == 2 && history?.reason == nil)
        }
    }

    /// A slot that is damaged, or made by someone else, is read as far as it makes sense.
    @Test func aDamagedSlotIsRead() throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(":memory:")
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (randomblob(9000))")
            for _ in 0..<5 {
                try application.run("UPDATE t SET a = randomblob(9000); DELETE FROM t WHERE a IS NULL")
            }
            try application.run("DELETE FROM t; INSERT INTO t VALUES (1)")
            _ = try capture(application.store, in: directory)
            var slot: [UInt8] = []
            let serial = try application.discovered.serial
            try "main".withCString { schema in
                var gap = failure_artifacts_history_has_none
                let key = failure_artifacts_database_key(
                    file: .init(is_known: false, device: 0, inode: 0), is_deleted: false, born: 0,
                    connection: serial,
                    schema: schema
                )
                let isThere = withUnsafeMutablePointer(to: &slot) { slot in
                    failure_artifacts_history_read(
                        key, slot,
                        { context, bytes in
                            let all = UnsafeRawBufferPointer(
                                start: bytes, count: Int(failure_artifacts_slot_size))
                            context?.assumingMemoryBound(to: [UInt8].self).pointee = Array(all)
                        }, &gap)
                }
                try #require(isThere)
            }
            #expect(slot.withUnsafeBytes { RecordedStates($0) }?.connections == [serial])
            var random = SplitMix(seed: 20_261_126)
            let log = Int(failure_artifacts_slot_header)
            for _ in 0..<500 {
                var undo: [(Int, UInt8)] = []
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let place = Bool.random(using: &random) ? 8 : log
                    let offset = place + Int.random(in: 0..<(place == log ? 3000 : 240), using: &random)
                    undo.append((offset, slot[offset]))
                    slot[offset] = .random(in: 0...255, using: &random)
                }
                if let states = slot.withUnsafeBytes({ RecordedStates($0) }) {
                    let path = directory + "/damaged.wal-history"
                    _ = try states.writeHistory(
                        endingWith: directory + "/copy.sqlite", to: path, maximumBytes: 1 << 24)
                    _ = try? HistoryReader(path: path)
                    try? FileSystem.remove(path)
                }
                for (offset, byte) in undo.reversed() { slot[offset] = byte }
            }
        }
    }
}
