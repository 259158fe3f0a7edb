internal import FailureArtifactsSystem

/// The header of a database, its first 100 bytes (<https://www.sqlite.org/fileformat2.html#the_database_header>).
package struct DatabaseHeader {
    /// The first bytes of every database that SQLite itself can read.
    package static let magic = Array("SQLite format 3\0".utf8)
    /// The place of the write and the read version: 1 for a rollback journal, 2 for a WAL.
    static let versions = 18..<20
    static let size = 100
    /// The places of bytes that differ between copies of one state: the versions, the change counters and the schema
    /// cookie.
    private static let volatile = [versions, 24..<28, 40..<44, 92..<100]

    /// The page size, in bytes.
    let pageSize: Int
    /// The size of the database, in pages; 0 if the header has no valid one.
    private(set) var pageCount: Int
    let readVersion: UInt8
    /// The number of bytes that an extension has reserved at the end of each page.
    let reservedBytes: Int
    /// The first page of the freelist; 0 without one.
    let firstTrunk: UInt32
    /// The number of pages on the freelist.
    let freePages: Int

    /// Parses the start of a first page; nil if it isn't a header.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.size, bytes.starts(with: Self.magic) else { return nil }
        func number(at offset: Int) -> UInt32 { bytes.withBytes { $0.bigEndianUInt32(at: offset) } }
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        // 65536 does not fit in two bytes, so 1 stands for it.
        pageSize = size == 1 ? 65_536 : size
        // The size is valid if it was written together with the change counter.
        pageCount = number(at: 24) == number(at: 92) ? Int(number(at: 28)) : 0
        readVersion = bytes[19]
        reservedBytes = Int(bytes[20])
        firstTrunk = number(at: 32)
        freePages = Int(number(at: 36))
    }

    /// Reads a file's header; nil if it is invalid or does not fit the file's size.
    init?(of file: borrowing File) throws(SystemError) {
        guard let header = Self(try file.bytes(Self.size, at: 0)) else { return nil }
        self = header
        let fileSize = try file.size()
        guard isPageSize(UInt32(pageSize)), pageSize - reservedBytes >= 480,
            fileSize % UInt64(pageSize) == 0, fileSize / UInt64(pageSize) <= UInt64(UInt32.max)
        else { return nil }
        if pageCount == 0 { pageCount = Int(fileSize / UInt64(pageSize)) }
        guard UInt64(pageCount) * UInt64(pageSize) <= fileSize, freePages < pageCount else { return nil }
    }

    /// Changes a database whose WAL has no content, so that it opens without a WAL.
    static func leaveWALMode(_ file: borrowing File) throws(SystemError) {
        try file.write([1, 1], at: UInt64(versions.lowerBound))
    }

    /// Returns true if two first pages differ only in bytes that a copy may change.
    static func isSameFirstPage(_ a: ArraySlice<UInt8>, _ b: ArraySlice<UInt8>) -> Bool {
        func masked(_ page: ArraySlice<UInt8>) -> [UInt8] {
            var page = Array(page)
            for range in volatile {
                page.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
            }
            return page
        }
        return masked(a) == masked(b)
    }
}
