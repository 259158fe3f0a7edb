internal import CFailureArtifactsZlib
internal import FailureArtifactsSystem

/// zlib's decompressor for raw deflate data (RFC 1951), as ZIP has it.
struct Inflater: ~Copyable {
    /// What one step did.
    struct Step {
        /// Bytes of the input that are used up.
        let consumed: Int
        /// Bytes at the start of the output.
        let produced: Int
        /// Whether this was the end of the stream.
        let isFinished: Bool
    }

    // zlib refers back to the structure by its address, so it may not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: `system` with `ENOMEM`.
    init() throws(ZipError.Reason) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard failure_artifacts_inflate_init(stream, -MAX_WBITS) == Z_OK else { throw Self.noMemory }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses as much as input and output allow.
    ///
    /// A step that neither consumes nor produces anything is no error here: the caller knows whether there is
    /// more input.
    ///
    /// - Parameters:
    ///   - input: Compressed data, less than 4 GiB.
    ///   - output: Where the result goes, less than 4 GiB.
    /// - Returns: How far it came.
    /// - Throws: `inconsistent` for data that is not deflate's; `system` with `ENOMEM`.
    mutating func step(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ZipError.Reason) -> Step {
        // zlib's interface lacks a `const`; it does not write to its input.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.bindMemory(to: Bytef.self).baseAddress)
        stream.pointee.avail_in = CUnsignedInt(input.count)
        stream.pointee.next_out = output.bindMemory(to: Bytef.self).baseAddress
        stream.pointee.avail_out = CUnsignedInt(output.count)
        let result = inflate(stream, Z_NO_FLUSH)
        switch result {
        case Z_OK, Z_BUF_ERROR, Z_STREAM_END: break
        case Z_MEM_ERROR: throw Self.noMemory
        default: throw .inconsistent("its compressed data is not valid")
        }
        return Step(
            consumed: input.count - Int(stream.pointee.avail_in),
            produced: output.count - Int(stream.pointee.avail_out), isFinished: result == Z_STREAM_END)
    }

    private static var noMemory: ZipError.Reason {
        .system(SystemError("decompress", "", code: ENOMEM))
    }
}
