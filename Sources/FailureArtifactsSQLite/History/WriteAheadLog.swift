package import FailureArtifactsSystem

/// An index of the committed frames of a `-wal` file, without the pages' content
/// (<https://www.sqlite.org/fileformat2.html#the_write_ahead_log>).
///
/// Frames count as in SQLite's recovery: as long as their salts match the header's and the checksum continues, up
/// to the last frame that commits. Later frames belong to no state. They may be valid but uncommitted, from an
/// older generation, or damaged.
package struct WriteAheadLog: Sendable {
    /// A transaction: a run of frames of which the last commits.
    package struct Transaction: Sendable, Equatable {
        /// The indexes into ``WriteAheadLog/pages``, from 0.
        package let frames: Range<Int>
        /// The size of the database after the commit, in pages.
        package let databaseSize: UInt32
    }

    /// The fields of the file's header.
    struct Header: Sendable, Equatable {
        let pageSize: Int
        let isBigEndian: Bool
        /// Both salts, as they are in the file; they change with each generation of the WAL.
        let salts: [UInt8]
        /// All bytes of the header.
        let bytes: [UInt8]
    }

    static let headerSize = 32
    static let frameHeaderSize = 24

    /// The header; nil if it is invalid, in which case there are no frames.
    let header: Header?
    /// The page of each committed frame, in the file's order.
    package let pages: [UInt32]
    /// The transactions, oldest first.
    package let transactions: [Transaction]
    /// True if frames of this generation follow the last valid one.
    ///
    /// They belong to an aborted transaction that was partly overwritten, or they are committed but unreadable
    /// because of a broken checksum.
    package let hasUnreadableTail: Bool

    /// The page size, in bytes; 0 if there is no valid header.
    package var pageSize: Int { header?.pageSize ?? 0 }

    /// Returns true if a checksum or a salt is wrong in one of the frames that the wal-index counts as committed.
    ///
    /// Only the process that committed the affected transactions can read them. SQLite's recovery drops them
    /// without an error, and the result passes `integrity_check`. This doesn't need a broken disk. SQLite 3.40.1
    /// itself writes such frames, after a rollback to a savepoint that took back pages which had outgrown the
    /// cache.
    ///
    /// - `index`: the WAL's index. Nil, or the index of another generation, proves nothing.
    package func isBroken(accordingTo index: WriteAheadLogIndex?) -> Bool {
        guard let index, index.describes(self) else { return false }
        return pages.count < index.lastFrame
    }

    /// Reads a WAL, which other connections may be writing to, from its start to the last valid frame.
    package init(reading file: borrowing File, until deadline: Instant? = nil)
        throws(HistoryRecordingError)
    {
        var block = [UInt8](repeating: 0, count: Self.headerSize)
        let size = try Self.read(file, into: &block, at: 0)
        guard size == Self.headerSize, let (header, checksum) = block.withBytes(Self.header) else {
            self.header = nil
            pages = []
            transactions = []
            hasUnreadableTail = size == Self.headerSize
            return
        }
        self.header = header
        var scan = Scan(header: header, checksum: checksum)
        let frameSize = Self.frameHeaderSize + header.pageSize
        let step = max(1, (1 << 20) / frameSize)
        block = [UInt8](repeating: 0, count: step * frameSize)
        var frame = 0
        while !scan.isOver {
            if let deadline, Instant.now > deadline {
                throw HistoryRecordingError(file.path, .timeLimit)
            }
            let count =
                try Self.read(file, into: &block, at: Self.offset(ofFrame: frame, header)) / frameSize
            block.withBytes { scan.visit($0, count: count) }
            frame += count
            if count < step { break }
        }
        pages = Array(scan.pages[..<(scan.transactions.last?.frames.upperBound ?? 0)])
        transactions = scan.transactions
        hasUnreadableTail = try Self.hasFrames(of: header, in: file, from: scan.pages.count)
    }

    /// Returns the offset of a frame's page in the file, in bytes.
    func offset(ofPageInFrame frame: Int) -> UInt64 {
        UInt64(Self.headerSize) + UInt64(frame) * UInt64(Self.frameHeaderSize + pageSize)
            + UInt64(Self.frameHeaderSize)
    }

    /// Truncates the copy of a WAL to the frames that an earlier reading of its index counts.
    ///
    /// All frames up to the index's last one were already written then.
    static func cut(_ path: String, after index: WriteAheadLogIndex) throws(SystemError) {
        let file = try File(updating: path)
        let bytes = try file.bytes(headerSize, at: 0)
        guard bytes.count == headerSize, let (header, _) = bytes.withBytes(header) else { return }
        let end = offset(ofFrame: index.lastFrame, header)
        if try file.size() > end { try file.resize(to: end) }
        try file.close()
    }

    /// Writes the last committed version of each page into a database file, as a checkpoint does.
    ///
    /// The file then opens without a WAL.
    ///
    /// False if there is no transaction, or if a page is in neither file. Nothing is written then.
    func fold(_ file: borrowing File, into path: String) throws(SystemError) -> Bool {
        guard let last = transactions.last else { return false }
        let database = try File(updating: path)
        let index = FrameIndex(self)
        let existing = try database.size() / UInt64(pageSize)
        if existing < last.databaseSize {
            // The page with SQLite's lock bytes is never written.
            let lockBytePage = UInt32(1 << 30 / pageSize + 1)
            for number in UInt32(existing) + 1...last.databaseSize
            where index.slot(of: number) == nil && number != lockBytePage { return false }
        }
        var page = [UInt8](repeating: 0, count: pageSize)
        for (number, frame) in index.lastFrames(within: last.databaseSize) {
            try page.withMutableBytes { (buffer) throws(SystemError) in
                guard try file.read(into: buffer, at: offset(ofPageInFrame: frame)) == pageSize else {
                    throw SystemError("read", file.path, code: EIO)
                }
                try database.write(
                    UnsafeRawBufferPointer(buffer), at: UInt64(number - 1) * UInt64(pageSize))
            }
        }
        try database.resize(to: UInt64(last.databaseSize) * UInt64(pageSize))
        // The write and read versions, which state the kind of journal.
        try [1, 1].withBytes { (buffer) throws(SystemError) in try database.write(buffer, at: 18) }
        try database.close()
        return true
    }

    /// Returns true if a database file has the last committed version of each page, as after a checkpoint.
    func isFolded(_ file: borrowing File, into path: String) throws(SystemError) -> Bool {
        guard let last = transactions.last else { return false }
        let database = try File(reading: path)
        for (number, frame) in FrameIndex(self).lastFrames(within: last.databaseSize) {
            let page = try file.bytes(pageSize, at: offset(ofPageInFrame: frame))
            let offset = UInt64(number - 1) * UInt64(pageSize)
            guard page.count == pageSize, try database.bytes(pageSize, at: offset) == page else {
                return false
            }
        }
        return true
    }

    private static func offset(ofFrame frame: Int, _ header: Header) -> UInt64 {
        UInt64(headerSize) + UInt64(frame) * UInt64(frameHeaderSize + header.pageSize)
    }

    private static func read(
        _ file: borrowing File, into block: inout [UInt8], at offset: UInt64
    ) throws(HistoryRecordingError) -> Int {
        try HistoryRecordingError.wrapping { () throws(SystemError) in
            try block.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: offset)
            }
        }
    }

    /// Reads the file's header; nil if SQLite would treat the WAL as empty.
    private static func header(
        _ bytes: UnsafeRawBufferPointer
    ) -> (Header, WriteAheadLogChecksum)? {
        let magic = bytes.bigEndianUInt32(at: 0)
        let pageSize = bytes.bigEndianUInt32(at: 8)
        guard magic & ~1 == 0x377f_0682, bytes.bigEndianUInt32(at: 4) == 3_007_000,
            isPageSize(pageSize)
        else { return nil }
        var checksum = WriteAheadLogChecksum(isBigEndian: magic & 1 == 1)
        checksum.update(UnsafeRawBufferPointer(rebasing: bytes[..<24]))
        guard checksum.isStored(in: bytes, at: 24) else { return nil }
        let header = Header(
            pageSize: Int(pageSize), isBigEndian: magic & 1 == 1, salts: Array(bytes[16..<24]),
            bytes: Array(bytes))
        return (header, checksum)
    }

    /// The maximum number of frames to examine after the last valid one.
    private static let tailLimit = 4096

    /// Returns true if any of the next ``tailLimit`` frames from `start` on has the header's salts.
    private static func hasFrames(
        of header: Header, in file: borrowing File, from start: Int
    ) throws(HistoryRecordingError) -> Bool {
        var salts = [UInt8](repeating: 0, count: 8)
        for frame in start..<(start + tailLimit) {
            let count = try read(file, into: &salts, at: offset(ofFrame: frame, header) + 8)
            if count < salts.count { return false }
            if salts == header.salts { return true }
        }
        return false
    }

    /// Collects valid frames by continuing the checksum through them.
    private struct Scan {
        let header: Header
        var checksum: WriteAheadLogChecksum
        var pages: [UInt32] = []
        var transactions: [Transaction] = []
        /// True if an invalid frame was found.
        var isOver = false

        init(header: Header, checksum: WriteAheadLogChecksum) {
            self.header = header
            self.checksum = checksum
        }

        mutating func visit(_ block: UnsafeRawBufferPointer, count: Int) {
            let size = frameHeaderSize + header.pageSize
            for index in 0..<count where !isOver {
                visit(UnsafeRawBufferPointer(rebasing: block[(index * size)..<((index + 1) * size)]))
            }
        }

        private mutating func visit(_ frame: UnsafeRawBufferPointer) {
            let page = frame.bigEndianUInt32(at: 0)
            guard page > 0, frame[8..<16].elementsEqual(header.salts) else {
                isOver = true
                return
            }
            checksum.update(UnsafeRawBufferPointer(rebasing: frame[..<8]))
            checksum.update(UnsafeRawBufferPointer(rebasing: frame[frameHeaderSize...]))
            guard checksum.isStored(in: frame, at: 16) else {
                isOver = true
                return
            }
            pages.append(page)
            let databaseSize = frame.bigEndianUInt32(at: 4)
            guard databaseSize > 0 else { return }
            let start = transactions.last?.frames.upperBound ?? 0
            transactions.append(Transaction(frames: start..<pages.count, databaseSize: databaseSize))
        }
    }
}

/// Returns true if SQLite supports pages of that size.
package func isPageSize(_ size: UInt32) -> Bool {
    (512...65536).contains(size) && size & (size - 1) == 0
}
