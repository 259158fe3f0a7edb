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

    /// Writes a history to a new file, and removes it after an error.
    ///
    /// - `images`: appends the images, those of state 0 first.
    func write(
        initialPages: [UInt32], _ transactions: [(size: UInt32, pages: [UInt32])], to path: String,
        _ images: ((_ images: [UInt8]) throws(SystemError) -> Void) throws(SystemError) -> Void
    ) throws(SystemError) {
        let head =
            header + Self.bytes(of: initialPages)
            + Self.bytes(of: transactions.flatMap { [$0.size, UInt32($0.pages.count)] })
            + Self.bytes(of: transactions.flatMap(\.pages))
        let output = try File(creating: path)
        do throws(SystemError) {
            try output.write(head, at: 0)
            var offset = UInt64(head.count)
            try images { (bytes) throws(SystemError) in
                try output.write(bytes, at: offset)
                offset += UInt64(bytes.count)
            }
            try output.close()
        } catch {
            try? FileSystem.remove(path)
            throw error
        }
    }

    /// Returns numbers as little-endian bytes.
    package static func bytes(of numbers: [UInt32]) -> [UInt8] {
        numbers.map(\.littleEndian).withUnsafeBytes { Array($0) }
    }
}
