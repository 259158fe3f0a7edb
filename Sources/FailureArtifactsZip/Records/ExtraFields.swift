internal import CFailureArtifactsZlib
internal import FailureArtifactsSystem

/// The extra field of a header: blocks of a two-byte identifier, a two-byte length and that many bytes
/// (APPNOTE 4.5.1).
struct ExtraFields {
    /// The identifiers this module knows.
    private enum Identifier {
        /// ZIP64 extended information (APPNOTE 4.5.3).
        static let zip64: UInt16 = 0x0001
        /// Extended timestamp (Info-ZIP's `extrafld.txt`).
        static let timestamp: UInt16 = 0x5455
        /// Info-ZIP Unicode path (APPNOTE 4.6.9).
        static let unicodePath: UInt16 = 0x7075
    }

    /// The content of the ZIP64 block.
    private(set) var zip64: LittleEndianReader?
    /// Time of the last change, in seconds since 1970.
    private(set) var modified: Int32?
    /// The name in UTF-8, and the CRC-32 of the header's name that it stands for.
    private var unicodePath: (checksum: UInt32, name: [UInt8])?

    /// Reads all of `reader`; blocks of unknown identifiers are passed over.
    ///
    /// - Throws: `truncated` where a block is longer than the field.
    init(_ reader: LittleEndianReader) throws(ZipError.Reason) {
        var reader = reader
        while reader.remaining > 0 {
            let identifier = try reader.readUInt16()
            var block = try reader.readPart(Int(try reader.readUInt16()))
            switch identifier {
            case Identifier.zip64:
                guard zip64 == nil else { throw .inconsistent("it holds two ZIP64 blocks") }
                zip64 = block
            case Identifier.timestamp:
                // Bit 0 of the first byte says that the modification time is there.
                guard block.remaining >= 5, try block.readByte() & 1 != 0 else { continue }
                modified = Int32(bitPattern: try block.readUInt32())
            case Identifier.unicodePath:
                // The first byte is the version, of which there is only 1.
                guard block.remaining > 5, try block.readByte() == 1 else { continue }
                let checksum = try block.readUInt32()
                unicodePath = (checksum, try block.readBytes(block.remaining))
            default:
                continue
            }
        }
    }

    /// The UTF-8 name recorded for a header's `name`; nil where there is none, or one for another name.
    func unicodeName(for name: [UInt8]) -> [UInt8]? {
        guard let unicodePath else { return nil }
        var checksum = Checksum()
        name.withUnsafeBytes { checksum.update($0) }
        return checksum.value == unicodePath.checksum ? unicodePath.name : nil
    }

    /// The block that records a time to the second; empty where it does not fit.
    static func timestampBlock(seconds: Int64) -> [UInt8] {
        guard let seconds = Int32(exactly: seconds) else { return [] }
        var writer = LittleEndianWriter()
        writer.append(Identifier.timestamp)
        writer.append(5 as UInt16)
        writer.append(1 as UInt8)
        writer.append(UInt32(bitPattern: seconds))
        return writer.bytes
    }

    /// The ZIP64 block with the given values, in the order of the format.
    static func zip64Block(_ values: [UInt64]) -> [UInt8] {
        guard !values.isEmpty else { return [] }
        var writer = LittleEndianWriter()
        writer.append(Identifier.zip64)
        writer.append(UInt16(values.count * 8))
        for value in values { writer.append(value) }
        return writer.bytes
    }
}

/// A running CRC-32 (APPNOTE 4.4.7).
package struct Checksum {
    package private(set) var value: UInt32 = 0

    package init() {}

    /// Adds bytes, at most 4 GiB of them.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // zlib takes a null pointer as the wish for the initial value.
        guard let base = bytes.bindMemory(to: UInt8.self).baseAddress, !bytes.isEmpty else { return }
        value = UInt32(truncatingIfNeeded: crc32(CUnsignedLong(value), base, CUnsignedInt(bytes.count)))
    }
}
