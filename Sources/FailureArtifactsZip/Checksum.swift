internal import CFailureArtifactsZlib

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
