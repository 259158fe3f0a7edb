package import FailureArtifactsSystem

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
