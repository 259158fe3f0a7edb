internal import CFailureArtifactsZlib

/// Bytes compressed in the zlib format (RFC 1950), which browsers call `deflate`, with a checksum of the content.
package enum ZlibData {
    /// Returns the compressed bytes; nil without memory.
    ///
    /// - `content`: the bytes, less than 4 GiB.
    /// - `level`: the effort, from 1 to 9.
    package static func compress(_ content: [UInt8], level: Int32 = 6) -> [UInt8]? {
        var length = compressBound(uLong(content.count))
        var isDone = false
        let result = [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            isDone =
                compress2(buffer.baseAddress, &length, content, uLong(content.count), level) == Z_OK
            count = isDone ? Int(length) : 0
        }
        return isDone ? result : nil
    }

    /// Returns the content of untrusted bytes; nil if they are invalid, or if the content has another size, in bytes.
    package static func decompress(_ bytes: [UInt8], size: Int) -> [UInt8]? {
        var length = uLongf(size)
        var isDone = false
        let result = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            isDone =
                uncompress(buffer.baseAddress, &length, bytes, uLong(bytes.count)) == Z_OK
                && Int(length) == size
            count = isDone ? size : 0
        }
        return isDone ? result : nil
    }

    /// Returns a checksum of 64 bits: CRC-32 and Adler-32.
    package static func checksum(of bytes: [UInt8]) -> UInt64 {
        let count = uInt(bytes.count)
        return UInt64(crc32(0, bytes, count)) << 32 | UInt64(adler32(1, bytes, count))
    }
}
