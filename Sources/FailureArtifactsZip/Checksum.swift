internal import CFailureArtifactsZlib
package import FailureArtifactsSystem

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

extension Checksum {
    /// Returns the CRC-32 of a file's content.
    ///
    /// The file must not change in the meantime.
    package static func value(ofFile path: String) throws(SystemError) -> UInt32 {
        let file = try File(reading: path)
        var checksum = Checksum()
        var block = try file.readingBlock()
        var offset: UInt64 = 0
        while true {
            let count = try block.withMutableBytes { (buffer) throws(SystemError) in
                let count = try file.read(into: buffer, at: offset)
                checksum.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return count
            }
            if count < block.count { return checksum.value }
            offset += UInt64(count)
        }
    }
}
