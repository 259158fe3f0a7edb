internal import FailureArtifactsSystem

/// The states of a store that can be rebuilt from its WAL, and the pages that are needed for that.
///
/// State 0 precedes the WAL's first transaction, and state N is the state after the Nth. Rebuilding a state and
/// all later ones takes the pages of the transactions after it. It also takes the state's images of
///
/// - the pages that those transactions wrote;
/// - the pages beyond the end of the last state, which the copy of the last state lacks;
/// - the pages that are in use in it and on the freelist in the last state. SQLite does not write a page that it
///   frees, so no frame has it, and a copy may have zeros in its place.
struct HistoryPlan: ~Copyable {
    let source: HistorySource
    let log: WriteAheadLog
    let index: WriteAheadLogIndex?
    let frames: FrameIndex
    let deadline: Instant?
    /// The number of whole pages in the database file.
    private(set) var pagesInFile: UInt32 = 0
    /// The size of state 0, in pages; nil if it is lost.
    private(set) var initialSize: UInt32?

    /// Takes ownership of the files; the WAL must hold at least one transaction.
    init(
        _ source: consuming HistorySource, log: WriteAheadLog, index: WriteAheadLogIndex?,
        until deadline: Instant?
    ) throws(HistoryRecordingError) {
        self.source = source
        self.log = log
        self.index = index
        self.deadline = deadline
        frames = FrameIndex(log)
        do {
            pagesInFile = UInt32(clamping: try self.source.database.size() / UInt64(log.pageSize))
        } catch {
            throw HistoryRecordingError(self.source.database.path, .system(error))
        }
        initialSize = try readInitialSize()
    }

    /// Returns the size of a state in pages; 0 for state 0 if its size is lost.
    func size(of state: Int) -> UInt32 {
        state == 0 ? initialSize ?? 0 : log.transactions[state - 1].databaseSize
    }

    /// Returns the number of frames up to the end of a state.
    func end(of state: Int) -> Int {
        state == 0 ? 0 : log.transactions[state - 1].frames.upperBound
    }

    /// The number of the last state.
    var last: Int { log.transactions.count }

    /// The page that SQLite never uses, because locks are taken on its bytes.
    var lockBytePage: UInt32 { UInt32((1 << 30) / log.pageSize) + 1 }

    /// Returns a state's image of a page; nil if there is no such page.
    func image(of page: UInt32, in state: Int) throws(HistoryRecordingError) -> [UInt8]? {
        var image = [UInt8](repeating: 0, count: log.pageSize)
        let isThere = try image.withMutableBytes { (buffer) throws(HistoryRecordingError) in
            try read(page, in: state, into: buffer)
        }
        return isThere ? image : nil
    }

    /// Reads a state's image of a page; returns false if there is no such page.
    func read(
        _ page: UInt32, in state: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(HistoryRecordingError) -> Bool {
        if let frame = frames.lastFrame(of: page, before: end(of: state)) {
            try source.readFrame(frame, of: log, into: buffer)
            return true
        }
        return try source.readPage(page, into: buffer)
    }

    /// Returns true if the files are a database as SQLite itself writes it, and the WAL belongs to it.
    ///
    /// An encrypted database has no readable header.
    func isPlainDatabase() throws(HistoryRecordingError) -> Bool {
        guard let header = try image(of: 1, in: last) else { return false }
        let pageSize = header.withBytes { Int($0.bigEndianUInt16(at: 16)) }
        return header.starts(with: DatabaseHeader.magic)
            && (pageSize == 1 ? 65536 : pageSize) == log.pageSize
    }

    func checkTime() throws(HistoryRecordingError) {
        if let deadline, Instant.now > deadline {
            throw HistoryRecordingError(source.wal.path, .timeLimit)
        }
    }
}
