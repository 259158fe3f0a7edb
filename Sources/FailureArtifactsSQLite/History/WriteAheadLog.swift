package import FailureArtifactsSystem

/// What a `-wal` file holds: an index of its committed frames, without the pages
/// (<https://www.sqlite.org/fileformat2.html#the_write_ahead_log>).
///
/// Frames count as SQLite's recovery counts them: as long as their salts are the header's and the checksum
/// continues, up to the last one that commits. What follows, valid but not committed, of an older generation
/// or broken, is no part of any state.
package struct WriteAheadLog: Sendable {
    /// One transaction: a run of frames of which the last commits.
    package struct Transaction: Sendable, Equatable {
        /// Indexes into ``WriteAheadLog/pages``, from 0.
        package let frames: Range<Int>
        /// In pages, after the commit.
        package let databaseSize: UInt32
    }

    /// The fields of the file's header.
    struct Header: Sendable, Equatable {
        let pageSize: Int
        let isBigEndian: Bool
        /// Both salts, as they are in the file; they change with each generation of the WAL.
        let salts: [UInt8]
        /// All of it.
        let bytes: [UInt8]
    }

    static let headerSize = 32
    static let frameHeaderSize = 24

    /// Nil where there is no valid one, and so no frame.
    let header: Header?
    /// The page of each committed frame, in the file's order.
    package let pages: [UInt32]
    /// Oldest first.
    package let transactions: [Transaction]
    /// Whether frames of this generation follow the last valid one: either those of an aborted transaction
    /// that were written over in part, or committed ones that a broken checksum keeps everyone from reading.
    package let hasUnreadableTail: Bool

    /// In bytes, 0 where there is no valid header.
    package var pageSize: Int { header?.pageSize ?? 0 }

    /// Whether a checksum or a salt of a frame before the wal-index's last one is wrong, so that transactions
    /// which the process has committed can be read by itself only.
    ///
    /// SQLite's recovery drops them without a word, and the result passes `integrity_check`. It takes no broken
    /// disk for that: 3.40.1 writes such frames itself, after a rollback to a savepoint that took back pages
    /// which had outgrown the cache.
    ///
    /// - Parameter index: The WAL's index; nil, or that of another generation, says nothing.
    /// - Returns: Whether there are such transactions.
    package func isBroken(accordingTo index: WriteAheadLogIndex?) -> Bool {
        guard let index, index.describes(self) else { return false }
        return pages.count < index.lastFrame
    }

    /// Reads a WAL from its start to the last valid frame.
    ///
    /// - Parameters:
    ///   - file: The `-wal`, which others may be writing to.
    ///   - deadline: When to give up; nil for never.
    /// - Throws: A failure to read, or that the deadline has passed.
    package init(reading file: borrowing File, until deadline: Instant? = nil) throws(HistoryError) {
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
            if let deadline, Instant.now > deadline { throw HistoryError(file.path, .timeLimit) }
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

    /// Where the page of a frame is in the file.
    func offset(ofPageInFrame frame: Int) -> UInt64 {
        UInt64(Self.headerSize) + UInt64(frame) * UInt64(Self.frameHeaderSize + pageSize)
            + UInt64(Self.frameHeaderSize)
    }

    /// Cuts off what was written to a copy of a WAL since its index was read.
    ///
    /// - Parameters:
    ///   - path: The copy.
    ///   - index: What the index said, at a moment when the copy's frames before its last one were written.
    /// - Throws: A failure of the system.
    static func cut(_ path: String, after index: WriteAheadLogIndex) throws(SystemError) {
        let file = try File(updating: path)
        var bytes = [UInt8](repeating: 0, count: headerSize)
        let count = try bytes.withMutableBytes { (buffer) throws(SystemError) in
            try file.read(into: buffer, at: 0)
        }
        guard count == headerSize, let (header, _) = bytes.withBytes(header) else { return }
        let end = offset(ofFrame: index.lastFrame, header)
        if try file.size() > end { try file.resize(to: end) }
        try file.close()
    }

    /// Writes the last committed version of each page into a database file, as a checkpoint does, and has the file
    /// open without a WAL.
    ///
    /// - Parameters:
    ///   - file: The WAL that this was read from, or a copy of it.
    ///   - path: A copy of the database, in use by nothing else.
    /// - Returns: False if there is no transaction, or a page that neither file has. Nothing is written then.
    /// - Throws: A failure of the system. The file may be written in part then; to do it again mends that.
    func fold(_ file: borrowing File, into path: String) throws(SystemError) -> Bool {
        guard let last = transactions.last else { return false }
        let database = try File(updating: path)
        let index = FrameIndex(self)
        let existing = try database.size() / UInt64(pageSize)
        if existing < last.databaseSize {
            // The page that SQLite's locks are in is never written.
            let lockBytePage = UInt32(1 << 30 / pageSize + 1)
            for number in UInt32(existing) + 1...last.databaseSize
            where index.slot(of: number) == nil && number != lockBytePage { return false }
        }
        var page = [UInt8](repeating: 0, count: pageSize)
        for slot in index.pages.indices where index.pages[slot] <= last.databaseSize {
            guard let frame = index.frames(ofSlot: slot).first(where: { _ in true }) else { continue }
            let number = UInt64(index.pages[slot])
            try page.withMutableBytes { (buffer) throws(SystemError) in
                guard try file.read(into: buffer, at: offset(ofPageInFrame: frame)) == pageSize else {
                    throw SystemError("read", file.path, code: EIO)
                }
                try database.write(UnsafeRawBufferPointer(buffer), at: (number - 1) * UInt64(pageSize))
            }
        }
        try database.resize(to: UInt64(last.databaseSize) * UInt64(pageSize))
        // The versions that say which journal the file has.
        try [1, 1].withBytes { (buffer) throws(SystemError) in try database.write(buffer, at: 18) }
        try database.close()
        return true
    }

    private static func offset(ofFrame frame: Int, _ header: Header) -> UInt64 {
        UInt64(headerSize) + UInt64(frame) * UInt64(frameHeaderSize + header.pageSize)
    }

    private static func read(
        _ file: borrowing File, into block: inout [UInt8], at offset: UInt64
    ) throws(HistoryError) -> Int {
        do {
            return try block.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: offset)
            }
        } catch {
            throw HistoryError(file.path, .system(error))
        }
    }

    /// Reads the file's header: nothing where SQLite would take the WAL for an empty one.
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

    /// How many frames after the last valid one are looked at.
    private static let tailLimit = 4096

    /// Whether any of the frames from `start` on has the header's salts.
    private static func hasFrames(
        of header: Header, in file: borrowing File, from start: Int
    ) throws(HistoryError) -> Bool {
        var salts = [UInt8](repeating: 0, count: 8)
        for frame in start..<(start + tailLimit) {
            let count = try read(file, into: &salts, at: offset(ofFrame: frame, header) + 8)
            if count < salts.count { return false }
            if salts == header.salts { return true }
        }
        return false
    }

    /// Follows the checksum through the frames.
    private struct Scan {
        let header: Header
        var checksum: WriteAheadLogChecksum
        var pages: [UInt32] = []
        var transactions: [Transaction] = []
        /// Whether a frame was met that is not valid.
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

/// Whether SQLite has pages of that size.
package func isPageSize(_ size: UInt32) -> Bool {
    (512...65536).contains(size) && size & (size - 1) == 0
}
