internal import FailureArtifactsSystem

/// The end of central directory record (APPNOTE 4.3.16), the last thing in an archive.
struct EndOfCentralDirectory: Equatable {
    static let signature: UInt32 = 0x0605_4b50
    /// The record's length in bytes, without the comment.
    static let length = 22
    /// The maximum distance of the record's start from the end of the file, with the longest comment.
    static let searchLength = length + Int(UInt16.max)

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

    /// Creates the record for an archive without a comment.
    ///
    /// Values that don't fit become sentinels.
    init(entries: UInt64, directorySize: UInt64, directoryOffset: UInt64) {
        disk = 0
        directoryDisk = 0
        self.entries = UInt16(exactly: entries) ?? Zip64.sentinel16
        entriesOnDisk = self.entries
        self.directorySize = Zip64.field(directorySize)
        self.directoryOffset = Zip64.field(directoryOffset)
        commentLength = 0
    }

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

    func append(to writer: inout LittleEndianWriter) {
        writer.append(Self.signature)
        writer.append(disk)
        writer.append(directoryDisk)
        writer.append(entriesOnDisk)
        writer.append(entries)
        writer.append(directorySize)
        writer.append(directoryOffset)
        writer.append(commentLength)
    }

    /// True if a value didn't fit, so that a ZIP64 end record has to hold it.
    var needsZip64: Bool {
        entries == Zip64.sentinel16 || directorySize == Zip64.sentinel32
            || directoryOffset == Zip64.sentinel32
    }

    /// Returns true if all fields that aren't sentinels match the ZIP64 record.
    func agrees(with zip64: Zip64EndRecord) -> Bool {
        (entries == Zip64.sentinel16 || UInt64(entries) == zip64.entries)
            && (directorySize == Zip64.sentinel32 || UInt64(directorySize) == zip64.directorySize)
            && (directoryOffset == Zip64.sentinel32 || UInt64(directoryOffset) == zip64.directoryOffset)
    }
}
