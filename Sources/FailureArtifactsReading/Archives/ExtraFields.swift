internal import FailureArtifactsZip

/// The extra field of a header; it is a sequence of blocks: a two-byte identifier, a two-byte length and that many
/// bytes (APPNOTE 4.5.1).
struct ExtraFields {
    private(set) var zip64: LittleEndianReader?
    /// The name in UTF-8, and the CRC-32 of the header's name that it replaces.
    private var unicodePath: (checksum: UInt32, name: [UInt8])?

    /// Reads all of `reader`, skipping blocks with unknown identifiers.
    init(_ reader: LittleEndianReader) throws(ZipError.Reason) {
        var reader = reader
        while reader.remaining > 0 {
            let identifier = try reader.readUInt16()
            var block = try reader.readPart(Int(try reader.readUInt16()))
            switch identifier {
            case ZipFormat.ExtraField.zip64:
                guard zip64 == nil else { throw .inconsistent("it holds two ZIP64 blocks") }
                zip64 = block
            case ZipFormat.ExtraField.unicodePath:
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
}
