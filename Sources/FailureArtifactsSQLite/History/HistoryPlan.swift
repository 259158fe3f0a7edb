internal import FailureArtifactsSystem

/// Which states of a store can be rebuilt from its WAL, and which pages that takes.
///
/// State 0 precedes the WAL's first transaction, state N is the one after the Nth. To rebuild all states from
/// some state on it takes the pages of the transactions after it, and the images which that state has of
///
/// - the pages that those transactions wrote;
/// - the pages beyond the end of the last state, which the copy of the last state lacks;
/// - the pages that were in use and are on the freelist in the last state. SQLite does not write a page that
///   it frees, so no frame has it, and a copy may have zeros in its place.
struct HistoryPlan: ~Copyable {
    let source: HistorySource
    let log: WriteAheadLog
    let index: WriteAheadLogIndex?
    let frames: FrameIndex
    let deadline: Instant?
    /// Whole pages in the database file.
    private(set) var pagesInFile: UInt32 = 0
    /// The size of state 0 in pages; nil where it is lost.
    private(set) var initialSize: UInt32?

    /// Takes over the files, whose WAL holds at least one transaction.
    init(
        _ source: consuming HistorySource, log: WriteAheadLog, index: WriteAheadLogIndex?,
        until deadline: Instant?
    ) throws(HistoryError) {
        self.source = source
        self.log = log
        self.index = index
        self.deadline = deadline
        frames = FrameIndex(log)
        do {
            pagesInFile = UInt32(clamping: try self.source.database.size() / UInt64(log.pageSize))
        } catch {
            throw HistoryError(self.source.database.path, .system(error))
        }
        initialSize = try readInitialSize()
    }

    /// The size of a state in pages; of state 0, 0 where that is lost.
    func size(of state: Int) -> UInt32 {
        state == 0 ? initialSize ?? 0 : log.transactions[state - 1].databaseSize
    }

    /// How many frames precede what follows a state.
    func end(of state: Int) -> Int {
        state == 0 ? 0 : log.transactions[state - 1].frames.upperBound
    }

    /// The number of the last state.
    var last: Int { log.transactions.count }

    /// The page that SQLite never uses, as locks are taken on its bytes.
    var lockBytePage: UInt32 { UInt32((1 << 30) / log.pageSize) + 1 }

    /// A page as a state has it; nil where there is none.
    func image(of page: UInt32, in state: Int) throws(HistoryError) -> [UInt8]? {
        var image = [UInt8](repeating: 0, count: log.pageSize)
        let isThere = try image.withMutableBytes { (buffer) throws(HistoryError) in
            try read(page, in: state, into: buffer)
        }
        return isThere ? image : nil
    }

    /// Reads a page as a state has it.
    ///
    /// - Returns: Whether there is such a page.
    func read(
        _ page: UInt32, in state: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(HistoryError) -> Bool {
        if let frame = frames.lastFrame(of: page, before: end(of: state)) {
            try source.readFrame(frame, of: log, into: buffer)
            return true
        }
        return try source.readPage(page, into: buffer)
    }

    /// Whether the files are a database as SQLite itself writes it, and the WAL is that of the database: an
    /// encrypted one has no header that could be read, or written.
    func isPlainDatabase() throws(HistoryError) -> Bool {
        guard let header = try image(of: 1, in: last) else { return false }
        let pageSize = header.withBytes { Int($0.bigEndianUInt16(at: 16)) }
        return header.starts(with: DatabaseHeader.magic)
            && (pageSize == 1 ? 65536 : pageSize) == log.pageSize
    }

    func checkTime() throws(HistoryError) {
        if let deadline, Instant.now > deadline { throw HistoryError(source.wal.path, .timeLimit) }
    }
}
