internal import FailureArtifactsSystem

/// Decides by trial if content is incompressible, so that it is stored instead.
struct CompressionTrial {
    /// The number of bytes to compress before the decision.
    static let size = UInt64(4 * blockSize)
    /// The number of samples to take from the remaining content.
    private static let sampleCount: UInt64 = 8

    let level: Int
    /// The content's length, in bytes.
    let size: UInt64

    /// Decides if compression should continue, at the end of a block.
    ///
    /// The result is false if storing the content takes no more space than the compressed data, or hardly more.
    func shouldContinue(
        at position: UInt64, with compressedSize: UInt64, _ source: ContentSource
    ) throws(ZipError.Reason) -> Bool {
        guard compressedSize < size else { return false }
        guard position == Self.size, position < size,
            Self.isIncompressible(compressedSize, for: position)
        else { return true }
        return try restShrinks(from: position, source)
    }

    /// Returns true if a sample of the remaining content shrinks.
    ///
    /// Content may have parts of different kinds.
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

    /// Returns true if compression saves less than 3 per cent.
    private static func isIncompressible(_ compressedSize: UInt64, for size: UInt64) -> Bool {
        compressedSize > size - size / 32
    }
}
