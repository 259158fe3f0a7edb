package import FailureArtifactsSystem

/// Records the earlier states of a WAL store.
///
/// These are the states after each transaction that its WAL still has, and the state before the first. State 0 precedes
/// the WAL's first transaction, and state N is the state after the Nth.
///
/// The history goes with a stand-alone copy of the committed state, whose pages must be the store's pages: copied files,
/// the backup API and `sqlite3_serialize` produce such a copy, `VACUUM INTO` does not. The leaves of the freelist may be
/// zeroed in it. For a store that is in use, the caller reads the WAL's index before it makes the copy, and again after
/// recording. If the two differ, the history and the copy may be from different points in time. Private copies of all
/// files need no second reading.
///
/// Nothing is written to the store, no lock is taken, and no SQLite function is called.
package struct WALHistory: Sendable {
    /// The maximum size of the history file, in bytes; beyond it, only the newest transactions are kept.
    package var maximumBytes: UInt64
    /// The time limit, in seconds; nil for no limit.
    package var timeLimit: Double?

    package init(maximumBytes: UInt64, timeLimit: Double? = nil) {
        self.maximumBytes = maximumBytes
        self.timeLimit = timeLimit
    }

    /// The result of a recording.
    package struct Summary: Equatable, Sendable {
        /// The number of transactions in the file; if it is 0, there is no file.
        package var transactions = 0
        /// The number of older transactions in the WAL that are not in the file.
        package var omittedTransactions = 0
        /// The size of the file, in bytes.
        package var bytes: UInt64 = 0
        /// The reason why the file holds less than the WAL, or nothing, as a full sentence.
        package var reason: String?
        /// The ends of the transactions in the file; empty if they are not known.
        package var commits: [RecordedStates.Commit] = []

        package init() {}
    }

    /// Records a store's history in a new file; after an error, there is no file.
    ///
    /// If a connection of this process has the store open, each file must be a `File(sharing:)`. Without the WAL's index,
    /// all of the WAL may have been written into the database, so that there is no history. `committedPages` is the size,
    /// in pages, of the copy of the committed state that the history will be used with, unless the files are private
    /// copies.
    package func record(
        database: consuming File, wal: consuming File, index: WriteAheadLogIndex?,
        committedPages: UInt64? = nil, to path: String
    ) throws -> Summary {
        let deadline = timeLimit.map { Instant.now.advanced(bySeconds: $0) }
        let log = try WriteAheadLog(reading: wal, until: deadline)
        var summary = Summary()
        let count = log.transactions.count
        summary.omittedTransactions = count
        summary.reason = Self.obstacle(to: log, index, committedPages)
        guard summary.reason == nil else { return summary }
        let states = try WALStates(database: database, wal: wal, log: log, deadline: deadline)
        guard try states.isPlainDatabase() else {
            summary.reason = "The store's first page is not the header of a plain SQLite database."
            return summary
        }
        let first = states.firstWhole(checkpointed: index?.backfillAttempted ?? log.pages.count)
        let content = try states.content(from: first, maximumBytes: maximumBytes)
        if let content {
            try states.write(content, to: path)
            summary.transactions = count - content.state
            summary.omittedTransactions = content.state
            summary.bytes = content.layout.fileSize
        }
        let omitted = summary.omittedTransactions
        if omitted > 0 {
            let cause =
                omitted > first
                ? "With them it would have more than \(maximumBytes) bytes."
                : "A checkpoint has written over what the database held before."
            summary.reason =
                "The history lacks \(omitted) of the WAL's \(count) transactions, the oldest. " + cause
        }
        return summary
    }

    /// Returns the reason why a WAL has no history that ends with the copy, as a full sentence.
    private static func obstacle(
        to log: WriteAheadLog, _ index: WriteAheadLogIndex?, _ committedPages: UInt64?
    ) -> String? {
        if log.isBroken(accordingTo: index) {
            return
                "The WAL has committed transactions that only the process itself can read: the checksum of "
                + "frame \(log.pages.count + 1) or of one after it is wrong."
        }
        if let index, index.describes(log), index.lastFrame < log.pages.count {
            return "The WAL's last transaction was being written: the process itself did not see it yet."
        }
        guard let last = log.transactions.last else { return "The WAL held no transaction." }
        guard let index, index.describes(log) else {
            return
                "The WAL has no index, which would tell if a checkpoint has written over what the database "
                + "held before."
        }
        guard let committedPages, committedPages != UInt64(last.databaseSize) else { return nil }
        return
            "The WAL's last transaction left \(last.databaseSize) pages and the copy of the store has "
            + "\(committedPages): they are of different moments."
    }
}

/// The states of a store that its WAL and its database file hold.
private struct WALStates: ~Copyable {
    private let database: File
    private let wal: File
    private let log: WriteAheadLog
    private let deadline: Instant?
    /// The number of whole pages in the database file.
    private let pagesInFile: UInt32
    /// The size of state 0, in pages.
    private let initialSize: UInt32

    /// The content of a history file.
    struct Content {
        /// The state that it starts with.
        var state: Int
        /// The pages of that state whose images it holds.
        var initialPages: [UInt32]
        /// For each transaction after that state, the last frame of each page it wrote.
        var transactions: ArraySlice<[Int]>
        var layout: HistoryLayout
    }

    /// The WAL must hold at least one transaction.
    init(
        database: consuming File, wal: consuming File, log: WriteAheadLog, deadline: Instant?
    ) throws(SystemError) {
        let pagesInFile = UInt32(clamping: try database.size() / UInt64(log.pageSize))
        let size = DatabaseHeader(try database.bytes(DatabaseHeader.size, at: 0))?.pageCount ?? 0
        self.pagesInFile = pagesInFile
        initialSize = size > 0 ? UInt32(size) : pagesInFile
        self.database = database
        self.wal = wal
        self.log = log
        self.deadline = deadline
    }

    private var last: Int { log.transactions.count }

    /// Returns the size of a state in pages.
    private func size(of state: Int) -> UInt32 {
        state == 0 ? initialSize : log.transactions[state - 1].databaseSize
    }

    /// Returns the number of frames up to the end of a state.
    private func end(of state: Int) -> Int {
        state == 0 ? 0 : log.transactions[state - 1].frames.upperBound
    }

    /// Returns a state's image of a page; zeros for a page that was never written.
    private func image(of page: UInt32, in state: Int) throws(SystemError) -> [UInt8] {
        if let frame = log.lastFrame(of: page, before: end(of: state)) {
            return try image(inFrame: frame)
        }
        let image = try database.bytes(log.pageSize, at: UInt64(page - 1) * UInt64(log.pageSize))
        return image + [UInt8](repeating: 0, count: log.pageSize - image.count)
    }

    private func image(inFrame frame: Int) throws(SystemError) -> [UInt8] {
        if let deadline, Instant.now > deadline {
            throw SystemError("read", wal.path, code: ETIME)
        }
        let image = try wal.bytes(log.pageSize, at: log.offset(ofPageInFrame: frame))
        guard image.count == log.pageSize else { throw SystemError("read", wal.path, code: EIO) }
        return image
    }

    /// Returns true if the files are a database as SQLite itself writes it, and the WAL belongs to it.
    ///
    /// An encrypted database has no readable header.
    func isPlainDatabase() throws(SystemError) -> Bool {
        DatabaseHeader(try image(of: 1, in: last))?.pageSize == log.pageSize
    }

    /// Returns the first state such that it and all later states can be rebuilt.
    ///
    /// A checkpoint may have written a number of frames into the database.
    func firstWhole(checkpointed frames: Int) -> Int {
        let frames = min(frames, log.pages.count)
        var state =
            frames == 0
            ? 0 : (log.transactions.firstIndex { $0.frames.upperBound >= frames } ?? last) + 1
        // A state of a damaged store may claim any size.
        let maximum = UInt64(max(pagesInFile, size(of: last))) + UInt64(log.pages.count) + 1
        if let large = (state..<last).last(where: { UInt64(size(of: $0)) > maximum }) {
            state = large + 1
        }
        return state
    }

    /// Returns the longest history from a state on whose file fits; nil if no transaction does.
    func content(from first: Int, maximumBytes: UInt64) throws(SystemError) -> Content? {
        let kept = log.transactions.map { transaction in
            var last: [UInt32: Int] = [:]
            for frame in transaction.frames { last[log.pages[frame]] = frame }
            return transaction.frames.filter { last[log.pages[$0]] == $0 }
        }
        let freeAtEnd = try freeLeaves(in: last)
        // The longest one is tried first, and then the middle of what is left.
        var (state, low, high) = (first, first, last)
        var result: Content?
        while low < high {
            let content = try content(from: state, kept, freeAtEnd)
            if content.layout.fileSize <= maximumBytes {
                result = content
                high = state
            } else {
                low = state + 1
            }
            state = (low + high) / 2
        }
        return result
    }

    /// Returns the history from a state on.
    ///
    /// Rebuilding it takes that state's images of
    ///
    /// - the pages that later transactions wrote;
    /// - the pages beyond the end of the last state, which the copy of the last state lacks;
    /// - the pages that are in use in it and on the freelist in the last state. SQLite does not write a page that it
    ///   frees, so no frame has it, and a copy may have zeros in its place.
    private func content(
        from state: Int, _ kept: [[Int]], _ freeAtEnd: Set<UInt32>
    ) throws(SystemError) -> Content {
        let (size, finalSize) = (size(of: state), size(of: last))
        let changed = Set(log.pages[end(of: state)...])
        var pages = changed.filter { $0 <= size }
        if size > finalSize { pages.formUnion((finalSize + 1)...size) }
        let unused = freeAtEnd.filter { $0 <= min(size, finalSize) && !changed.contains($0) }
        if !unused.isEmpty { pages.formUnion(unused.subtracting(try freeLeaves(in: state))) }
        pages.remove(lockBytePage(ofPageSize: log.pageSize))
        let transactions = kept[state...]
        let layout = HistoryLayout(
            pageSize: log.pageSize, initialSize: size, transactionCount: transactions.count,
            initialPageCount: pages.count, changedPageCount: transactions.reduce(0) { $0 + $1.count })
        return Content(
            state: state, initialPages: pages.sorted(), transactions: transactions, layout: layout)
    }

    private func freeLeaves(in state: Int) throws(SystemError) -> Set<UInt32> {
        try Freelist(databaseSize: size(of: state)) { (page) throws(SystemError) in
            try image(of: page, in: state)
        }.leaves
    }

    /// Writes a history to a new file.
    func write(_ content: Content, to path: String) throws(SystemError) {
        let transactions = content.transactions.enumerated().map { index, frames in
            (size: size(of: content.state + index + 1), pages: frames.map { log.pages[$0] })
        }
        try content.layout.write(
            initialPages: content.initialPages, transactions, to: path
        ) { (append) throws(SystemError) in
            for page in content.initialPages { try append(image(of: page, in: content.state)) }
            for frame in content.transactions.joined() { try append(image(inFrame: frame)) }
        }
    }
}
