package import FailureArtifactsZip

/// The header in front of an entry's content (APPNOTE 4.3.7).
struct LocalFileHeader {
    let flags: UInt16
    let method: UInt16
    let crc32: UInt32
    let compressedSize: UInt32
    let size: UInt32
    let nameLength: UInt16
    let extraLength: UInt16

    init(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        guard try reader.readUInt32() == ZipFormat.Signature.localHeader else {
            throw .inconsistent("there is no header where the central directory says it is")
        }
        try reader.skip(2)  // The version needed to extract.
        flags = try reader.readUInt16()
        method = try reader.readUInt16()
        try reader.skip(4)  // The modification time.
        crc32 = try reader.readUInt32()
        compressedSize = try reader.readUInt32()
        size = try reader.readUInt32()
        nameLength = try reader.readUInt16()
        extraLength = try reader.readUInt16()
    }
}

extension EntryName {
    /// Decodes the name of an entry.
    ///
    /// The name is UTF-8 if the header's flag says so. Otherwise (APPNOTE appendix D) the Unicode path field comes
    /// first. Without it, the name is taken as UTF-8, because many tools write it without the flag; bytes in another
    /// encoding, such as code page 437, are replaced.
    static func decode(_ header: CentralDirectoryHeader) throws(ZipError.Reason) -> String {
        let isUTF8 = header.flags & ZipFormat.Flag.hasUTF8Name != 0
        let bytes = isUTF8 ? header.name : header.unicodeName ?? header.name
        // Decoding replaces invalid bytes, so the text equals the bytes only if they are valid.
        let name = String(decoding: bytes, as: UTF8.self)
        let mustBeUTF8 = isUTF8 || header.unicodeName != nil
        if mustBeUTF8, !name.utf8.elementsEqual(bytes) { throw .unsafeName }
        guard isSafe(name) else { throw .unsafeName }
        return name
    }
}

// The numbers of the format that only the reader uses.

extension ZipFormat.Signature {
    package static let zip64End: UInt32 = 0x0606_4b50
    package static let zip64Locator: UInt32 = 0x0706_4b50
}

extension ZipFormat.Length {
    static let zip64End = 56
    static let zip64Locator = 20
    /// The number of bytes at the start of a ZIP64 end record that its length field doesn't count.
    static let uncountedOfZip64End = 12
}

extension ZipFormat.Flag {
    /// Bit 0: the content is encrypted.
    static let isEncrypted: UInt16 = 1 << 0
    /// Bit 3: sizes and CRC-32 follow the content, and the local header does not have them.
    static let hasDataDescriptor: UInt16 = 1 << 3
    /// Bit 13: values in the local header are masked because the directory is encrypted.
    static let isMasked: UInt16 = 1 << 13
}

extension ZipFormat.ExtraField {
    /// ZIP64 extended information (APPNOTE 4.5.3).
    static let zip64: UInt16 = 0x0001
    /// Info-ZIP Unicode path (APPNOTE 4.6.9).
    static let unicodePath: UInt16 = 0x7075
}
