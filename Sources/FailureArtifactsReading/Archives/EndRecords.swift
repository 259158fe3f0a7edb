internal import FailureArtifactsZip

/// The end of central directory record (APPNOTE 4.3.16), the last thing in an archive.
struct EndOfCentralDirectory {
    /// The maximum distance of the record's start from the end of the file, with the longest comment.
    static let searchLength = ZipFormat.Length.end + Int(UInt16.max)

    let disk: UInt16
    let directoryDisk: UInt16
    let entriesOnDisk: UInt16
    let entries: UInt16
    /// The directory's size, in bytes.
    let directorySize: UInt32
    let directoryOffset: UInt32
    /// The length of the comment, in bytes.
    ///
    /// The comment itself is ignored.
    let commentLength: UInt16

    /// Reads a record.
    ///
    /// The caller has checked its signature.
    init(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        try reader.skip(4)
        disk = try reader.readUInt16()
        directoryDisk = try reader.readUInt16()
        entriesOnDisk = try reader.readUInt16()
        entries = try reader.readUInt16()
        directorySize = try reader.readUInt32()
        directoryOffset = try reader.readUInt32()
        commentLength = try reader.readUInt16()
    }

    /// Returns true if all fields that aren't sentinels match the ZIP64 record.
    func agrees(with zip64: Zip64EndRecord) -> Bool {
        (entries == ZipFormat.sentinel16 || UInt64(entries) == zip64.entries)
            && (directorySize == ZipFormat.sentinel32 || UInt64(directorySize) == zip64.directorySize)
            && (directoryOffset == ZipFormat.sentinel32
                || UInt64(directoryOffset) == zip64.directoryOffset)
    }
}

/// Values that are in a ZIP64 block because they don't fit in their field (APPNOTE 4.4.1.4).
enum Zip64 {
    /// Returns the value of a 32-bit field, from the ZIP64 block if the field is the sentinel.
    ///
    /// The block has values only for such fields, so the caller has to ask in the fixed order: size,
    /// compressed size, offset (APPNOTE 4.5.3). Zero is an ordinary value.
    ///
    /// - `block`: the ZIP64 block; its cursor advances.
    static func value(
        _ field: UInt32, _ block: inout LittleEndianReader?
    ) throws(ZipError.Reason) -> UInt64 {
        guard field == ZipFormat.sentinel32 else { return UInt64(field) }
        guard let value = try? block?.readUInt64() else {
            throw .inconsistent("a ZIP64 value that its header refers to is missing")
        }
        return value
    }
}

/// The ZIP64 end of central directory locator (APPNOTE 4.3.15), just before the end record.
struct Zip64Locator {
    let disk: UInt32
    /// The offset of the ZIP64 end record from the start of the archive, in bytes.
    let endRecordOffset: UInt64
    let diskCount: UInt32

    /// Reads a locator; nil if the signature differs.
    init?(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        guard try reader.readUInt32() == ZipFormat.Signature.zip64Locator else { return nil }
        disk = try reader.readUInt32()
        endRecordOffset = try reader.readUInt64()
        diskCount = try reader.readUInt32()
    }
}

/// The ZIP64 end of central directory record, version 1 (APPNOTE 4.3.14).
struct Zip64EndRecord {
    /// The length of the whole record in bytes, from its length field.
    let recordLength: UInt64
    let disk: UInt32
    let directoryDisk: UInt32
    let entriesOnDisk: UInt64
    let entries: UInt64
    /// The directory's size, in bytes.
    let directorySize: UInt64
    let directoryOffset: UInt64

    /// Reads a record up to its extensible data sector.
    init(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        guard try reader.readUInt32() == ZipFormat.Signature.zip64End else {
            throw .inconsistent("there is no ZIP64 end record where the locator says it is")
        }
        let counted = try reader.readUInt64()
        let (length, overflow) = counted.addingReportingOverflow(
            UInt64(ZipFormat.Length.uncountedOfZip64End))
        guard !overflow, length >= UInt64(ZipFormat.Length.zip64End) else {
            throw .inconsistent("the length of the ZIP64 end record is impossible")
        }
        recordLength = length
        try reader.skip(4)  // The versions "made by" and "needed to extract".
        disk = try reader.readUInt32()
        directoryDisk = try reader.readUInt32()
        entriesOnDisk = try reader.readUInt64()
        entries = try reader.readUInt64()
        directorySize = try reader.readUInt64()
        directoryOffset = try reader.readUInt64()
    }
}
