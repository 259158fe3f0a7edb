internal import FailureArtifactsSystem

// The states from before a checkpoint that can still be rebuilt.
extension HistoryPlan {
    /// The number of frames that a checkpoint may have written into the database.
    private var backfillLimit: Int {
        guard let index, index.describes(log) else { return log.pages.count }
        return index.backfillAttempted
    }

    /// Returns true if the database no longer has a page's content from before the WAL's first frame of that
    /// page.
    ///
    /// A checkpoint may have written such a frame into the database. The page in the database then equals one of
    /// its frames.
    private func isLost(_ slot: Int) throws(HistoryRecordingError) -> Bool {
        let page = frames.pages[slot]
        guard page <= pagesInFile else { return true }
        guard frames.firstFrames[slot] < backfillLimit else { return false }
        guard let stored = try image(of: page, in: 0) else { return true }
        var image = stored
        for frame in frames.frames(ofSlot: slot) {
            try image.withMutableBytes { (buffer) throws(HistoryRecordingError) in
                try source.readFrame(frame, of: log, into: buffer)
            }
            if image == stored { return true }
        }
        return false
    }

    /// Returns the size of state 0 in pages, from the header, as SQLite reads it
    /// (<https://www.sqlite.org/fileformat2.html#in_header_database_size>); nil if it is lost.
    func readInitialSize() throws(HistoryRecordingError) -> UInt32? {
        guard pagesInFile > 0 else { return 0 }
        if let slot = frames.slot(of: 1), try isLost(slot) { return nil }
        guard let header = try image(of: 1, in: 0) else { return nil }
        let size = header.withBytes { $0.bigEndianUInt32(at: 28) }
        let isValid = size > 0 && header[24..<28] == header[92..<96]
        return isValid ? size : pagesInFile
    }

    /// Returns the number of the transaction that a frame belongs to, from 1.
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

    /// Returns, for each slot, true if its page was beyond the end of all states before its first frame.
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

    /// Returns the first state such that it and all later states can be rebuilt.
    func firstWholeState(_ isNew: [Bool]) throws(HistoryRecordingError) -> Int {
        var state = 0
        if initialSize == nil {
            // Only page 1 states the size. So the first known size belongs to the state after its first frame.
            state = frames.slot(of: 1).map { transaction(ofFrame: frames.firstFrames[$0]) } ?? last
        }
        // If a page is lost, no state before its first frame can be rebuilt.
        for slot in frames.pages.indices.reversed() {
            let first = transaction(ofFrame: frames.firstFrames[slot])
            if first <= state { break }
            try checkTime()
            if !isNew[slot], try isLost(slot) {
                state = first
                break
            }
        }
        // A checkpoint truncates the database to the size of the last state.
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
