internal import CFailureArtifactsZlib

/// Data in zlib's format (RFC 1950), which browsers call `deflate`.
enum ZlibData {
    /// Returns bytes compressed at zlib's best level.
    ///
    /// - `bytes`: the bytes, less than 4 GiB.
    static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var count = compressBound(CUnsignedLong(bytes.count))
        // zlib fails only without memory, or if the output is smaller than its own bound.
        return [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, size in
            let result = compress2(
                buffer.baseAddress, &count, bytes, CUnsignedLong(bytes.count), Z_BEST_COMPRESSION)
            precondition(result == Z_OK, "zlib can't compress: \(result)")
            size = Int(count)
        }
    }
}
