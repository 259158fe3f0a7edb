package import FailureArtifactsSystem

/// Overwrites the unused pages of a database copy with zeros.
///
/// SQLite leaves the old content in a free page, unless `PRAGMA secure_delete` is on. SQLite never reads it
/// again, but it is compressed, kept and uploaded with the rest.
package enum FreePages {
    /// The minimum number of free bytes that are worth clearing.
    private static let minimumBytes = UInt64(64 << 10)
    /// The number of pages that are sampled to find out if all are empty already.
    private static let sampleCount = 64
    /// The maximum size of one read or write, in bytes.
    private static let blockSize = 256 << 10

    /// Writes zeros over the leaf pages of a database's freelist, whose content SQLite never reads.
    ///
    /// If the freelist is invalid, nothing is written. But a page may be both free and in use, which only
    /// SQLite's own check of the whole database finds. Don't pass a copy for which `PRAGMA quick_check` does not
    /// report `ok`.
    ///
    /// - Parameter path: The path of a private, stand-alone copy that nothing has open. A copy with a non-empty
    ///   journal beside it is left alone.
    /// - Returns: The number of bytes written.
    /// - Throws: An error if reading or writing fails. The copy is still as good as before.
    package static func clear(inCopyAt path: String) throws(SystemError) -> UInt64 {
        for suffix in ["-wal", "-journal"] {
            if let status = try FileSystem.status(of: path + suffix), status.size > 0 { return 0 }
        }
        let file = try File(updating: path)
        guard let freelist = try CopyFreelist(of: file),
            UInt64(freelist.leafCount) * UInt64(freelist.pageSize) >= minimumBytes,
            try !isEmptyAlready(freelist, in: file)
        else { return 0 }
        let written = try clear(freelist, in: file)
        try file.close()
        return written
    }

    /// Returns true if sampled pages from all over the file hold only zeros.
    private static func isEmptyAlready(
        _ freelist: borrowing CopyFreelist, in file: borrowing File
    ) throws(SystemError) -> Bool {
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: freelist.pageSize, alignment: 16)
        defer { page.deallocate() }
        for sample in 0..<sampleCount {
            let start = freelist.leaves.capacity / sampleCount * sample
            guard let number = freelist.leaves.firstRange(from: start, limit: 1)?.lowerBound else {
                continue
            }
            let count = try file.read(
                into: page, at: freelist.offset(ofPage: number))
            if !isZero(page[..<count]) { return false }
        }
        return true
    }

    private static func clear(
        _ freelist: borrowing CopyFreelist, in file: borrowing File
    ) throws(SystemError) -> UInt64 {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
        defer { block.deallocate() }
        var zeros = [UInt8](repeating: 0, count: blockSize)
        var written: UInt64 = 0
        var position = 0
        let limit = max(1, blockSize / freelist.pageSize)
        while let pages = freelist.leaves.firstRange(from: position, limit: limit) {
            position = pages.upperBound
            let offset = freelist.offset(ofPage: pages.lowerBound)
            let byteCount = pages.count * freelist.pageSize
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
