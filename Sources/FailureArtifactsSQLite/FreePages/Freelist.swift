internal import FailureArtifactsSystem

/// The free pages of a database file, by its own account
/// (<https://www.sqlite.org/fileformat2.html#the_freelist>).
struct Freelist: ~Copyable {
    /// In bytes.
    let pageSize: Int
    /// The pages that hold nothing, not even a part of the list.
    let leaves: PageSet
    let leafCount: Int

    /// Files with more pages are left alone: the sets of pages would take more than 64 MiB.
    private static let maximumPages = 1 << 28

    /// Where a page starts in the file; pages count from 1.
    func offset(ofPage page: Int) -> UInt64 { UInt64(page - 1) * UInt64(pageSize) }

    /// Reads the list; nil where there is none, or anything about it is not as it should be.
    ///
    /// - Parameter file: A database.
    /// - Throws: The failure to read.
    init?(of file: borrowing File) throws(SystemError) {
        guard let header = try DatabaseHeader(of: file), header.freePageCount > 0,
            header.pageCount <= Self.maximumPages
        else { return nil }
        let leaves = PageSet(capacity: header.pageCount + 1)
        let seen = PageSet(capacity: header.pageCount + 1)
        var remaining = header.freePageCount
        var trunk = header.firstFreelistTrunk
        var page = [UInt8](repeating: 0, count: header.pageSize)
        while trunk != 0 {
            guard header.mayBeFree(trunk), seen.insert(trunk), remaining > 0 else { return nil }
            remaining -= 1
            let offset = UInt64(trunk - 1) * UInt64(header.pageSize)
            let count = try page.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: offset)
            }
            guard count == page.count else { return nil }
            let next = page.withUnsafeBytes { bytes in
                Self.nextTrunk(in: bytes, header, &remaining, leaves, seen)
            }
            guard let next else { return nil }
            trunk = next
        }
        guard remaining == 0 else { return nil }
        pageSize = header.pageSize
        leafCount = leaves.count
        self.leaves = leaves
    }

    /// Takes the leaves that a trunk page names.
    ///
    /// - Returns: The number of the next trunk page, 0 after the last one; nil where something is wrong.
    private static func nextTrunk(
        in trunk: UnsafeRawBufferPointer, _ header: DatabaseHeader, _ remaining: inout Int,
        _ leaves: borrowing PageSet, _ seen: borrowing PageSet
    ) -> Int? {
        let count = Int(trunk.bigEndian32(at: 4))
        guard count <= header.usableSize / 4 - 2, count <= remaining else { return nil }
        for index in 0..<count {
            let leaf = Int(trunk.bigEndian32(at: 8 + 4 * index))
            guard header.mayBeFree(leaf), seen.insert(leaf), leaves.insert(leaf) else { return nil }
        }
        remaining -= count
        return Int(trunk.bigEndian32(at: 0))
    }
}

/// What the first 100 bytes of a database say of its pages
/// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
struct DatabaseHeader {
    private static let magic = Array("SQLite format 3\0".utf8)

    /// In bytes.
    let pageSize: Int
    /// The page size without what an extension has reserved at its end.
    let usableSize: Int
    let pageCount: Int
    /// 0 where there is none.
    let firstFreelistTrunk: Int
    /// Trunks and leaves.
    let freePageCount: Int
    private let hasPointerMap: Bool

    /// Reads a file's header; nil where it is none, or does not fit the file's size.
    init?(of file: borrowing File) throws(SystemError) {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = try bytes.withMutableBytes { (buffer) throws(SystemError) in
            try file.read(into: buffer, at: 0)
        }
        guard count == bytes.count, bytes.starts(with: Self.magic) else { return nil }
        let size = Int(bytes[16]) << 8 | Int(bytes[17])
        // 65536 does not fit in its two bytes.
        pageSize = size == 1 ? 65_536 : size
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
        usableSize = pageSize - Int(bytes[20])
        guard usableSize >= 480 else { return nil }
        let fileSize = try file.size()
        guard fileSize % UInt64(pageSize) == 0, fileSize / UInt64(pageSize) <= UInt64(UInt32.max)
        else { return nil }
        func number(at offset: Int) -> Int {
            bytes.withUnsafeBytes { Int($0.bigEndian32(at: offset)) }
        }
        // The size in the header counts where it was written together with the change counter.
        let isSizeValid = number(at: 28) != 0 && number(at: 24) == number(at: 92)
        pageCount = isSizeValid ? number(at: 28) : Int(fileSize / UInt64(pageSize))
        guard UInt64(pageCount) * UInt64(pageSize) <= fileSize else { return nil }
        firstFreelistTrunk = number(at: 32)
        freePageCount = number(at: 36)
        hasPointerMap = number(at: 52) != 0
        guard freePageCount < pageCount else { return nil }
    }

    /// Whether a page can be on the freelist at all: neither the first, the lock-byte page nor one of the
    /// pointer map (<https://www.sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages>).
    func mayBeFree(_ page: Int) -> Bool {
        let lockBytePage = (1 << 30) / pageSize + 1
        guard page >= 2, page <= pageCount, page != lockBytePage else { return false }
        guard hasPointerMap else { return true }
        let interval = usableSize / 5 + 1
        let mapPage = (page - 2) / interval * interval + 2
        return page != (mapPage == lockBytePage ? mapPage + 1 : mapPage)
    }
}

extension UnsafeRawBufferPointer {
    /// The four bytes at `offset` as SQLite writes numbers.
    fileprivate func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
