internal import FailureArtifactsSystem

/// A closure that fills a buffer with the content from an offset on.
typealias ContentSource =
    (UnsafeMutableRawBufferPointer, _ offset: UInt64) throws(ZipError.Reason) -> Void

// Writing the content of one entry, compressed or stored.
extension ZipWriter {
    /// Compresses content and writes it; nil if it doesn't shrink, and the data written is useless.
    mutating func deflate(
        size: UInt64, at start: UInt64, _ source: ContentSource
    ) throws(ZipError.Reason) -> Content? {
        deflater.restart()
        let trial = CompressionTrial(level: level, size: size)
        var checksum = Checksum()
        var compressedSize: UInt64 = 0
        let isCompressed = try Self.forEachBlock(of: size, source) {
            (block, end) throws(ZipError.Reason) in
            checksum.update(block)
            try deflater.compress(block, isLast: end == size) { (output) throws(ZipError.Reason) in
                try Self.write(output, to: file, at: start, after: &compressedSize, limit: size)
            }
            return try trial.shouldContinue(at: end, with: compressedSize, source)
        }
        guard isCompressed else { return nil }
        return Content(
            method: ZipFormat.Method.deflated, crc32: checksum.value, compressedSize: compressedSize)
    }

    /// Compresses content on several threads, like ``deflate(size:at:_:)``.
    mutating func deflate(
        size: UInt64, at start: UInt64, _ source: ContentSource, threads: Int
    ) throws(ZipError.Reason) -> Content? {
        let trial = CompressionTrial(level: level, size: size)
        let parallel = ParallelDeflater(level: level, threads: threads)
        var compressedSize: UInt64 = 0
        var end: UInt64 = 0
        let summary = try parallel.compress(size: size, with: &deflater, from: source) {
            (output, count) throws(ZipError.Reason) in
            try Self.write(output, to: file, at: start, after: &compressedSize, limit: size)
            end += UInt64(count)
            return try trial.shouldContinue(at: end, with: compressedSize, source)
        }
        return summary.map {
            Content(method: ZipFormat.Method.deflated, crc32: $0.crc32, compressedSize: compressedSize)
        }
    }

    /// Writes content uncompressed.
    func store(
        size: UInt64, at start: UInt64, _ source: ContentSource
    ) throws(ZipError.Reason) -> Content {
        var checksum = Checksum()
        _ = try Self.forEachBlock(of: size, source) { (block, end) throws(ZipError.Reason) in
            checksum.update(block)
            try SystemError.asReason { () throws(SystemError) in
                try file.write(block, at: start + end - UInt64(block.count))
            }
            return true
        }
        return Content(method: ZipFormat.Method.stored, crc32: checksum.value, compressedSize: size)
    }

    /// Reads content in blocks, until `body` returns false.
    ///
    /// `body` also receives the position after the block.
    private static func forEachBlock(
        of size: UInt64, _ source: ContentSource,
        _ body: (UnsafeRawBufferPointer, _ end: UInt64) throws(ZipError.Reason) -> Bool
    ) throws(ZipError.Reason) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(size, UInt64(blockSize))), alignment: 16)
        defer { buffer.deallocate() }
        var position: UInt64 = 0
        while position < size {
            let count = Int(min(UInt64(buffer.count), size - position))
            let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            try source(block, position)
            position += UInt64(count)
            guard try body(UnsafeRawBufferPointer(block), position) else { return false }
        }
        return true
    }

    /// Writes a piece of compressed content, but only as long as it is smaller than the stored content.
    private static func write(
        _ output: UnsafeRawBufferPointer, to file: borrowing File, at start: UInt64,
        after written: inout UInt64, limit: UInt64
    ) throws(ZipError.Reason) {
        let offset = start + written
        written += UInt64(output.count)
        guard written < limit else { return }
        try SystemError.asReason { () throws(SystemError) in try file.write(output, at: offset) }
    }
}
