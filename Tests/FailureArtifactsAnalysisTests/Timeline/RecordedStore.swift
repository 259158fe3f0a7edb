import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// A WAL store whose connections record their statements, independently of the product, and their commits.
final class RecordedStore: Sendable {
    /// A commit that wrote to the WAL.
    struct Commit {
        /// The number of frames in the WAL after the commit.
        var frames: Int
        /// The connection's numbers of statements since its previous commit, up to the one that committed.
        var orders: ClosedRange<UInt64>
        var connection: UInt64
    }

    private struct Log {
        var order: UInt64 = 0
        var commits: [Commit] = []
    }

    let directory: String
    private let log = Lock(Log())
    var path: String { directory + "/store.sqlite" }
    var commits: [Commit] { log.withLock { $0.commits.sorted { $0.frames < $1.frames } } }

    init(in directory: String) { self.directory = directory }

    fileprivate func nextOrder() -> UInt64 {
        log.withLock { log in
            log.order += 1
            return log.order
        }
    }

    fileprivate func add(_ commit: Commit) { log.withLock { $0.commits.append(commit) } }

    /// Returns the transactions of the store's history.
    func history() throws -> [Timeline.Step] {
        let files = directory + "/files"
        let history = directory + "/history"
        for suffix in ["", "-wal"] { try FileSystem.copy(path + suffix, toNewFile: files + suffix) }
        try FileSystem.copy(files, toNewFile: directory + "/copy")
        try FileSystem.copy(files + "-wal", toNewFile: directory + "/copy-wal")
        let copy = try Connection(path: directory + "/copy", mode: .readWrite)
        try copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let pages = try copy.integer(of: "PRAGMA page_count")
        let summary = try WALHistory(maximumBytes: .max).record(
            database: try File(reading: files), wal: try File(reading: files + "-wal"),
            index: WriteAheadLogIndex(ofFile: path + "-shm"), committedPages: UInt64(pages), to: history)
        try #require(summary.omittedTransactions == 0)
        let reader = try HistoryReader(path: history)
        let (old, new) = (directory + "/old", directory + "/new")
        for path in [old, new] { try reader.rebuild(at: 0, from: directory + "/copy", to: path) }
        var result: [Timeline.Step] = []
        for (index, transaction) in reader.transactions.enumerated() {
            try reader.advance(new, from: index)
            result.append(
                .init(
                    number: index + 1, pages: transaction.pages.count,
                    changes: try StateChanges.count(from: old, to: new, pages: Set(transaction.pages)),
                    tables: []))
            try reader.advance(old, from: index)
        }
        return result
    }
}

/// A connection that records its statements as the product does.
final class RecordedConnection: @unchecked Sendable {
    private let store: RecordedStore
    private let number: UInt64
    private var handle: OpaquePointer?
    private(set) var records: [StatementRecord] = []
    private var changes: Int32 = 0
    private var writes: Int32 = 0
    private var spills: Int32 = 0
    private var versions: UInt32?
    private var firstOrder: UInt64 = 0
    private var order: UInt64 = 0

    /// Opens the store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - number: The connection's number, from 1.
    ///   - busyTimeout: The maximum time to wait for a lock, in milliseconds.
    /// - Throws: An error if the store can't be opened.
    init(_ store: RecordedStore, number: UInt64, busyTimeout: Int32 = 0) throws {
        self.store = store
        self.number = number
        try #require(sqlite3_open(store.path, &handle) == SQLITE_OK)
        sqlite3_busy_timeout(handle, busyTimeout)
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_trace_v2(
            handle, UInt32(SQLITE_TRACE_STMT),
            { _, context, _, text in
                guard let context, let text else { return 0 }
                let connection = Unmanaged<RecordedConnection>.fromOpaque(context).takeUnretainedValue()
                connection.start(String(cString: text.assumingMemoryBound(to: CChar.self)))
                return 0
            }, context)
        // This replaces automatic checkpoints, so all transactions stay in the WAL.
        sqlite3_wal_hook(
            handle,
            { context, _, _, frames in
                guard let context else { return SQLITE_OK }
                let connection = Unmanaged<RecordedConnection>.fromOpaque(context).takeUnretainedValue()
                connection.committed(frames: Int(frames))
                return SQLITE_OK
            }, context)
    }

    deinit { sqlite3_close_v2(handle) }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    private func start(_ sql: String) {
        guard !sql.hasPrefix("--") else { return }
        finish()
        order = store.nextOrder()
        if firstOrder == 0 { firstOrder = order }
        records.append(
            StatementRecord(
                at: "", changes: nil, connection: number, order: order, phase: .test, sql: sql,
                thread: "\(pthread_self())"))
    }

    private func committed(frames: Int) {
        store.add(.init(frames: frames, orders: firstOrder...order, connection: number))
        firstOrder = 0
    }

    /// Completes the record of the last statement.
    func finish() {
        let (total, pages) = (sqlite3_total_changes(handle), status(SQLITE_DBSTATUS_CACHE_WRITE))
        defer { (changes, writes) = (total, pages) }
        var record = records.popLast()
        record?.changes = Int(total - changes)
        if pages == writes {
            record?.pages = 0
        } else {
            let spilled = status(SQLITE_DBSTATUS_CACHE_SPILL)
            var version: UInt32 = 0
            sqlite3_file_control(handle, nil, SQLITE_FCNTL_DATA_VERSION, &version)
            if spilled == spills, pages > writes { record?.pages = Int(pages - writes) }
            if let versions { record?.versions = Int(version) - Int(versions) }
            (spills, versions) = (spilled, version)
        }
        record.map { records.append($0) }
    }

    private func status(_ option: Int32) -> Int32 {
        var (current, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(handle, option, &current, &highest, 0)
        return current
    }

    /// Runs a statement, which may fail.
    @discardableResult func run(_ sql: String) -> Int32 {
        let previous = order
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK, order != previous, let last = records.indices.last {
            records[last].error = .init(code: sqlite3_extended_errcode(handle), message: "")
        }
        return code
    }
}
