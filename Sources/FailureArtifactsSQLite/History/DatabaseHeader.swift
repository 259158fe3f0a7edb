internal import FailureArtifactsSystem

/// The facts about a database's pages in its header, the first 100 bytes
/// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
package struct DatabaseHeader {
    /// The first bytes of every database that SQLite itself can read.
    package static let magic = Array("SQLite format 3\0".utf8)

    /// The page size, in bytes.
    let pageSize: Int
    let pageCount: Int

    /// Reads a file's header; nil if it is invalid or does not fit the file's size.
    init?(of file: borrowing File) throws(SystemError) {
        let bytes = try file.bytes(100, at: 0)
        guard bytes.count == 100, bytes.starts(with: Self.magic) else { return nil }
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        // 65536 does not fit in two bytes, so 1 stands for it.
        pageSize = size == 1 ? 65_536 : size
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
        // The number of bytes that an extension has reserved at the end of each page.
        guard pageSize - Int(bytes[20]) >= 480 else { return nil }
        let fileSize = try file.size()
        guard fileSize % UInt64(pageSize) == 0, fileSize / UInt64(pageSize) <= UInt64(UInt32.max)
        else { return nil }
        func number(at offset: Int) -> Int {
            bytes.withBytes { Int($0.bigEndianUInt32(at: offset)) }
        }
        // The size in the header is valid if it was written together with the change counter.
        let isSizeValid = number(at: 28) != 0 && number(at: 24) == number(at: 92)
        pageCount = isSizeValid ? number(at: 28) : Int(fileSize / UInt64(pageSize))
        guard UInt64(pageCount) * UInt64(pageSize) <= fileSize else { return nil }
        // The number of free pages.
        guard number(at: 36) < pageCount else { return nil }
    }
}
