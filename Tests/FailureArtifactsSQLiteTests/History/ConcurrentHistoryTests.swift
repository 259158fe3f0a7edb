import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsSQLite

/// Records histories while another connection writes to the WAL, checkpoints it and restarts it.
@Suite struct ConcurrentHistoryTests {
    /// The facts that change when the store is written to.
    private struct Fingerprint: Equatable {
        let index: WriteAheadLogIndex
        let walHeader: [UInt8]
    }

    private func fingerprint(_ path: String) throws -> Fingerprint? {
        guard let index = try WriteAheadLogIndex(reading: File(sharing: path + "-shm")) else {
            return nil
        }
        let wal = try File(sharing: path + "-wal")
        var header = [UInt8](repeating: 0, count: 32)
        _ = try header.withMutableBytes { try wal.read(into: $0, at: 0) }
        return Fingerprint(index: index, walHeader: header)
    }

    /// Each transaction adds 1 to a counter, so that neighbouring states differ by 1.
    @Test func whatIsAcceptedIsExact() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run(
                """
                PRAGMA page_size = 1024; PRAGMA journal_mode = wal; PRAGMA synchronous = off;
                CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (0, 0);
                PRAGMA wal_checkpoint(TRUNCATE)
                """)
            let mayEnd = Lock(false)
            let attempts = Lock(0)
            let writer = Thread {
                guard let own = try? ApplicationHandle(path) else { return }
                try? own.run("PRAGMA synchronous = off; PRAGMA wal_autocheckpoint = 40")
                var number = 0
                while !mayEnd.withLock(\.self) {
                    number += 1
                    try? own.run(
                        """
                        BEGIN; UPDATE t SET v = v + 1 WHERE id = 0;
                        INSERT OR REPLACE INTO t VALUES (1 + \(number) % 50, randomblob(200)); COMMIT
                        """)
                    // From time to time, one attempt is not disturbed, so that some history is accepted.
                    let peaceful = attempts.withLock(\.self) + 2
                    while number % 17 == 0, attempts.withLock(\.self) < peaceful,
                        !mayEnd.withLock(\.self)
                    {
                        sched_yield()
                    }
                }
                own.close()
            }
            writer.start()
            defer {
                mayEnd.withLock { $0 = true }
                while !writer.isFinished { usleep(1000) }
            }

            var accepted = 0
            var transactions = 0
            for attempt in 0..<200 {
                defer { attempts.withLock { $0 += 1 } }
                let name = "\(directory)/\(attempt)"
                let before = try fingerprint(path)
                do {
                    for suffix in ["", "-wal"] {
                        try FileSystem.copy(path + suffix, toNewFile: name + suffix)
                    }
                    let pages = try committedPages(name)
                    let summary = try WALHistory(maximumBytes: .max).record(
                        storeAt: path, committedPages: pages, to: name + ".history")
                    if let before, try fingerprint(path) == before, summary.transactions > 0 {
                        accepted += 1
                        transactions += summary.transactions
                        try check(name, summary.transactions)
                    }
                } catch let error as SystemError {
                    // The WAL may be removed, or emptied while it is read.
                    #expect(error.isNotFound || error.code == EIO, "\(error)")
                }
                for suffix in ["", "-wal", "-shm", ".history"] { try FileSystem.remove(name + suffix) }
            }
            #expect(accepted >= 20 && accepted < 200 && transactions > accepted)
        }
    }

    /// Returns the size, in pages, of the state in a copy of both files.
    private func committedPages(_ path: String) throws -> UInt64 {
        let log = try WriteAheadLog(reading: File(reading: path + "-wal"))
        return try log.transactions.last.map { UInt64($0.databaseSize) } ?? pageCount(path)
    }

    private func check(_ copy: String, _ transactions: Int) throws {
        let connection = try Connection(path: copy, mode: .readWrite)
        try connection.execute("PRAGMA journal_mode = delete")
        let last = try connection.integer(of: "SELECT v FROM t WHERE id = 0")
        let reader = try HistoryReader(path: copy + ".history")
        for state in 0...transactions {
            let rebuilt = copy + ".rebuilt"
            defer { try? FileSystem.remove(rebuilt) }
            try reader.rebuild(at: state, from: copy, to: rebuilt)
            let store = try Connection(path: rebuilt, mode: .immutable)
            #expect(
                try store.integer(of: "SELECT v FROM t WHERE id = 0") == last
                    - Int64(transactions - state))
            #expect(try store.value(of: "PRAGMA integrity_check") == .text("ok"))
        }
    }
}
