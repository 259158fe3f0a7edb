internal import CFailureArtifactsZlib
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// A decompressor for raw deflate data (RFC 1951), the form that ZIP uses.
struct Inflater: ~Copyable {
    struct Step {
        /// The number of input bytes consumed.
        let consumed: Int
        /// The number of bytes written to the start of the output.
        let produced: Int
        /// True at the end of the stream.
        let isFinished: Bool
    }

    // zlib keeps the structure's address, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws(ZipError.Reason) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard failure_artifacts_inflate_init(stream, -MAX_WBITS) == Z_OK else { throw Self.noMemory }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses as much as input and output allow. A step that neither consumes nor produces anything is not an
    /// error here. Only the caller knows if there is more input. Throws `inconsistent` if the data is not valid
    /// deflate data; `system` with `ENOMEM`.
    mutating func step(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ZipError.Reason) -> Step {
        // zlib's interface lacks a `const`. It doesn't write to its input.
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
