internal import FailureArtifactsSystem

/// The central directory's description of an entry (APPNOTE 4.3.12), with ZIP64 values resolved.
struct CentralDirectoryHeader {
    static let signature: UInt32 = 0x0201_4b50
    /// The header's length in bytes, without name, extra field and comment.
    static let length = 46

    let flags: UInt16
    let method: UInt16
    let modified: DOSTime
    /// The modification time in seconds since 1970, from the extended timestamp if present.
    let modifiedSeconds: Int64
    let crc32: UInt32
    /// The size of the compressed data, in bytes.
    let compressedSize: UInt64
    /// The size of the content, in bytes.
    let size: UInt64
    /// The undecoded bytes of the name, in any encoding.
    let name: [UInt8]
    /// The name in the Unicode path extra field, if present.
    let unicodeName: [UInt8]?
    let disk: UInt16
    let externalAttributes: UInt32
    /// The offset of the local header from the start of the archive, in bytes.
    let localHeaderOffset: UInt64

    /// Creates the header of a file to write.
    init(
        name: [UInt8], modified: Timestamp, method: ZipEntry.Method, crc32: UInt32,
        compressedSize: UInt64,
        size: UInt64, localHeaderOffset: UInt64
    ) {
        flags = EntryAttributes.hasUTF8Name
        self.method = method.number
        self.modified = DOSTime(modified)
        modifiedSeconds = modified.seconds
        self.crc32 = crc32
        self.compressedSize = compressedSize
        self.size = size
        self.name = name
        unicodeName = nil
        disk = 0
        externalAttributes = EntryAttributes.ownersFile
        self.localHeaderOffset = localHeaderOffset
    }

    /// Reads a header and moves the cursor to the next one.
    init(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        guard try reader.readUInt32() == Self.signature else {
            throw .inconsistent("the central directory has fewer entries than the end record says")
        }
        try reader.skip(4)  // The versions "made by" and "needed to extract".
        flags = try reader.readUInt16()
        method = try reader.readUInt16()
        modified = DOSTime(time: try reader.readUInt16(), date: try reader.readUInt16())
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
        if diskField == Zip64.sentinel16, let disk = try zip64?.readUInt32() {
            self.disk = UInt16(exactly: disk) ?? Zip64.sentinel16
        } else {
            disk = diskField
        }
        unicodeName = extra.unicodeName(for: name)
        modifiedSeconds = extra.modified.map { Int64($0) } ?? modified.timestamp.seconds
    }

    func append(to writer: inout LittleEndianWriter) {
        let large = [size, compressedSize, localHeaderOffset].filter { Zip64.isNeeded(for: $0) }
        let zip64 = ExtraFields.zip64Block(large)
        let timestamp = ExtraFields.timestampBlock(seconds: modifiedSeconds)
        let version = large.isEmpty ? EntryAttributes.versionNeeded : Zip64.versionNeeded
        writer.append(Self.signature)
        writer.append(EntryAttributes.unix << 8 | version)
        writer.append(version)
        writer.append(flags)
        writer.append(method)
        writer.append(modified.time)
        writer.append(modified.date)
        writer.append(crc32)
        writer.append(Zip64.field(compressedSize))
        writer.append(Zip64.field(size))
        writer.append(UInt16(truncatingIfNeeded: name.count))
        writer.append(UInt16(truncatingIfNeeded: zip64.count + timestamp.count))
        writer.append(0 as UInt16)  // Comment length.
        writer.append(0 as UInt16)  // Disk.
        writer.append(0 as UInt16)  // Internal attributes.
        writer.append(externalAttributes)
        writer.append(Zip64.field(localHeaderOffset))
        writer.append(name)
        writer.append(zip64)
        writer.append(timestamp)
    }
}
