internal import FailureArtifactsSystem
package import FailureArtifactsZip

/// The central directory's description of an entry (APPNOTE 4.3.12), with ZIP64 values resolved.
struct CentralDirectoryHeader {
    let flags: UInt16
    let method: UInt16
    let crc32: UInt32
    let compressedSize: UInt64
    let size: UInt64
    /// The undecoded bytes of the name, in any encoding.
    let name: [UInt8]
    /// The name in the Unicode path extra field, if present.
    let unicodeName: [UInt8]?
    let disk: UInt16
    let externalAttributes: UInt32
    /// The offset of the local header from the start of the archive, in bytes.
    let localHeaderOffset: UInt64

    /// Reads a header and moves the cursor to the next one.
    init(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        guard try reader.readUInt32() == ZipFormat.Signature.centralHeader else {
            throw .inconsistent("the central directory has fewer entries than the end record says")
        }
        try reader.skip(4)  // The versions "made by" and "needed to extract".
        flags = try reader.readUInt16()
        method = try reader.readUInt16()
        try reader.skip(4)  // The modification time.
        crc32 = try reader.readUInt32()
        let compressedField = try reader.readUInt32()
        let sizeField = try reader.readUInt32()
        let nameLength = try reader.readUInt16()
        let extraLength = try reader.readUInt16()
        let commentLength = try reader.readUInt16()
        let diskField = try reader.readUInt16()
        try reader.skip(2)  // Internal attributes.
        externalAttributes = try reader.readUInt32()
        let offsetField = try reader.readUInt32()
        name = try reader.readBytes(Int(nameLength))
        let extra = try ExtraFields(try reader.readPart(Int(extraLength)))
        try reader.skip(Int(commentLength))

        var zip64 = extra.zip64
        size = try Zip64.value(sizeField, &zip64)
        compressedSize = try Zip64.value(compressedField, &zip64)
        localHeaderOffset = try Zip64.value(offsetField, &zip64)
        if diskField == ZipFormat.sentinel16, let disk = try zip64?.readUInt32() {
            self.disk = UInt16(exactly: disk) ?? ZipFormat.sentinel16
        } else {
            disk = diskField
        }
        unicodeName = extra.unicodeName(for: name)
    }
}

extension CentralDirectoryHeader {
    /// True if the external attributes mark a symbolic link.
    ///
    /// Their upper four bits hold the file type; systems other than Unix leave them zero. Other types are acceptable:
    /// Info-ZIP records that standard input was a pipe.
    var isLink: Bool { externalAttributes >> 28 == 0o12 }
}

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

/// A cursor over bytes of an archive.
///
/// All numbers of an archive are read through it. ZIP stores all numbers in little-endian order (APPNOTE 4.4.1.1).
/// Every read is checked against the end of the bytes and throws ``ZipError/Reason/truncated`` beyond it.
struct LittleEndianReader {
    private let bytes: [UInt8]
    private let end: Int
    private(set) var position: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = 0
        end = bytes.count
    }

    /// Creates a cursor over a part of the bytes.
    init(_ bytes: [UInt8], _ range: Range<Int>) throws(ZipError.Reason) {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else { throw .truncated }
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var remaining: Int { end - position }

    mutating func readByte() throws(ZipError.Reason) -> UInt8 {
        guard remaining >= 1 else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func readUInt16() throws(ZipError.Reason) -> UInt16 {
        guard remaining >= 2 else { throw .truncated }
        defer { position += 2 }
        return UInt16(bytes[position]) | UInt16(bytes[position + 1]) << 8
    }

    mutating func readUInt32() throws(ZipError.Reason) -> UInt32 {
        guard remaining >= 4 else { throw .truncated }
        let low = UInt32(try readUInt16())
        return UInt32(try readUInt16()) << 16 | low
    }

    mutating func readUInt64() throws(ZipError.Reason) -> UInt64 {
        guard remaining >= 8 else { throw .truncated }
        let low = UInt64(try readUInt32())
        return UInt64(try readUInt32()) << 32 | low
    }

    mutating func readBytes(_ count: Int) throws(ZipError.Reason) -> [UInt8] {
        let start = position
        try skip(count)
        return Array(bytes[start..<position])
    }

    /// Returns a cursor over the next `count` bytes, and skips them.
    mutating func readPart(_ count: Int) throws(ZipError.Reason) -> LittleEndianReader {
        let start = position
        try skip(count)
        return try LittleEndianReader(bytes, start..<position)
    }

    mutating func skip(_ count: Int) throws(ZipError.Reason) {
        guard count >= 0, count <= remaining else { throw .truncated }
        position += count
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
