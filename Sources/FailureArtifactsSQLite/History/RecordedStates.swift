internal import CFailureArtifactsShared
package import FailureArtifactsSystem

/// The states of a store that its process has recorded page by page.
///
/// They are in a slot of the flight recorder: the last committed state, and the bytes that each of the last
/// transactions replaced. See `slots.h` for the layout. The bytes are untrusted, because another process may have
/// written them, and died.
package struct RecordedStates {
    /// The end of a transaction.
    package struct Commit: Equatable, Sendable {
        /// The number of the statement that ended it, over all connections; 0 if unknown.
        package var order: UInt64 = 0
        /// True if several transactions became this one.
        package var isMerged = false
        /// True if it includes changes of another process.
        package var isForeign = false
    }

    /// A recorded transaction.
    fileprivate struct Step {
        /// The record, which has the bytes that the transaction replaced.
        let bytes: [UInt8]
        /// The pages, each with the replaced ranges: the offset in the page, and the place in ``bytes``.
        var changes: [(page: UInt32, ranges: [(offset: Int, place: Range<Int>)])] = []
        let sizeBefore: UInt32
        let commit: Commit
        /// The number of its transactions.
        let transactions: Int

        var pages: [UInt32] { changes.map(\.page) }
    }

    /// The numbers of the connections that used the store.
    package let connections: [UInt64]
    /// The number of the store's file; nil for a store without a file.
    package let file: FileStatus.Identity?
    /// False if not all pages of the last state are known.
    package private(set) var isComplete: Bool
    /// The number of transactions after the last state.
    package let postponedTransactions: Int
    private let pageSize: Int
    /// The size of the last state, in pages.
    private var size: UInt32
    /// The pages of the last state.
    private var state: [UInt8] = []
    /// The bits of the known pages.
    private let known: [UInt8]
    private var steps: [Step] = []
    /// The number of transactions before ``steps``.
    private var forgotten = 0

    /// Reads a slot, and copies its content; nil if it is unused or invalid.
    package init?(_ slot: UnsafeRawBufferPointer) {
        var facts = failure_artifacts_slot_facts()
        guard slot.count >= Int(failure_artifacts_slot_size),
            failure_artifacts_slot_read(slot.baseAddress, &facts)
        else { return nil }
        let headerSize = Int(failure_artifacts_slot_header)
        pageSize = Int(facts.page_size)
        let maximum = Int(failure_artifacts_slot_state)
        size = facts.page_count
        isComplete = !facts.is_incomplete
        postponedTransactions = Int(facts.postponed)
        connections = withUnsafeBytes(of: facts.connections) { Array($0.bindMemory(to: UInt64.self)) }
            .filter { $0 != 0 }
        file = facts.is_in_file ? .init(device: facts.device, inode: facts.inode) : nil
        known = Array(
            UnsafeBufferPointer(start: facts.known, count: Int(failure_artifacts_slot_pages) / 8))
        let pages = headerSize + Int(failure_artifacts_slot_log)
        let ring = UnsafeRawBufferPointer(rebasing: slot[headerSize..<pages])
        guard let records = Self.records(in: ring, from: facts.first, to: facts.next) else { return nil }
        for record in records {
            guard let step = Step(ring[record], pageSize: pageSize) else { return nil }
            steps.append(step)
        }
        var pending: Step?
        if facts.pending > 0 {
            // The process died while it changed the state.
            let start = Int((facts.pending - 1) % UInt64(ring.count))
            guard let length = Self.length(of: start, in: ring),
                let step = Step(ring[start..<start + length], pageSize: pageSize)
            else { return nil }
            pending = step
            size = step.sizeBefore
        }
        let sizes = [facts.page_count, pending?.sizeBefore ?? 0] + steps.map(\.sizeBefore)
        guard let largest = sizes.max(), Int(largest) <= maximum / pageSize else { return nil }
        state = Array(slot[pages..<pages + Int(largest) * pageSize])
        forgotten = max(0, Int(clamping: facts.transactions) - steps.reduce(0) { $0 + $1.transactions })
        pending?.undo(in: &state, pageSize: pageSize)
    }

    // MARK: Parsing

    private static func length(of start: Int, in ring: UnsafeRawBufferPointer) -> Int? {
        guard start % 8 == 0, start + 8 <= ring.count else { return nil }
        let length = Int(ring.loadUnaligned(fromByteOffset: start, as: UInt32.self))
        return length >= 8 && length % 8 == 0 && length <= ring.count - start ? length : nil
    }

    /// Returns the places of the records in a ring, without those that fill it up; nil if one is invalid.
    private static func records(
        in ring: UnsafeRawBufferPointer, from first: UInt64, to next: UInt64
    ) -> [Range<Int>]? {
        guard first <= next, next - first <= UInt64(ring.count) else { return nil }
        var records: [Range<Int>] = []
        var position = first
        while position < next {
            let start = Int(position % UInt64(ring.count))
            guard let length = length(of: start, in: ring) else { return nil }
            let flags = ring.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)
            if flags & failure_artifacts_step_is_filler.rawValue == 0 {
                records.append(start..<start + length)
            }
            position += UInt64(length)
        }
        return records
    }

    // MARK: States

    private func isKnown(_ page: UInt32) -> Bool {
        let index = Int(page - 1)
        return known[index / 8] >> (index % 8) & 1 == 1
    }

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
    private func freeLeaves(in state: [UInt8], size: UInt32) -> Set<UInt32> {
        Freelist(databaseSize: size) { page in Array(state[bytes(of: page)]) }.leaves
    }

    /// True if a transaction changed only what has no meaning for a stand-alone file, as the change to WAL mode does: the
    /// versions and the counters in the header, or nothing but the header of a new database.
    private func changesOnlyHeader(_ step: Step, after state: [UInt8], size: UInt32) -> Bool {
        guard step.pages == [1], size > 0 else { return false }
        let after = Array(state[..<pageSize])
        if step.sizeBefore == 0 {
            let isLeaf = after[100] == 13
            return size == 1 && isLeaf
                && [60..<64, 68..<72, 103..<105].allSatisfy { after[$0].allSatisfy { $0 == 0 } }
        }
        var before = after
        step.undo(in: &before, pageSize: pageSize)
        return size == step.sizeBefore && isSameFirstPage(before, after)
    }

    /// True if the freelist of a state has pages.
    private func hasFreePages(_ state: [UInt8]) -> Bool {
        state.withBytes { $0.bigEndianUInt32(at: 36) } != 0
    }

    /// Writes the last committed state to a new file; returns false if it is not known.
    package func writeLastState(toNewFile path: String) throws(SystemError) -> Bool {
        guard isComplete else { return false }
        let file = try File(creating: path)
        try state.withBytes { (bytes) throws(SystemError) in
            try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<(Int(size) * pageSize)]), at: 0)
        }
        try file.close()
        return true
    }

    // MARK: The history

    /// Writes the history that ends with a copy of the committed state, if it tells more than the one that is known.
    ///
    /// The recorded states are preferred to a WAL, because they tell which statement ended each transaction. But those of
    /// a store with a WAL are only certain if the last one is the copy's.
    ///
    /// - `maximumBytes`: the maximum size of the file. The newest transactions are kept.
    package func improve(
        _ known: inout WALHistory.Summary?, endingWith copy: String, at path: String,
        maximumBytes: UInt64
    ) throws(SystemError) {
        let earlier = known?.transactions ?? 0
        guard earlier == 0 || steps.count >= earlier else { return }
        let target = earlier == 0 ? path : path + ".recorded"
        do throws(SystemError) {
            try FileSystem.createDirectory(Path.directory(of: path))
            let new = try writeHistory(
                endingWith: copy, to: target, maximumBytes: maximumBytes, onlyIfExact: earlier > 0)
            // A transaction of the WAL may have changed nothing, as VACUUM does at times.
            guard let new, new.transactions >= earlier || new.omittedTransactions == 0 else {
                try FileSystem.remove(target)
                return
            }
            if earlier > 0 { try FileSystem.rename(target, to: path) }
            known = new
        } catch {
            try? FileSystem.remove(target)
            throw error
        }
    }

    /// A transaction of a history.
    fileprivate struct Transaction {
        var pages: [UInt32]
        /// The size of the state after it, in pages.
        let size: UInt32
        let commit: Commit
        /// The images of its pages.
        var images: [UInt8]
    }

    /// Writes the history that ends with a copy of the committed state to a new file.
    ///
    /// If the copy has another content than the last recorded state, the history ends with a transaction that makes the
    /// difference.
    ///
    /// Nil if the copy is not of this store, or isn't exact.
    ///
    /// - `maximumBytes`: the maximum size of the file. The newest transactions are kept.
    /// - `onlyIfExact`: true to write nothing if the last recorded state isn't the copy's.
    package func writeHistory(
        endingWith copy: String, to path: String, maximumBytes: UInt64, onlyIfExact: Bool = false
    ) throws(SystemError) -> WALHistory.Summary? {
        let file = try File(reading: copy)
        guard let header = try DatabaseHeader(of: file), header.pageSize == pageSize,
            header.pageCount <= Int(failure_artifacts_slot_state) / pageSize
        else { return nil }
        let last = try file.bytes(header.pageCount * pageSize, at: 0)
        let lastSize = UInt32(header.pageCount)
        var state = state
        state += [UInt8](repeating: 0, count: max(0, last.count - state.count))
        // A state is a stand-alone file, like the copy, also if the store has a WAL.
        let versions = last[18..<20]
        state.replaceSubrange(18..<20, with: versions)
        let freeAtEnd = freeLeaves(in: last, size: lastSize)
        // The newest one is the first.
        var transactions: [Transaction] = []
        var pageCount = 0
        func add(_ pages: [UInt32], of state: [UInt8], size: UInt32, _ commit: Commit) {
            transactions.append(
                Transaction(
                    pages: pages, size: size, commit: commit, images: images(of: pages, in: state)))
            pageCount += pages.count
        }
        let changed = takeUnknownPages(from: last, size: lastSize, to: &state, except: freeAtEnd)
        if !changed.isEmpty || size != lastSize {
            if onlyIfExact { return nil }
            let pages = changed.isEmpty ? [1] : changed
            add(pages, of: last, size: lastSize, Commit(isMerged: true))
        }
        var omitted = forgotten
        var size = size
        var isFull = false
        for step in steps.reversed() {
            let cost = UInt64(pageCount + step.bytes.count / 8 + 64) * UInt64(pageSize + 4)
            if isFull || cost > maximumBytes, pageCount > 0 {
                isFull = true
                omitted += step.transactions
                continue
            }
            let pages = step.pages.filter { $0 <= size }
            // A rollback may leave other bytes in free pages. Later transactions may use these as they are.
            let leaves = hasFreePages(state) ? freeLeaves(in: state, size: size) : []
            let hasContent =
                (size != step.sizeBefore || !pages.allSatisfy(leaves.contains))
                && !changesOnlyHeader(step, after: state, size: size)
            if hasContent {
                add(pages.isEmpty ? [1] : pages, of: state, size: size, step.commit)
            } else if var earliest = transactions.popLast() {
                let more = pages.filter { !earliest.pages.contains($0) && $0 <= earliest.size }
                earliest.pages += more
                earliest.images += images(of: more, in: state)
                transactions.append(earliest)
                pageCount += more.count
            }
            step.undo(in: &state, pageSize: pageSize)
            state.replaceSubrange(18..<20, with: versions)
            size = step.sizeBefore
        }
        var summary = WALHistory.Summary()
        summary.omittedTransactions = omitted
        summary.transactions = transactions.count
        summary.commits = transactions.reversed().map(\.commit)
        if omitted > 0 {
            summary.reason =
                "The history lacks \(omitted) of \(omitted + transactions.count) transactions, the oldest, for "
                + "want of space."
        }
        guard summary.transactions > 0 else { return summary }
        // The pages of the first state whose images the file needs; see the article on the bundle format.
        var initial = Set(transactions.flatMap(\.pages)).filter { $0 <= size }
        if size > lastSize { initial.formUnion((lastSize + 1)...size) }
        initial.formUnion(freeAtEnd.filter { $0 <= size && $0 <= self.size && isKnown($0) })
        let layout = HistoryLayout(
            pageSize: pageSize, initialSize: size, transactionCount: transactions.count,
            initialPageCount: initial.count, changedPageCount: pageCount)
        let output = try File(creating: path)
        let head = layout.head(
            initialPages: initial.sorted(), transactions.reversed().map { ($0.size, $0.pages) })
        try output.write(head + images(of: initial.sorted(), in: state), at: 0)
        var offset = layout.offset(ofImage: initial.count)
        for transaction in transactions.reversed() {
            try output.write(transaction.images, at: offset)
            offset += UInt64(transaction.images.count)
        }
        try output.close()
        summary.bytes = layout.fileSize
        return summary
    }

    /// Takes the pages that are not known from the copy, and returns the known pages that differ from it.
    private func takeUnknownPages(
        from last: [UInt8], size lastSize: UInt32, to state: inout [UInt8], except free: Set<UInt32>
    ) -> [UInt32] {
        var changed: [UInt32] = []
        for page in 1...lastSize where !free.contains(page) {
            let range = bytes(of: page)
            if page > size {
                changed.append(page)
            } else if !isKnown(page) {
                state.replaceSubrange(range, with: last[range])
            } else if state[range] != last[range], page > 1 || !isSameFirstPage(state, last) {
                changed.append(page)
            }
        }
        return changed
    }

    /// True if two first pages differ only in bytes that a copy may change.
    ///
    /// These are the versions, the change counters and the schema cookie
    /// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
    private func isSameFirstPage(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        func masked(_ bytes: [UInt8]) -> [UInt8] {
            var page = Array(bytes[..<pageSize])
            for range in [18..<20, 24..<28, 40..<44, 92..<100] {
                page.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
            }
            return page
        }
        return masked(a) == masked(b)
    }
}

extension RecordedStates.Step {
    /// Reads a record; nil unless all its ranges are within it, and within their pages.
    init?(_ record: Slice<UnsafeRawBufferPointer>, pageSize: Int) {
        let record = UnsafeRawBufferPointer(rebasing: record)
        var place = MemoryLayout<failure_artifacts_step>.size
        guard record.count >= place else { return nil }
        let header = record.loadUnaligned(as: failure_artifacts_step.self)
        let maximum = UInt32(failure_artifacts_slot_state) / UInt32(pageSize)
        guard header.size_before <= maximum, header.size_after <= maximum else { return nil }
        bytes = Array(record)
        sizeBefore = header.size_before
        commit = RecordedStates.Commit(
            order: header.order,
            isMerged: header.flags & failure_artifacts_step_is_merged.rawValue != 0,
            isForeign: header.flags & failure_artifacts_step_is_foreign.rawValue != 0)
        transactions = Int(header.transactions)
        func numbers() -> (UInt32, UInt32)? {
            guard place + 8 <= record.count else { return nil }
            defer { place += 8 }
            return (
                record.loadUnaligned(fromByteOffset: place, as: UInt32.self),
                record.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
            )
        }
        for _ in 0..<header.pages {
            guard let (page, count) = numbers(), page > 0, page <= max(sizeBefore, header.size_after)
            else { return nil }
            var ranges: [(offset: Int, place: Range<Int>)] = []
            for _ in 0..<count {
                guard let (offset, length) = numbers(), length > 0,
                    Int(offset) + Int(length) <= pageSize, page <= sizeBefore,
                    place + Int(length) <= record.count
                else { return nil }
                ranges.append((Int(offset), place..<place + Int(length)))
                place += Int(length)
            }
            changes.append((page, ranges))
        }
    }

    /// Restores what the transaction replaced.
    func undo(in state: inout [UInt8], pageSize: Int) {
        bytes.withBytes { bytes in
            state.withMutableBytes { state in
                for (page, ranges) in changes {
                    for (offset, place) in ranges {
                        let target = Int(page - 1) * pageSize + offset
                        state[target..<target + place.count].copyBytes(from: bytes[place])
                    }
                }
            }
        }
    }
}
