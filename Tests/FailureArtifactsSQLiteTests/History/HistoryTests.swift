import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsSQLite

/// Records the histories of stores in particular states.
@Suite struct HistoryTests {
    /// Makes a store with a row, and three transactions in its WAL that insert one row each.
    private func makeStore(_ directory: String) throws -> ApplicationHandle {
        let application = try ApplicationHandle(directory + "/shop.sqlite")
        try application.run(
            """
            PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(a);
            INSERT INTO t VALUES (0); PRAGMA wal_checkpoint(TRUNCATE);
            """)
        for number in 1...3 { try application.run("INSERT INTO t VALUES (\(number))") }
        return application
    }

    private func record(
        _ directory: String, hasIndex: Bool = true, limit: UInt64 = .max
    ) throws -> WALHistory.Summary {
        let summary = try WALHistory(maximumBytes: limit).record(
            storeAt: directory + "/shop.sqlite", hasIndex: hasIndex, committedPages: 2,
            to: directory + "/history")
        let size = try FileSystem.status(of: directory + "/history")?.size
        #expect(size == (summary.transactions > 0 ? summary.bytes : nil))
        return summary
    }

    /// Returns the content of `t` in each state.
    private func contents(_ directory: String, copy: ApplicationHandle) throws -> [String] {
        try copy.run("PRAGMA wal_checkpoint")
        let path = directory + "/copy.sqlite"
        try FileSystem.copy(directory + "/shop.sqlite", toNewFile: path)
        let reader = try HistoryReader(path: directory + "/history")
        return try (0...reader.transactions.count).map { state in
            let rebuilt = "\(directory)/\(state).sqlite"
            try reader.rebuild(at: state, from: path, to: rebuilt)
            return try sqlite3Program(rebuilt, "SELECT group_concat(a, '') FROM t")
        }
    }

    @Test func aStoreInUseLosesNoLock() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            try application.run("BEGIN; SELECT * FROM t")
            let summary = try record(directory)
            #expect(summary.transactions == 3 && summary.omittedTransactions == 0)
            #expect(summary.reason == nil)
            // Another process could empty the WAL if the reader's lock were gone.
            let path = directory + "/shop.sqlite"
            #expect(
                try sqlite3Program(
                    path, "INSERT INTO t VALUES (4); PRAGMA wal_checkpoint(TRUNCATE)"
                ).hasPrefix("1|"))
            try application.run("COMMIT")
            #expect(try application.value("SELECT count(*) FROM t") == "5")
        }
    }

    @Test func eachStateHasItsRows() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            #expect(try record(directory).transactions == 3)
            #expect(try contents(directory, copy: application) == ["0", "01", "012", "0123"])
        }
    }

    @Test func whatACheckpointHasTakenIsLeftOut() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            try application.run("PRAGMA wal_checkpoint(PASSIVE)")
            let none = try record(directory)
            #expect(none.transactions == 0 && none.omittedTransactions == 3)
            #expect(
                none.reason
                    == "The history lacks 3 of the WAL's 3 transactions, the oldest. A checkpoint has written over "
                    + "what the database held before.")
        }
    }

    /// A reader keeps a checkpoint from taking all frames.
    @Test func whatACheckpointHasNotTakenIsKept() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            let reader = try ApplicationHandle(directory + "/shop.sqlite")
            try reader.run("BEGIN; SELECT * FROM t")
            try application.run("INSERT INTO t VALUES (4); PRAGMA wal_checkpoint(PASSIVE)")
            let summary = try record(directory)
            #expect(summary.transactions == 1 && summary.omittedTransactions == 3)
            #expect(summary.reason?.hasPrefix("The history lacks 3 of the WAL's 4 ") == true)
            try reader.run("COMMIT")
            #expect(try contents(directory, copy: application) == ["0123", "01234"])
        }
    }

    /// A checkpoint may have written over what the database held before.
    @Test func withoutAnIndexThereIsNoHistory() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            #expect(try record(directory, hasIndex: false).omittedTransactions == 3)
            _ = application
        }
    }

    @Test func aWALThatIsToBeRestartedIsRead() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            // The next write restarts the WAL. Until then its frames exist.
            try application.run("PRAGMA wal_checkpoint(RESTART)")
            #expect(try record(directory).omittedTransactions == 3)
            try application.run("INSERT INTO t VALUES (4)")
            #expect(try record(directory).transactions == 1)
            #expect(try contents(directory, copy: application) == ["0123", "01234"])
        }
    }

    @Test func anIndexOfAnotherGenerationSaysNothing() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            try application.run("PRAGMA wal_checkpoint(PASSIVE)")
            let copy = directory + "/copied"
            for suffix in ["", "-wal", "-shm"] {
                try FileSystem.copy(directory + "/shop.sqlite" + suffix, toNewFile: copy + suffix)
            }
            // The recorder believes an index without checkpointed frames, unless its salts differ.
            let index = try File(updating: copy + "-shm")
            for offset: UInt64 in [96, 128] {
                try [UInt8](repeating: 0, count: 4).withBytes { try index.write($0, at: offset) }
            }
            for (salt, omitted) in [(nil, 0), (UInt8(0xAA), 3)] {
                for offset: UInt64 in [32, 80] where salt != nil {
                    try [UInt8](repeating: salt ?? 0, count: 8).withBytes {
                        try index.write($0, at: offset)
                    }
                }
                let history = directory + "/history-\(omitted)"
                let summary = try WALHistory(maximumBytes: .max).record(
                    storeAt: copy, committedPages: 2, to: history)
                #expect(summary.omittedTransactions == omitted)
            }
        }
    }

    /// A checkpoint truncates all pages beyond the end of the last state, including those without any frame.
    @Test func pagesThatWereCutOffAreMissed() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                """
                PRAGMA page_size = 512; PRAGMA auto_vacuum = 2; PRAGMA secure_delete = 0;
                PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
                CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(9000)); DELETE FROM t;
                PRAGMA wal_checkpoint(TRUNCATE);
                INSERT INTO t VALUES (zeroblob(900)); PRAGMA incremental_vacuum(2);
                """)
            let size = try #require(UInt64(application.value("PRAGMA page_count")))
            for (checkpoint, transactions) in [("", 2), ("PRAGMA wal_checkpoint(PASSIVE)", 0)] {
                try application.run(checkpoint)
                let summary = try WALHistory(maximumBytes: .max).record(
                    storeAt: directory + "/shop.sqlite", committedPages: size, to: directory + "/history"
                )
                #expect(summary.transactions == transactions)
                try FileSystem.remove(directory + "/history")
            }
        }
    }

    /// An encrypted store has an ordinary WAL but no readable header.
    @Test func aStoreThatIsNotPlainHasNoHistory() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            let copy = directory + "/copied"
            for suffix in ["", "-wal", "-shm"] {
                try FileSystem.copy(directory + "/shop.sqlite" + suffix, toNewFile: copy + suffix)
            }
            let database = try File(updating: copy)
            try [UInt8](repeating: 0xAA, count: 100).withBytes { try database.write($0, at: 0) }
            let summary = try WALHistory(maximumBytes: .max).record(
                storeAt: copy, committedPages: 2, to: directory + "/history")
            #expect(summary.transactions == 0 && summary.reason?.contains("plain SQLite") == true)
            _ = application
        }
    }

    @Test func anEmptyWALHasNoHistory() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            try application.run("PRAGMA wal_checkpoint(TRUNCATE)")
            let summary = try record(directory)
            #expect(summary.transactions == 0 && summary.reason == "The WAL held no transaction.")
        }
    }

    @Test func theNewestTransactionsAreKept() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            let all = try record(directory)
            try FileSystem.remove(directory + "/history")
            let part = try record(directory, limit: all.bytes - 1)
            #expect(part.transactions == 2 && part.omittedTransactions == 1)
            #expect(
                part.reason
                    == "The history lacks 1 of the WAL's 3 transactions, the oldest. With them it would have more "
                    + "than \(all.bytes - 1) bytes.")
            #expect(try contents(directory, copy: application) == ["01", "012", "0123"])
            try FileSystem.remove(directory + "/history")
            let none = try record(directory, limit: 8000)
            #expect(none.transactions == 0 && none.omittedTransactions == 3)
            #expect(none.reason?.hasPrefix("The history lacks 3 of the WAL's 3 ") == true)
        }
    }

    @Test func aCopyOfAnotherTimeIsNoticed() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            try application.run("CREATE TABLE u(a)")
            let summary = try record(directory)
            #expect(summary.transactions == 0)
            #expect(
                summary.reason
                    == "The WAL's last transaction left 3 pages and the copy of the store has 2: they are of "
                    + "different moments.")
        }
    }

    @Test func aBrokenChecksumIsNoticed() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            let path = directory + "/shop.sqlite"
            let wal = try File(sharing: path + "-wal")
            let log = try WriteAheadLog(reading: wal)
            #expect(log.pages == [2, 2, 2] && log.pageSize == 4096 && log.transactions.count == 3)
            #expect(log.transactions.map(\.databaseSize) == [2, 2, 2])

            let copy = directory + "/broken"
            for suffix in ["", "-wal", "-shm"] {
                try FileSystem.copy(path + suffix, toNewFile: copy + suffix)
            }
            let broken = try File(updating: copy + "-wal")
            try [UInt8(0xAA)].withBytes { try broken.write($0, at: log.offset(ofPageInFrame: 1) + 9) }
            let damaged = try WriteAheadLog(reading: broken)
            #expect(damaged.pages == [2] && damaged.hasUnreadableTail)
            let index = try #require(try WriteAheadLogIndex(reading: File(reading: copy + "-shm")))
            #expect(index.lastFrame == 3)
            #expect(damaged.isBroken(accordingTo: index) && !damaged.isBroken(accordingTo: nil))
            #expect(!log.isBroken(accordingTo: index))
            let summary = try WALHistory(maximumBytes: .max).record(
                storeAt: copy, committedPages: 2, to: directory + "/history")
            #expect(summary.transactions == 0)
            #expect(summary.reason?.contains("frame 2 or of one after it") == true)
            // SQLite's own recovery agrees.
            try FileSystem.remove(copy + "-shm")
            #expect(try sqlite3Program(copy, "SELECT group_concat(a, '') FROM t") == "01")
            _ = application
        }
    }

    /// SQLite 3.40.1, among other versions, can leave frames without valid checksums.
    ///
    /// That happens after a rollback to a savepoint that took back pages which had outgrown the cache. Only the
    /// process itself can then read the next commit.
    @Test func aCommitThatRecoveryLosesIsNoticed() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                """
                PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = off;
                CREATE TABLE t(k INTEGER PRIMARY KEY, v); CREATE TABLE u(k INTEGER PRIMARY KEY, v);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 3000)
                INSERT INTO t SELECT n, zeroblob(100) FROM c; INSERT INTO u SELECT * FROM t;
                PRAGMA wal_checkpoint(TRUNCATE); PRAGMA cache_size = 10;
                BEGIN; UPDATE t SET v = 'new' WHERE k = 1;
                SAVEPOINT s; UPDATE u SET v = 1; UPDATE u SET v = 2; ROLLBACK TO s;
                UPDATE t SET v = 'new'; COMMIT
                """)
            let count = "SELECT count(*) FROM t WHERE v = 'new'"
            #expect(try application.value(count) == "3000")
            let copy = directory + "/copied"
            for suffix in ["", "-wal"] {
                try FileSystem.copy(path + suffix, toNewFile: copy + suffix)
            }
            let isLost = try sqlite3Program(copy, count) != "3000"
            let pages = try #require(UInt64(application.value("PRAGMA page_count")))
            let summary = try WALHistory(maximumBytes: .max).record(
                storeAt: directory + "/shop.sqlite", committedPages: pages, to: directory + "/history")
            #expect((summary.reason != nil) == isLost)
            #expect(summary.transactions == (isLost ? 0 : 1))
        }
    }

    /// Simulates a commit in progress: its frames are written, but the index is not changed yet.
    @Test func aTransactionThatIsNotPublishedIsNoticed() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            let copy = directory + "/copied"
            for suffix in ["", "-wal", "-shm"] {
                try FileSystem.copy(directory + "/shop.sqlite" + suffix, toNewFile: copy + suffix)
            }
            let index = try File(updating: copy + "-shm")
            for offset: UInt64 in [16, 64] {
                try withUnsafeBytes(of: UInt32(2)) { try index.write($0, at: offset) }
            }
            let summary = try WALHistory(maximumBytes: .max).record(
                storeAt: copy, committedPages: 2, to: directory + "/history")
            #expect(summary.transactions == 0 && summary.omittedTransactions == 3)
            #expect(summary.reason?.hasPrefix("The WAL's last transaction was being written") == true)
            _ = application
        }
    }

    @Test func aWALWhoseHeaderIsBrokenHoldsNothing() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            let copy = directory + "/broken-wal"
            try FileSystem.copy(directory + "/shop.sqlite-wal", toNewFile: copy)
            let file = try File(updating: copy)
            try [UInt8(0xAA)].withBytes { try file.write($0, at: 17) }
            let log = try WriteAheadLog(reading: file)
            #expect(log.transactions.isEmpty && log.hasUnreadableTail)
            _ = application
        }
    }

    @Test func anAbortedTransactionLeavesATail() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            try application.run(
                """
                PRAGMA cache_size = 2; BEGIN;
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 5000)
                INSERT INTO t SELECT n FROM c; ROLLBACK;
                """)
            let wal = directory + "/shop.sqlite-wal"
            #expect(try !WriteAheadLog(reading: File(sharing: wal)).hasUnreadableTail)
            try application.run("INSERT INTO t VALUES (4)")
            #expect(try WriteAheadLog(reading: File(sharing: wal)).hasUnreadableTail)
            #expect(try record(directory).transactions == 4)
        }
    }

    @Test func whatFailsLeavesNoFile() throws {
        try withTemporaryDirectory { directory in
            let application = try makeStore(directory)
            let slow = #expect(throws: SystemError.self) {
                try WALHistory(maximumBytes: .max, timeLimit: 0).record(
                    storeAt: directory + "/shop.sqlite", committedPages: 2, to: directory + "/history")
            }
            #expect(slow?.code == ETIME)
            #expect(try FileSystem.status(of: directory + "/history") == nil)
            try FileSystem.write([7], toNewFile: directory + "/history")
            #expect(throws: SystemError.self) {
                try WALHistory(maximumBytes: .max).record(
                    storeAt: directory + "/shop.sqlite", committedPages: 2, to: directory + "/history")
            }
            #expect(try FileSystem.contents(ofFile: directory + "/history") == [7])
            _ = application
        }
    }
}
