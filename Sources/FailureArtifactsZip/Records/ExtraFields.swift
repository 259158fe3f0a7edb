internal import FailureArtifactsSystem

/// The extra field of a header.
///
/// It is a sequence of blocks: a two-byte identifier, a two-byte length and that many bytes (APPNOTE 4.5.1).
struct ExtraFields {
    /// The block identifiers that this module knows.
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
    /// The modification time, in seconds since 1970.
    private(set) var modified: Int32?
    /// The name in UTF-8, and the CRC-32 of the header's name that it replaces.
    private var unicodePath: (checksum: UInt32, name: [UInt8])?

    /// Reads all of `reader`, skipping blocks with unknown identifiers.
    ///
    /// - Throws: `truncated` if a block is longer than the field.
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
                // Bit 0 of the first byte is set if the modification time is present.
                guard block.remaining >= 5, try block.readByte() & 1 != 0 else { continue }
                modified = Int32(bitPattern: try block.readUInt32())
            case Identifier.unicodePath:
                // The first byte is the version, and 1 is the only one.
                guard block.remaining > 5, try block.readByte() == 1 else { continue }
                let checksum = try block.readUInt32()
                unicodePath = (checksum, try block.readBytes(block.remaining))
            default:
                continue
            }
        }
    }

    /// Returns the UTF-8 name for a header's `name`; nil if absent or recorded for a different name.
    func unicodeName(for name: [UInt8]) -> [UInt8]? {
        guard let unicodePath else { return nil }
        var checksum = Checksum()
        name.withUnsafeBytes { checksum.update($0) }
        return checksum.value == unicodePath.checksum ? unicodePath.name : nil
    }

    /// Returns a block with a time in seconds since 1970; empty if it doesn't fit.
    static func timestampBlock(seconds: Int64) -> [UInt8] {
        guard let seconds = Int32(exactly: seconds) else { return [] }
        var writer = LittleEndianWriter()
        writer.append(Identifier.timestamp)
        writer.append(5 as UInt16)
        writer.append(1 as UInt8)
        writer.append(UInt32(bitPattern: seconds))
        return writer.bytes
    }

    /// Returns a ZIP64 block with the given values, in the order that the format requires.
    static func zip64Block(_ values: [UInt64]) -> [UInt8] {
        guard !values.isEmpty else { return [] }
        var writer = LittleEndianWriter()
        writer.append(Identifier.zip64)
        writer.append(UInt16(values.count * 8))
        for value in values { writer.append(value) }
        return writer.bytes
    }
}
