package import FailureArtifactsSystem

/// Overwrites the unused pages of a database copy with zeros.
///
/// SQLite leaves the old content in a free page, unless `PRAGMA secure_delete` is on. SQLite never reads it
/// again, but it is compressed, kept and uploaded with the rest.
package enum FreePages {
    /// The minimum number of free bytes that are worth clearing.
    private static let minimumBytes = UInt64(64 << 10)
    /// The maximum number of free pages, because a set of more would take more than 64 MiB.
    private static let maximumPages = 1 << 22
    /// The number of pages that are sampled to find out if all are empty already.
    private static let sampleCount = 64
    /// The maximum size of one read or write, in bytes.
    private static let blockSize = 256 << 10

    /// Writes zeros over the leaf pages of a database's freelist, and returns the number of bytes written.
    ///
    /// The copy is private and stand-alone, and nothing has it open. If the freelist is invalid, or there is a
    /// journal beside the copy, nothing is written. But a page may be both free and in use, which only SQLite's own
    /// check of the whole database finds. Don't pass a copy for which `PRAGMA quick_check` does not report `ok`. After
    /// an error, the copy is still as good as before.
    package static func clear(inCopyAt path: String) throws(SystemError) -> UInt64 {
        for suffix in ["-wal", "-journal"] {
            if let status = try FileSystem.status(of: path + suffix), status.size > 0 { return 0 }
        }
        let file = try File(updating: path)
        guard let free = try leaves(of: file),
            UInt64(free.pages.count) * UInt64(free.pageSize) >= minimumBytes,
            try !isEmptyAlready(free, in: file)
        else { return 0 }
        let written = try clear(free, in: file)
        try file.close()
        return written
    }

    /// The leaf pages of a freelist.
    struct Leaves {
        /// The page size, in bytes.
        let pageSize: Int
        /// The numbers of the pages, from 1, in ascending order.
        let pages: [UInt32]

        /// Returns the offset in the file, in bytes, of the page at an index.
        func offset(at index: Int) -> UInt64 { UInt64(pages[index] - 1) * UInt64(pageSize) }
    }

    /// Reads the freelist of a database file; nil if it is empty or invalid, or if it has too many pages.
    static func leaves(of file: borrowing File) throws(SystemError) -> Leaves? {
        guard let header = try DatabaseHeader(of: file),
            (1...maximumPages).contains(header.freePageCount)
        else { return nil }
        let size = header.pageSize
        let list = try Freelist(databaseSize: UInt32(header.pageCount)) {
            (page) throws(SystemError) in
            try file.bytes(size, at: UInt64(page - 1) * UInt64(size))
        }
        guard list.isValid, list.trunks.count + list.leaves.count == header.freePageCount,
            list.trunks.allSatisfy(header.mayBeFree), list.leaves.allSatisfy(header.mayBeFree)
        else { return nil }
        return Leaves(pageSize: size, pages: list.leaves.sorted())
    }

    /// Returns true if sampled pages from all over the file hold only zeros.
    private static func isEmptyAlready(
        _ free: Leaves, in file: borrowing File
    ) throws(SystemError) -> Bool {
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: free.pageSize, alignment: 16)
        defer { page.deallocate() }
        let step = max(1, free.pages.count / sampleCount)
        for index in stride(from: 0, to: free.pages.count, by: step) {
            let count = try file.read(into: page, at: free.offset(at: index))
            if !isZero(page[..<count]) { return false }
        }
        return true
    }

    private static func clear(_ free: Leaves, in file: borrowing File) throws(SystemError) -> UInt64 {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
        defer { block.deallocate() }
        var zeros = [UInt8](repeating: 0, count: blockSize)
        var written: UInt64 = 0
        var end = 0
        while end < free.pages.count {
            // Consecutive pages are written together.
            let start = end
            repeat {
                end += 1
            } while end < free.pages.count && (end - start + 1) * free.pageSize <= blockSize
                && free.pages[end] == free.pages[end - 1] + 1
            let offset = free.offset(at: start)
            let byteCount = (end - start) * free.pageSize
            // A hole in the file reads as zeros. It is skipped, so it stays a hole.
            let count = try file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: block[..<byteCount]), at: offset)
            guard count == byteCount, !isZero(block[..<byteCount]) else { continue }
            try zeros.withMutableBytes { (zeros) throws(SystemError) in
                try file.write(UnsafeRawBufferPointer(rebasing: zeros[..<byteCount]), at: offset)
            }
            written += UInt64(byteCount)
        }
        return written
    }

    private static func isZero(_ bytes: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
        guard let base = bytes.base.baseAddress, !bytes.isEmpty else { return true }
        // Each byte is compared with the one before it.
        return bytes.base[0] == 0 && memcmp(base, base + 1, bytes.count - 1) == 0
    }
}
