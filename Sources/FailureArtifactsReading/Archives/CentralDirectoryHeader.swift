internal import FailureArtifactsZip

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
