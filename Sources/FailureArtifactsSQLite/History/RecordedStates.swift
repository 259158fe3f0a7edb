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
    struct Step {
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

    /// The maximum size of a state, in bytes.
    static let maximumBytes = Int(failure_artifacts_slot_state)

    /// The numbers of the connections that used the store.
    package let connections: [UInt64]
    /// The number of the store's file; nil for a store without a file.
    package let file: FileStatus.Identity?
    /// False if not all pages of the last state are known.
    package private(set) var isComplete: Bool
    /// The number of transactions after the last state.
    package let postponedTransactions: Int
    let pageSize: Int
    /// The size of the last state, in pages.
    private(set) var size: UInt32
    /// The pages of the last state.
    private(set) var state: [UInt8] = []
    /// The bits of the known pages.
    private let known: [UInt8]
    private var steps: [Step] = []
    /// The number of transactions before ``steps``.
    private(set) var forgotten = 0

    /// Reads a slot, and copies its content; nil if it is unused or invalid.
    package init?(_ slot: UnsafeRawBufferPointer) {
        var facts = failure_artifacts_slot_facts()
        guard slot.count >= Int(failure_artifacts_slot_size),
            failure_artifacts_slot_read(slot.baseAddress, &facts)
        else { return nil }
        let headerSize = Int(failure_artifacts_slot_header)
        pageSize = Int(facts.page_size)
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
        guard let largest = sizes.max(), Int(largest) <= Self.maximumBytes / pageSize else { return nil }
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
        guard var history = try RecordedHistory(of: self, endingWith: copy) else { return nil }
        if !history.isExact(knowing: isKnown), onlyIfExact { return nil }
        for step in steps.reversed() { history.goBack(step, maximumBytes: maximumBytes) }
        return try history.write(to: path) { $0 <= size && isKnown($0) }
    }
}

extension RecordedStates.Step {
    /// Reads a record; nil unless all its ranges are within it, and within their pages.
    init?(_ record: Slice<UnsafeRawBufferPointer>, pageSize: Int) {
        let record = UnsafeRawBufferPointer(rebasing: record)
        var place = MemoryLayout<failure_artifacts_step>.size
        guard record.count >= place else { return nil }
        let header = record.loadUnaligned(as: failure_artifacts_step.self)
        let maximum = UInt32(RecordedStates.maximumBytes / pageSize)
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
