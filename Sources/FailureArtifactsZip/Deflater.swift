internal import CFailureArtifactsZlib
internal import FailureArtifactsSystem

/// zlib's compressor for raw deflate data (RFC 1951), as ZIP has it.
struct Deflater: ~Copyable {
    // zlib refers back to the structure by its address, so it may not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer

    /// - Parameter level: 1, the fastest, to 9, the smallest.
    /// - Throws: `system` with `ENOMEM`.
    init(level: Int) throws(ZipError.Reason) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(byteCount: blockSize, alignment: 16)
        let clamped = CInt(min(max(level, 1), 9))
        // Negative window bits: no zlib header or trailer. 8 is zlib's default for its memory.
        let result = failure_artifacts_deflate_init(stream, clamped, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY)
        guard result == Z_OK else { throw .system(SystemError("compress", "", code: ENOMEM)) }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Forgets all earlier input and begins a new stream.
    mutating func restart() {
        deflateReset(stream)
    }

    /// Compresses a block.
    ///
    /// - Parameters:
    ///   - input: The block, less than 4 GiB.
    ///   - isLast: Whether the stream ends with this block.
    ///   - body: Called with each piece of compressed data there is so far; possibly never.
    /// - Throws: What `body` throws.
    mutating func compress(
        _ input: UnsafeRawBufferPointer, isLast: Bool,
        _ body: (UnsafeRawBufferPointer) throws(ZipError.Reason) -> Void
    ) throws(ZipError.Reason) {
        // zlib's interface lacks a `const`; it does not write to its input.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.bindMemory(to: Bytef.self).baseAddress)
        stream.pointee.avail_in = CUnsignedInt(input.count)
        var result = Z_OK
        repeat {
            stream.pointee.next_out = output.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.avail_out = CUnsignedInt(output.count)
            // Fails with Z_BUF_ERROR only, which says that there is nothing to do.
            result = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
            let count = output.count - Int(stream.pointee.avail_out)
            if count > 0 { try body(UnsafeRawBufferPointer(rebasing: output[..<count])) }
        } while isLast ? result == Z_OK : stream.pointee.avail_out == 0
    }

    /// Compresses a part of a stream by itself, whatever was compressed before.
    ///
    /// The parts of a stream, in their order, make up the stream.
    ///
    /// - Parameters:
    ///   - input: The part, less than 4 GiB.
    ///   - dictionary: The end of the part before, of which 32 KiB are of use.
    ///   - isLast: Whether the stream ends with this part.
    ///   - output: Where the compressed data goes; see ``bound(_:)``.
    /// - Returns: How many bytes were written; nil where they have no room.
    mutating func compressBlock(
        _ input: UnsafeRawBufferPointer, after dictionary: UnsafeRawBufferPointer, isLast: Bool,
        into output: UnsafeMutableRawBufferPointer
    ) -> Int? {
        deflateReset(stream)
        if let base = dictionary.bindMemory(to: Bytef.self).baseAddress, !dictionary.isEmpty {
            deflateSetDictionary(stream, base, CUnsignedInt(dictionary.count))
        }
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.bindMemory(to: Bytef.self).baseAddress)
        stream.pointee.avail_in = CUnsignedInt(input.count)
        stream.pointee.next_out = output.bindMemory(to: Bytef.self).baseAddress
        stream.pointee.avail_out = CUnsignedInt(output.count)
        // A sync flush is complete where there is room left.
        let result = deflate(stream, isLast ? Z_FINISH : Z_SYNC_FLUSH)
        let isComplete = isLast ? result == Z_STREAM_END : result == Z_OK && stream.pointee.avail_out > 0
        return isComplete ? output.count - Int(stream.pointee.avail_out) : nil
    }

    /// The most that ``compressBlock(_:after:isLast:into:)`` makes of `count` bytes.
    static func bound(_ count: Int) -> Int {
        // What zlib says of a stream with unknown settings, and a sync flush.
        Int(deflateBound(nil, CUnsignedLong(count))) + 16
    }
}

/// How many bytes are read, compressed and written at a time.
let blockSize = 256 << 10
