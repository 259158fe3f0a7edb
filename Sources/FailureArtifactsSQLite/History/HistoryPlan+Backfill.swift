internal import FailureArtifactsSystem

// What a checkpoint has left of the states before it.
extension HistoryPlan {
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
    func readInitialSize() throws(HistoryError) -> UInt32? {
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
    func newPages() -> [Bool] {
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
    func firstWholeState(_ isNew: [Bool]) throws(HistoryError) -> Int {
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
}
