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

    static let headerSize = 32
    static let frameHeaderSize = 24
    /// The maximum number of frames to examine after the last valid one.
    private static let tailLimit = 4096

    /// The page size, in bytes; 0 without a valid header, in which case there are no frames.
    package private(set) var pageSize = 0
    /// Both salts of the header; they change with each generation of the WAL.
    var salts: [UInt8] = []
    /// The page of each committed frame, in the file's order.
    package private(set) var pages: [UInt32] = []
    /// The transactions, oldest first.
    package private(set) var transactions: [Transaction] = []
    /// True if frames of this generation follow the last valid one.
    ///
    /// They belong to an aborted transaction that was partly overwritten, or they are committed but unreadable
    /// because of a broken checksum.
    package private(set) var hasUnreadableTail = false
    /// The committed frames of each page, in ascending order.
    private var frames: [UInt32: [Int]] = [:]

    /// Reads a WAL, which other connections may be writing to, from its start to the last valid frame.
    ///
    /// After the deadline, it throws an error with the code `ETIME`.
    package init(reading file: borrowing File, until deadline: Instant? = nil) throws(SystemError) {
        let header = try file.bytes(Self.headerSize, at: 0)
        guard header.count == Self.headerSize else { return }
        guard var checksum = header.withBytes({ Self.checksum(ofHeader: $0) }) else {
            // SQLite would treat the WAL as empty.
            hasUnreadableTail = true
            return
        }
        pageSize = header.withBytes { Int($0.bigEndianUInt32(at: 8)) }
        salts = Array(header[16..<24])
        var frame = [UInt8](repeating: 0, count: Self.frameHeaderSize + pageSize)
        var valid: [UInt32] = []
        while true {
            if let deadline, Instant.now > deadline {
                throw SystemError("read", file.path, code: ETIME)
            }
            let count = try frame.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: offset(ofFrame: valid.count))
            }
            guard count == frame.count, frame[8..<16].elementsEqual(salts),
                let (page, size) = frame.withBytes({ Self.content(of: $0, &checksum) })
            else { break }
            valid.append(page)
            guard size > 0 else { continue }
            let start = transactions.last?.frames.upperBound ?? 0
            transactions.append(Transaction(frames: start..<valid.count, databaseSize: size))
        }
        pages = Array(valid[..<(transactions.last?.frames.upperBound ?? 0)])
        for (frame, page) in pages.enumerated() { frames[page, default: []].append(frame) }
        for frame in valid.count..<(valid.count + Self.tailLimit) {
            let next = try file.bytes(8, at: offset(ofFrame: frame) + 8)
            guard next.count == 8 else { break }
            if next == salts {
                hasUnreadableTail = true
                break
            }
        }
    }

    /// Returns the checksum after the file's header; nil if the header is invalid.
    private static func checksum(ofHeader bytes: UnsafeRawBufferPointer) -> Checksum? {
        let magic = bytes.bigEndianUInt32(at: 0)
        guard magic & ~1 == 0x377f_0682, bytes.bigEndianUInt32(at: 4) == 3_007_000,
            isPageSize(bytes.bigEndianUInt32(at: 8))
        else { return nil }
        var checksum = Checksum(isBigEndian: magic & 1 == 1)
        checksum.update(UnsafeRawBufferPointer(rebasing: bytes[..<24]))
        return checksum.isStored(in: bytes, at: 24) ? checksum : nil
    }

    /// Returns a frame's page, and the size of the database if the frame commits; nil if the checksum is wrong.
    private static func content(
        of frame: UnsafeRawBufferPointer, _ checksum: inout Checksum
    ) -> (page: UInt32, databaseSize: UInt32)? {
        checksum.update(UnsafeRawBufferPointer(rebasing: frame[..<8]))
        checksum.update(UnsafeRawBufferPointer(rebasing: frame[frameHeaderSize...]))
        let page = frame.bigEndianUInt32(at: 0)
        guard page > 0, checksum.isStored(in: frame, at: 16) else { return nil }
        return (page, frame.bigEndianUInt32(at: 4))
    }

    private func offset(ofFrame frame: Int) -> UInt64 {
        UInt64(Self.headerSize) + UInt64(frame) * UInt64(Self.frameHeaderSize + pageSize)
    }

    /// Returns the offset of a frame's page in the file, in bytes.
    func offset(ofPageInFrame frame: Int) -> UInt64 {
        offset(ofFrame: frame) + UInt64(Self.frameHeaderSize)
    }

    /// Returns the last frame of a page among the first `end` frames.
    func lastFrame(of page: UInt32, before end: Int = .max) -> Int? {
        frames[page]?.last { $0 < end }
    }

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

    /// Writes the last committed version of each page into a database file, as a checkpoint does.
    ///
    /// The file then opens without a WAL.
    ///
    /// False if there is no transaction, or if a page is in neither file. Nothing is written then.
    func fold(_ file: borrowing File, into path: String) throws(SystemError) -> Bool {
        guard let size = transactions.last?.databaseSize else { return false }
        let database = try File(updating: path)
        let existing = try database.size() / UInt64(pageSize)
        if existing < size {
            for number in UInt32(existing) + 1...size
            where frames[number] == nil && number != lockBytePage(ofPageSize: pageSize) {
                return false
            }
        }
        for (number, frames) in frames where number <= size {
            let page = try file.bytes(pageSize, at: offset(ofPageInFrame: frames[frames.count - 1]))
            guard page.count == pageSize else { throw SystemError("read", file.path, code: EIO) }
            try database.write(page, at: UInt64(number - 1) * UInt64(pageSize))
        }
        try database.resize(to: UInt64(size) * UInt64(pageSize))
        try DatabaseHeader.leaveWALMode(database)
        try database.close()
        return true
    }

    // MARK: Checksum

    /// The running checksum of a WAL (<https://www.sqlite.org/fileformat2.html#checksum_algorithm>).
    ///
    /// It covers pairs of 32-bit words and continues from frame to frame. The loop is fast without the optimizer
    /// too, because an integer's operators and a pointer's subscript are inlined anyway.
    struct Checksum: Equatable {
        private(set) var first: UInt32 = 0
        private(set) var second: UInt32 = 0
        private let isSwapped: Bool

        /// Creates the checksum of no words, which are big-endian if the WAL's magic number says so.
        init(isBigEndian: Bool) {
            isSwapped = isBigEndian != (UInt32(1).bigEndian == 1)
        }

        /// Continues over aligned bytes, whose number is a multiple of 8.
        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            guard let words = bytes.baseAddress?.assumingMemoryBound(to: UInt32.self) else { return }
            let count = bytes.count / 8 &* 2
            var (sum0, sum1) = (first, second)
            var index = 0
            while index < count {
                let (word0, word1) = (words[index], words[index &+ 1])
                sum0 = sum0 &+ (isSwapped ? word0.byteSwapped : word0) &+ sum1
                sum1 = sum1 &+ (isSwapped ? word1.byteSwapped : word1) &+ sum0
                index = index &+ 2
            }
            (first, second) = (sum0, sum1)
        }

        /// Returns true if two big-endian words, as a WAL stores them, equal this checksum.
        func isStored(in bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
            bytes.bigEndianUInt32(at: offset) == first && bytes.bigEndianUInt32(at: offset + 4) == second
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the number at an offset, in the byte order of SQLite's files; the offset must be within bounds.
    package func bigEndianUInt32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    package func bigEndianUInt16(at offset: Int) -> UInt16 {
        UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }
}

/// Returns true if SQLite supports pages of that size.
package func isPageSize(_ size: UInt32) -> Bool {
    (512...65536).contains(size) && size & (size - 1) == 0
}
