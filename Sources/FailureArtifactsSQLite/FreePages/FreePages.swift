package import FailureArtifactsSystem

/// Empties the pages of a database copy that nothing refers to.
///
/// SQLite leaves in a free page what was there before (`PRAGMA secure_delete` aside). Nobody can read it, but it
/// is compressed, kept and uploaded with the rest.
package enum FreePages {
    /// Fewer free bytes than this are not worth a look.
    private static let minimumBytes = UInt64(64 << 10)
    /// How many pages tell whether all are empty already.
    private static let sampleCount = 64
    /// How many bytes are read and written at a time.
    private static let blockSize = 256 << 10

    /// Writes zeros over the leaf pages of a database's freelist, of which SQLite never reads the content.
    ///
    /// A freelist that is not what it should be is left alone, and all else with it. But a page may be free and
    /// in use at once, which only SQLite's own check of the whole database finds: a copy for which
    /// `PRAGMA quick_check` does not say `ok` is not to be given to this.
    ///
    /// - Parameter path: A private copy, one stand-alone file that nobody has open. One that asks for a
    ///   journal beside it, and has that, is left alone.
    /// - Returns: How many bytes were written.
    /// - Throws: The failure to read or write. The copy is as good as before all the same.
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

    /// Whether pages from all over the file hold nothing but zeros.
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
            // Where the file has a hole there is nothing to write, and the hole stays.
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
