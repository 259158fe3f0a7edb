internal import CFailureArtifactsZlib
package import FailureArtifactsSystem

/// The first entry of an archive that ``ZipWriter`` wrote.
///
/// The sizes are in its header, so that it is read without the central directory. Other archives, and untrusted ones,
/// are read by `FailureArtifactsReading`.
package enum FirstEntry {
    /// Reads the first entry, with verified size and CRC-32, up to a size limit in bytes.
    ///
    /// The result is nil if the file doesn't start with an entry of that name.
    package static func contents(
        of path: String, named name: String, limit: Int
    ) throws(SystemError) -> [UInt8]? {
        let file = try File(reading: path)
        let nameBytes = Array(name.utf8)
        guard let header = try bytes(ZipFormat.Length.localHeader + nameBytes.count, of: file, at: 0),
            number(4, in: header, at: 0) == UInt64(ZipFormat.Signature.localHeader),
            number(2, in: header, at: 26) == UInt64(nameBytes.count),
            header.suffix(nameBytes.count).elementsEqual(nameBytes)
        else { return nil }
        let (compressedSize, size) = (number(4, in: header, at: 18), number(4, in: header, at: 22))
        let start = UInt64(header.count) + number(2, in: header, at: 28)
        guard size <= UInt64(max(0, limit)), compressedSize <= size,
            let compressed = try bytes(Int(compressedSize), of: file, at: start)
        else { return nil }
        let content: [UInt8]?
        switch number(2, in: header, at: 8) {
        case UInt64(ZipFormat.Method.stored): content = compressed
        case UInt64(ZipFormat.Method.deflated): content = inflated(compressed, size: Int(size))
        default: content = nil
        }
        guard let content, content.count == Int(size) else { return nil }
        var checksum = Checksum()
        content.withUnsafeBytes { checksum.update($0) }
        return UInt64(checksum.value) == number(4, in: header, at: 14) ? content : nil
    }

    /// Reads bytes at a position; nil if the file ends before.
    private static func bytes(
        _ count: Int, of file: borrowing File, at offset: UInt64
    ) throws(SystemError) -> [UInt8]? {
        let bytes = try file.bytes(count, at: offset)
        return bytes.count == count ? bytes : nil
    }

    /// Returns a little-endian number.
    private static func number(_ length: Int, in bytes: [UInt8], at offset: Int) -> UInt64 {
        bytes[offset..<offset + length].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Decompresses raw deflate data; nil if it isn't valid, or has another size.
    private static func inflated(_ compressed: [UInt8], size: Int) -> [UInt8]? {
        var compressed = compressed
        var content = [UInt8](repeating: 0, count: size)
        let isWhole = compressed.withUnsafeMutableBytes { input in
            content.withUnsafeMutableBytes { output in
                failure_artifacts_inflate_whole(
                    input.bindMemory(to: Bytef.self).baseAddress, CUnsignedInt(input.count),
                    output.bindMemory(to: Bytef.self).baseAddress, CUnsignedInt(output.count))
            }
        }
        return isWhole ? content : nil
    }
}
