internal import FailureArtifactsSystem

/// Tells by trying whether content is compressed already, and had better be stored.
struct CompressionTrial {
    /// After how many bytes that is decided.
    static let size = UInt64(4 * blockSize)
    /// At how many places the rest is looked at.
    private static let sampleCount: UInt64 = 8

    let level: Int
    /// The content's length in bytes.
    let size: UInt64

    /// Whether it makes sense to go on compressing.
    ///
    /// - Parameters:
    ///   - position: How much of the content was compressed: the end of a block.
    ///   - compressedSize: What that gave.
    ///   - source: Reads content.
    /// - Returns: False where stored content will not be larger, or as good as not.
    /// - Throws: What `source` throws; `system` with `ENOMEM`.
    func goesOn(
        at position: UInt64, with compressedSize: UInt64, _ source: ContentSource
    ) throws(ZipError.Reason) -> Bool {
        guard compressedSize < size else { return false }
        guard position == Self.size, position < size,
            Self.isIncompressible(compressedSize, for: position)
        else { return true }
        return try restShrinks(from: position, source)
    }

    /// Whether anything of what follows shrinks: content may have parts of different kinds.
    private func restShrinks(
        from position: UInt64, _ source: ContentSource
    ) throws(ZipError.Reason) -> Bool {
        var deflater = try Deflater(level: level)
        let input = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
        let output = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Deflater.bound(blockSize), alignment: 16)
        defer {
            input.deallocate()
            output.deallocate()
        }
        let nothing = UnsafeRawBufferPointer(rebasing: input[..<0])
        for index in 0..<Self.sampleCount {
            let offset = position + (size - position) / Self.sampleCount * index
            let count = Int(min(UInt64(blockSize), size - offset))
            let part = UnsafeMutableRawBufferPointer(rebasing: input[..<count])
            try source(part, offset)
            let compressed = deflater.compressBlock(
                UnsafeRawBufferPointer(part), after: nothing, isLast: true, into: output)
            guard let compressed, Self.isIncompressible(UInt64(compressed), for: UInt64(count)) else {
                return true
            }
        }
        return false
    }

    /// Whether compressing saves less than 3 per cent.
    private static func isIncompressible(_ compressedSize: UInt64, for size: UInt64) -> Bool {
        compressedSize > size - size / 32
    }
}
