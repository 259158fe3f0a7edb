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
