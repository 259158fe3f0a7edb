internal import FailureArtifactsSystem

/// The layout of a history file; see the article on the bundle format.
///
/// All numbers are little-endian and have 32 or 64 bits.
///
///     header                          64 bytes
///     page numbers of state 0         4 bytes each
///     transactions: size, pages       8 bytes each
///     page numbers of transactions    4 bytes each
///     images of all these pages       a page each, in the same order
package struct HistoryLayout: Equatable {
    package static let magic: [UInt8] = Array("WAL-hist".utf8)
    package static let version: UInt32 = 1
    package static let headerSize = 64

    /// The page size, in bytes.
    package var pageSize: Int
    /// The size of state 0, in pages.
    package var initialSize: UInt32
    package var transactionCount: Int
    /// The number of page images of state 0.
    package var initialPageCount: Int
    /// The number of page images of transactions.
    package var changedPageCount: Int

    package init(
        pageSize: Int, initialSize: UInt32, transactionCount: Int, initialPageCount: Int,
        changedPageCount: Int
    ) {
        self.pageSize = pageSize
        self.initialSize = initialSize
        self.transactionCount = transactionCount
        self.initialPageCount = initialPageCount
        self.changedPageCount = changedPageCount
    }

    package var transactionsOffset: UInt64 { UInt64(Self.headerSize) + 4 * UInt64(initialPageCount) }
    package var changedPagesOffset: UInt64 { transactionsOffset + 8 * UInt64(transactionCount) }
    package var imagesOffset: UInt64 { changedPagesOffset + 4 * UInt64(changedPageCount) }

    /// Returns the offset of an image in the file, in bytes; the images of state 0 come first.
    package func offset(ofImage index: Int) -> UInt64 { imagesOffset + UInt64(index) * UInt64(pageSize) }

    /// The size of the whole file, in bytes.
    package var fileSize: UInt64 { offset(ofImage: initialPageCount + changedPageCount) }

    /// The bytes of the file's header.
    package var header: [UInt8] {
        var bytes = Self.magic
        for number in [Self.version, UInt32(pageSize), initialSize, UInt32(transactionCount)] {
            bytes += Self.bytes(of: [number])
        }
        for number in [UInt64(initialPageCount), UInt64(changedPageCount)] {
            bytes += Self.bytes(of: [UInt32(truncatingIfNeeded: number), UInt32(number >> 32)])
        }
        return bytes + [UInt8](repeating: 0, count: Self.headerSize - bytes.count)
    }

    /// Returns all bytes before the images.
    package func head(
        initialPages: [UInt32], _ transactions: [(size: UInt32, pages: [UInt32])]
    ) -> [UInt8] {
        header + Self.bytes(of: initialPages)
            + Self.bytes(of: transactions.flatMap { [$0.size, UInt32($0.pages.count)] })
            + Self.bytes(of: transactions.flatMap(\.pages))
    }

    /// Returns numbers as little-endian bytes.
    package static func bytes(of numbers: [UInt32]) -> [UInt8] {
        numbers.map(\.littleEndian).withUnsafeBytes { Array($0) }
    }
}

/// The list of unused pages of a database (<https://www.sqlite.org/fileformat2.html#the_freelist>).
package struct Freelist {
    /// The pages that contain the list.
    package private(set) var trunks: Set<UInt32> = []
    /// The pages whose content has no meaning; of an invalid list, those before the invalid entry.
    package private(set) var leaves: Set<UInt32> = []

    /// Reads the list of a database with a size in pages; `read` returns a page, or nil if there is no such page.
    package init<Failure>(
        databaseSize: UInt32, read: (UInt32) throws(Failure) -> [UInt8]?
    ) throws(Failure) {
        guard databaseSize > 0, let first = try read(1), first.count >= 100 else { return }
        var trunk = first.withBytes { $0.bigEndianUInt32(at: 32) }
        while trunk != 0 {
            // A list that returns to an earlier trunk is circular. A limit on their number is not enough, because a
            // file can claim any database size. The first page has the header and is never free.
            guard trunk > 1, trunk <= databaseSize, trunks.insert(trunk).inserted,
                let page = try read(trunk)
            else { return }
            let count = page.withBytes { Int($0.bigEndianUInt32(at: 4)) }
            // An extension may have reserved some bytes at the end of each page.
            guard count <= (page.count - Int(first[20])) / 4 - 2 else { return }
            let isGood = page.withBytes { bytes in
                for index in 0..<count {
                    let leaf = bytes.bigEndianUInt32(at: 8 + 4 * index)
                    guard leaf > 1, leaf <= databaseSize, leaves.insert(leaf).inserted else {
                        return false
                    }
                }
                return true
            }
            guard isGood else { return }
            trunk = page.withBytes { $0.bigEndianUInt32(at: 0) }
        }
    }
}

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
