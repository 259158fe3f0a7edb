/// The header in front of an entry's content (APPNOTE 4.3.7).
struct LocalFileHeader {
    static let signature: UInt32 = 0x0403_4b50
    /// The header's length in bytes, without name and extra field.
    static let length = 30

    let versionNeeded: UInt16
    let flags: UInt16
    let method: UInt16
    let modified: DOSTime
    let crc32: UInt32
    let compressedSize: UInt32
    let size: UInt32
    /// The length of the name, in bytes.
    let nameLength: UInt16
    /// The length of the extra field, in bytes.
    let extraLength: UInt16

    /// Reads the fixed part of a header.
    init(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        guard try reader.readUInt32() == Self.signature else {
            throw .inconsistent("there is no header where the central directory says it is")
        }
        versionNeeded = try reader.readUInt16()
        flags = try reader.readUInt16()
        method = try reader.readUInt16()
        modified = DOSTime(time: try reader.readUInt16(), date: try reader.readUInt16())
        crc32 = try reader.readUInt32()
        compressedSize = try reader.readUInt32()
        size = try reader.readUInt32()
        nameLength = try reader.readUInt16()
        extraLength = try reader.readUInt16()
    }

    /// Appends the whole header of an entry, with name and extra field.
    ///
    /// - Parameters:
    ///   - entry: The entry's header in the central directory.
    ///   - writer: The writer to append to.
    static func append(_ entry: CentralDirectoryHeader, to writer: inout LittleEndianWriter) {
        let isZip64 = usesZip64(size: entry.size)
        // The ZIP64 block has to hold both sizes here, even if only one needs it (APPNOTE 4.5.3).
        let zip64 = isZip64 ? ExtraFields.zip64Block([entry.size, entry.compressedSize]) : []
        let timestamp = ExtraFields.timestampBlock(seconds: entry.modifiedSeconds)
        writer.append(signature)
        writer.append(isZip64 ? Zip64.versionNeeded : EntryAttributes.versionNeeded)
        writer.append(entry.flags)
        writer.append(entry.method)
        writer.append(entry.modified.time)
        writer.append(entry.modified.date)
        writer.append(entry.crc32)
        writer.append(isZip64 ? Zip64.sentinel32 : UInt32(truncatingIfNeeded: entry.compressedSize))
        writer.append(isZip64 ? Zip64.sentinel32 : UInt32(truncatingIfNeeded: entry.size))
        writer.append(UInt16(truncatingIfNeeded: entry.name.count))
        writer.append(UInt16(truncatingIfNeeded: zip64.count + timestamp.count))
        writer.append(entry.name)
        writer.append(zip64)
        writer.append(timestamp)
    }

    /// The length, in bytes, of the header that ``append(_:to:)`` writes.
    ///
    /// It doesn't depend on the content.
    static func length(nameLength: Int, size: UInt64, modifiedSeconds: Int64) -> Int {
        let zip64Length = usesZip64(size: size) ? 4 + 2 * 8 : 0
        return length + nameLength + zip64Length
            + ExtraFields.timestampBlock(seconds: modifiedSeconds).count
    }

    /// Returns true if the header needs a ZIP64 block.
    ///
    /// The content's size bounds the compressed size too, because incompressible content is stored.
    static func usesZip64(size: UInt64) -> Bool { Zip64.isNeeded(for: size) }
}
