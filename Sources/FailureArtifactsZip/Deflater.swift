internal import CFailureArtifactsZlib
internal import FailureArtifactsSystem

/// A compressor for raw deflate data (RFC 1951), the form that ZIP uses.
struct Deflater: ~Copyable {
    // zlib keeps the structure's address, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer

    /// Creates a compressor with a level from 1 (fastest) to 9 (smallest).
    init(level: Int) throws(SystemError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(byteCount: blockSize, alignment: 16)
        let clamped = CInt(min(max(level, 1), 9))
        // Negative window bits mean no zlib header or trailer. 8 is zlib's default memory level.
        let result = failure_artifacts_deflate_init(stream, clamped, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY)
        guard result == Z_OK else { throw SystemError("compress", "", code: ENOMEM) }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Discards all earlier input and begins a new stream.
    borrowing func restart() {
        deflateReset(stream)
    }

    /// Compresses a block of less than 4 GiB, and passes the available compressed data in pieces to `body`.
    borrowing func compress(
        _ input: UnsafeRawBufferPointer, isLast: Bool,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        // zlib's interface lacks a `const`. It doesn't write to its input.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.bindMemory(to: Bytef.self).baseAddress)
        stream.pointee.avail_in = CUnsignedInt(input.count)
        var result = Z_OK
        repeat {
            stream.pointee.next_out = output.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.avail_out = CUnsignedInt(output.count)
            // The only possible error is Z_BUF_ERROR, which means that there is nothing to do.
            result = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
            let count = output.count - Int(stream.pointee.avail_out)
            if count > 0 { try body(UnsafeRawBufferPointer(rebasing: output[..<count])) }
        } while isLast ? result == Z_OK : stream.pointee.avail_out == 0
    }
}

/// The number of bytes to read, compress and write at a time.
package let blockSize = 256 << 10

/// A running CRC-32 (APPNOTE 4.4.7).
package struct Checksum {
    package private(set) var value: UInt32 = 0

    package init() {}

    /// Adds at most 4 GiB of bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // For a null pointer, zlib would return the initial value.
        guard let base = bytes.bindMemory(to: UInt8.self).baseAddress, !bytes.isEmpty else { return }
        value = UInt32(truncatingIfNeeded: crc32(CUnsignedLong(value), base, CUnsignedInt(bytes.count)))
    }
}
