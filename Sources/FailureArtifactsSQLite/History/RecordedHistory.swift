internal import FailureArtifactsSystem

/// The history of a store that was recorded page by page, made from its end to its start.
///
/// It begins with the copy of the committed state. Each step back undoes a recorded transaction, and keeps the images of
/// the pages as that transaction left them.
struct RecordedHistory {
    /// A transaction of a history.
    private struct Transaction {
        var pages: [UInt32]
        /// The size of the state after it, in pages.
        let size: UInt32
        let commit: RecordedStates.Commit
        /// The images of its pages.
        var images: [UInt8]
    }

    private let pageSize: Int
    /// The copy that the history ends with, and its size in pages.
    private let last: [UInt8]
    private let lastSize: UInt32
    /// The unused pages of the copy.
    private let freeAtEnd: Set<UInt32>
    /// The state that the history has gone back to, and its size in pages.
    ///
    /// It is a stand-alone file, like the copy, also if the store has a WAL.
    private var state: [UInt8]
    private var size: UInt32
    /// The newest one is the first.
    private var transactions: [Transaction] = []
    /// The number of images of all transactions.
    private var pageCount = 0
    private var omitted: Int
    private var isFull = false

    /// Begins with a copy of the last recorded state; nil if the copy is not of this store.
    init?(of states: RecordedStates, endingWith copy: String) throws(SystemError) {
        let file = try File(reading: copy)
        pageSize = states.pageSize
        guard let header = try DatabaseHeader(of: file), header.pageSize == pageSize,
            header.pageCount <= RecordedStates.maximumBytes / pageSize
        else { return nil }
        last = try file.bytes(header.pageCount * pageSize, at: 0)
        lastSize = UInt32(header.pageCount)
        freeAtEnd = Self.freeLeaves(in: last, size: lastSize, pageSize: pageSize)
        size = states.size
        state = states.state
        state += [UInt8](repeating: 0, count: max(0, last.count - state.count))
        omitted = states.forgotten
        useVersionsOfCopy()
    }

    private mutating func useVersionsOfCopy() {
        state.replaceSubrange(DatabaseHeader.versions, with: last[DatabaseHeader.versions])
    }

    // MARK: Going back

    /// Takes unknown pages from the copy, and adds a transaction if the copy has another content than the last recorded
    /// state; returns false if it has.
    mutating func isExact(knowing isKnown: (UInt32) -> Bool) -> Bool {
        var changed: [UInt32] = []
        for page in 1...lastSize where !freeAtEnd.contains(page) {
            let range = bytes(of: page)
            if page > size {
                changed.append(page)
            } else if !isKnown(page) {
                state.replaceSubrange(range, with: last[range])
            } else if state[range] != last[range],
                page > 1 || !DatabaseHeader.isSameFirstPage(state[range], last[range])
            {
                changed.append(page)
            }
        }
        guard !changed.isEmpty || size != lastSize else { return true }
        add(
            changed.isEmpty ? [1] : changed, of: last, size: lastSize,
            RecordedStates.Commit(isMerged: true))
        return false
    }

    /// Undoes a transaction, and adds it; it is omitted if the file would exceed the maximum size, in bytes.
    mutating func goBack(_ step: RecordedStates.Step, maximumBytes: UInt64) {
        let cost = UInt64(pageCount + step.bytes.count / 8 + 64) * UInt64(pageSize + 4)
        if isFull || cost > maximumBytes, pageCount > 0 {
            isFull = true
            omitted += step.transactions
            return
        }
        let pages = step.pages.filter { $0 <= size }
        if hasContent(step) {
            add(pages.isEmpty ? [1] : pages, of: state, size: size, step.commit)
        } else if var earliest = transactions.popLast() {
            let more = pages.filter { !earliest.pages.contains($0) && $0 <= earliest.size }
            earliest.pages += more
            earliest.images += images(of: more, in: state)
            transactions.append(earliest)
            pageCount += more.count
        }
        step.undo(in: &state, pageSize: pageSize)
        useVersionsOfCopy()
        size = step.sizeBefore
    }

    private mutating func add(
        _ pages: [UInt32], of state: [UInt8], size: UInt32, _ commit: RecordedStates.Commit
    ) {
        transactions.append(
            Transaction(
                pages: pages, size: size, commit: commit, images: images(of: pages, in: state)))
        pageCount += pages.count
    }

    /// Returns true if the last transaction before the state has changed what a stand-alone file means.
    ///
    /// The change to WAL mode changes only the versions and the counters in the header, or writes only the header of a new
    /// database. A rollback may leave other bytes in free pages, which later transactions may use as they are.
    private func hasContent(_ step: RecordedStates.Step) -> Bool {
        let isFree = DatabaseHeader(state).map { $0.freePages > 0 } ?? false
        let leaves = isFree ? Self.freeLeaves(in: state, size: size, pageSize: pageSize) : []
        if size == step.sizeBefore, step.pages.allSatisfy({ $0 > size || leaves.contains($0) }) {
            return false
        }
        guard step.pages == [1], size > 0 else { return true }
        let after = state[..<pageSize]
        if step.sizeBefore == 0 {
            let isEmptyLeaf =
                after[100] == 13
                && [60..<64, 68..<72, 103..<105].allSatisfy { after[$0].allSatisfy { $0 == 0 } }
            return size != 1 || !isEmptyLeaf
        }
        var before = Array(after)
        step.undo(in: &before, pageSize: pageSize)
        return size != step.sizeBefore || !DatabaseHeader.isSameFirstPage(before[...], after)
    }

    // MARK: Writing

    /// Writes the history to a new file; without transactions, there is no file.
    func write(
        to path: String, knowing isKnown: (UInt32) -> Bool
    ) throws(SystemError) -> WALHistory.Summary {
        let transactions = transactions.reversed()
        var summary = WALHistory.Summary()
        summary.omittedTransactions = omitted
        summary.transactions = transactions.count
        summary.commits = transactions.map(\.commit)
        if omitted > 0 {
            summary.reason =
                "The history lacks \(omitted) of \(omitted + transactions.count) transactions, the oldest, for "
                + "want of space."
        }
        guard summary.transactions > 0 else { return summary }
        // The pages of the first state whose images the file needs; see the article on the bundle format.
        var initial = Set(transactions.flatMap(\.pages)).filter { $0 <= size }
        if size > lastSize { initial.formUnion((lastSize + 1)...size) }
        initial.formUnion(freeAtEnd.filter { $0 <= size && isKnown($0) })
        let layout = HistoryLayout(
            pageSize: pageSize, initialSize: size, transactionCount: transactions.count,
            initialPageCount: initial.count, changedPageCount: pageCount)
        try layout.write(
            initialPages: initial.sorted(), transactions.map { ($0.size, $0.pages) }, to: path
        ) { (append) throws(SystemError) in
            try append(images(of: initial.sorted(), in: state))
            for transaction in transactions { try append(transaction.images) }
        }
        summary.bytes = layout.fileSize
        return summary
    }

    // MARK: Pages

    private func bytes(of page: UInt32) -> Range<Int> {
        let start = Int(page - 1) * pageSize
        return start..<start + pageSize
    }

    private func images(of pages: [UInt32], in state: [UInt8]) -> [UInt8] {
        var images: [UInt8] = []
        images.reserveCapacity(pages.count * pageSize)
        for page in pages { images += state[bytes(of: page)] }
        return images
    }

    /// Returns the pages of a state whose content has no meaning.
    private static func freeLeaves(in state: [UInt8], size: UInt32, pageSize: Int) -> Set<UInt32> {
        Freelist(databaseSize: size) { page in
            let start = Int(page - 1) * pageSize
            return Array(state[start..<start + pageSize])
        }.leaves
    }
}
