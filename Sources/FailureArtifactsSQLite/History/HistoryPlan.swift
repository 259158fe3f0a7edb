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
    private var pagesInFile: UInt32 = 0
    /// The size of state 0 in pages; nil where it is lost.
    private var initialSize: UInt32?

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

    // MARK: States

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
    private var lockBytePage: UInt32 { UInt32((1 << 30) / log.pageSize) + 1 }

    /// A page as a state has it; nil where there is none.
    private func image(of page: UInt32, in state: Int) throws(HistoryError) -> [UInt8]? {
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

    func checkTime() throws(HistoryError) {
        if let deadline, Instant.now > deadline { throw HistoryError(source.wal.path, .timeLimit) }
    }

    // MARK: What a checkpoint has taken

    /// How many frames a checkpoint may have written into the database.
    private var backfillLimit: Int {
        guard let index, index.describes(log) else { return log.pages.count }
        return index.backfillAttempted
    }

    /// Whether the database has no longer what it had of a page before the WAL's first frame of it.
    ///
    /// That frame may have been written back, and the database has the page as one of its frames has it.
    private func isLost(_ slot: Int) throws(HistoryError) -> Bool {
        let page = frames.pages[slot]
        guard page <= pagesInFile else { return true }
        guard frames.firstFrames[slot] < backfillLimit else { return false }
        guard let stored = try image(of: page, in: 0) else { return true }
        var image = stored
        for frame in frames.frames(ofSlot: slot) {
            try image.withMutableBytes { (buffer) throws(HistoryError) in
                try source.readFrame(frame, of: log, into: buffer)
            }
            if image == stored { return true }
        }
        return false
    }

    /// The size of state 0 by the header, as SQLite reads it
    /// (<https://www.sqlite.org/fileformat2.html#in_header_database_size>).
    private func readInitialSize() throws(HistoryError) -> UInt32? {
        guard pagesInFile > 0 else { return 0 }
        if let slot = frames.slot(of: 1), try isLost(slot) { return nil }
        guard let header = try image(of: 1, in: 0) else { return nil }
        let size = header.withBytes { $0.bigEndianUInt32(at: 28) }
        let isValid = size > 0 && header[24..<28] == header[92..<96]
        return isValid ? size : pagesInFile
    }

    /// The transaction that a frame is of, from 1.
    private func transaction(ofFrame frame: Int32) -> Int {
        var low = 0
        var high = log.transactions.count - 1
        while low < high {
            let middle = (low + high) / 2
            if log.transactions[middle].frames.upperBound > Int(frame) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low + 1
    }

    /// Whether each slot's page was beyond the end of all states before its first frame.
    private func newPages() -> [Bool] {
        var largest = size(of: 0)
        var isNew: [Bool] = []
        var slot = 0
        for transaction in log.transactions {
            while slot < frames.pages.count,
                Int(frames.firstFrames[slot]) < transaction.frames.upperBound
            {
                isNew.append(frames.pages[slot] > largest)
                slot += 1
            }
            largest = max(largest, transaction.databaseSize)
        }
        return isNew
    }

    /// The first state from which on all states can be rebuilt.
    private func firstWholeState(_ isNew: [Bool]) throws(HistoryError) -> Int {
        var state = 0
        if initialSize == nil {
            // Only page 1 tells the size, and only its first frame that of the state after it.
            state = frames.slot(of: 1).map { transaction(ofFrame: frames.firstFrames[$0]) } ?? last
        }
        // A page that is lost takes with it all states before its first frame.
        for slot in frames.pages.indices.reversed() {
            let first = transaction(ofFrame: frames.firstFrames[slot])
            if first <= state { break }
            try checkTime()
            if !isNew[slot], try isLost(slot) {
                state = first
                break
            }
        }
        // A checkpoint cuts the database to the size of the last state.
        let cut = max(pagesInFile, size(of: last))
        for earlier in stride(from: last - 1, through: state, by: -1) where size(of: earlier) > cut {
            let missing = (cut + 1)...size(of: earlier)
            guard missing.count <= frames.pages.count + 1 else { return earlier + 1 }
            let end = end(of: earlier)
            let isWhole = missing.allSatisfy { page in
                page == lockBytePage || frames.lastFrame(of: page, before: end) != nil
            }
            if !isWhole { return earlier + 1 }
        }
        return state
    }

    // MARK: What is recorded

    /// What a history holds.
    struct Content {
        /// The state it starts with.
        var state: Int
        /// The pages of that state that it has images of.
        var initialPages: [UInt32]
        /// For each transaction after that state, the last frame of each page it wrote.
        var transactions: [[Int32]]
        var layout: HistoryLayout
    }

    /// Why a history does not start with state 0.
    enum Cut {
        case checkpoint, limit
    }

    /// The longest history that fits.
    ///
    /// - Parameter limit: The largest size of its file in bytes.
    /// - Returns: The content, nil where no transaction can be kept; and why it is not all.
    /// - Throws: A failure to read, or that the time is up.
    func content(limit: UInt64) throws(HistoryError) -> (content: Content?, cut: Cut?) {
        let isNew = newPages()
        let whole = try firstWholeState(isNew)
        guard whole < last else { return (nil, .checkpoint) }
        let kept = keptFrames()
        let freeLeaves = try freeLeaves(in: last)
        guard var state = firstState(from: whole, limit: limit, kept, isNew) else {
            return (nil, .limit)
        }
        var step = 1
        while state < last {
            let content = try content(from: state, kept, freeLeaves)
            if content.layout.fileSize <= limit {
                return (content, state > whole ? .limit : state > 0 ? .checkpoint : nil)
            }
            // The rest, pages that were freed or cut off, is known only here: go on in growing steps.
            state += step
            step *= 2
        }
        return (nil, .limit)
    }

    /// For each transaction the last frame of each page it wrote.
    private func keptFrames() -> [[Int32]] {
        var lastFrame = [Int32](repeating: -1, count: frames.pages.count)
        return log.transactions.map { transaction in
            for frame in transaction.frames { lastFrame[Int(frames.slots[frame])] = Int32(frame) }
            return transaction.frames.compactMap { frame in
                lastFrame[Int(frames.slots[frame])] == Int32(frame) ? Int32(frame) : nil
            }
        }
    }

    /// The first state whose history probably fits.
    private func firstState(
        from whole: Int, limit: UInt64, _ kept: [[Int32]], _ isNew: [Bool]
    ) -> Int? {
        var wasWritten = [Bool](repeating: false, count: frames.pages.count)
        var pages = 0
        var result: Int?
        for state in stride(from: last - 1, through: whole, by: -1) {
            for frame in kept[state] {
                let slot = Int(frames.slots[Int(frame)])
                pages += 1
                if !wasWritten[slot] {
                    wasWritten[slot] = true
                    pages += 1
                }
                // Before its first frame a new page has no image.
                if isNew[slot], Int(frames.firstFrames[slot]) >= end(of: state) { pages -= 1 }
            }
            let size =
                UInt64(HistoryLayout.headerSize) + 8 * UInt64(last - state)
                + UInt64(pages) * UInt64(log.pageSize + 4)
            if size <= limit { result = state }
        }
        return result
    }

    private func content(
        from state: Int, _ kept: [[Int32]], _ freeLeaves: Set<UInt32>
    ) throws(HistoryError) -> Content {
        let size = size(of: state)
        var wasWritten = [Bool](repeating: false, count: frames.pages.count)
        for frame in end(of: state)..<end(of: last) { wasWritten[Int(frames.slots[frame])] = true }
        func isWritten(_ page: UInt32) -> Bool { frames.slot(of: page).map { wasWritten[$0] } ?? false }

        var pages: [UInt32] = []
        for slot in frames.pages.indices where wasWritten[slot] && frames.pages[slot] <= size {
            pages.append(frames.pages[slot])
        }
        let finalSize = self.size(of: last)
        if size > finalSize {
            pages += ((finalSize + 1)...size).filter { $0 != lockBytePage && !isWritten($0) }
        }
        let unused = freeLeaves.filter { $0 <= min(size, finalSize) && !isWritten($0) }
        if !unused.isEmpty { pages += unused.subtracting(try self.freeLeaves(in: state)) }
        pages.sort()

        let transactions = Array(kept[state...])
        let layout = HistoryLayout(
            pageSize: log.pageSize, initialSize: size, transactionCount: transactions.count,
            initialPageCount: pages.count, changedPageCount: transactions.reduce(0) { $0 + $1.count })
        return Content(state: state, initialPages: pages, transactions: transactions, layout: layout)
    }

    private func freeLeaves(in state: Int) throws(HistoryError) -> Set<UInt32> {
        try Freelist.leaves(databaseSize: size(of: state)) { (page) throws(HistoryError) in
            try image(of: page, in: state)
        }
    }
}
