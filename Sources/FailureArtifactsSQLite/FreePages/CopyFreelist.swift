internal import FailureArtifactsSystem

/// The free pages of a database file, as listed in its freelist
/// (<https://www.sqlite.org/fileformat2.html#the_freelist>).
struct CopyFreelist: ~Copyable {
    /// The page size, in bytes.
    let pageSize: Int
    /// The leaf pages of the freelist, which hold nothing, not even a part of the list.
    let leaves: PageSet
    let leafCount: Int

    /// The maximum number of pages, because the page sets of larger files would take more than 64 MiB.
    private static let maximumPages = 1 << 28

    /// Returns the offset of a page in the file, in bytes; pages count from 1.
    func offset(ofPage page: Int) -> UInt64 { UInt64(page - 1) * UInt64(pageSize) }

    /// Reads the freelist; nil if it is empty or invalid, or if the file is too large.
    ///
    /// - Parameter file: A database file.
    /// - Throws: An error if the file cannot be read.
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

    /// Adds the leaves that a trunk page names.
    ///
    /// - Returns: The number of the next trunk page, 0 after the last one; nil if the page is invalid.
    private static func nextTrunk(
        in trunk: UnsafeRawBufferPointer, _ header: DatabaseHeader, _ remaining: inout Int,
        _ leaves: borrowing PageSet, _ seen: borrowing PageSet
    ) -> Int? {
        let count = Int(trunk.bigEndianUInt32(at: 4))
        guard count <= header.usableSize / 4 - 2, count <= remaining else { return nil }
        for index in 0..<count {
            let leaf = Int(trunk.bigEndianUInt32(at: 8 + 4 * index))
            guard header.mayBeFree(leaf), seen.insert(leaf), leaves.insert(leaf) else { return nil }
        }
        remaining -= count
        return Int(trunk.bigEndianUInt32(at: 0))
    }
}
