internal import FailureArtifactsSystem

// The content of a history.
extension HistoryPlan {
    /// The content of a history file.
    struct Content {
        /// The state that it starts with.
        var state: Int
        /// The pages of that state whose images it holds.
        var initialPages: [UInt32]
        /// For each transaction after that state, the last frame of each page it wrote.
        var transactions: [[Int32]]
        var layout: HistoryLayout
    }

    /// The reason why a history does not start with state 0.
    enum Cut {
        case checkpoint, limit
    }

    /// Returns the longest history whose file has at most `limit` bytes; nil if no transaction can be kept.
    ///
    /// If the history is not complete, the result has the reason.
    func content(limit: UInt64) throws(HistoryRecordingError) -> (content: Content?, cut: Cut?) {
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
            // The total size includes pages that were freed or cut off, which are known only here. So continue in
            // growing steps.
            state += step
            step *= 2
        }
        return (nil, .limit)
    }

    /// Returns, for each transaction, the last frame of each page that it wrote.
    private func keptFrames() -> [[Int32]] {
        var lastFrame = [Int32](repeating: -1, count: frames.pages.count)
        return log.transactions.map { transaction in
            for frame in transaction.frames { lastFrame[Int(frames.slots[frame])] = Int32(frame) }
            return transaction.frames.compactMap { frame in
                lastFrame[Int(frames.slots[frame])] == Int32(frame) ? Int32(frame) : nil
            }
        }
    }

    /// Returns the first state whose history probably fits; nil if no history fits.
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
    ) throws(HistoryRecordingError) -> Content {
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

    private func freeLeaves(in state: Int) throws(HistoryRecordingError) -> Set<UInt32> {
        try Freelist(databaseSize: size(of: state)) { (page) throws(HistoryRecordingError) in
            try image(of: page, in: state)
        }.leaves
    }
}
