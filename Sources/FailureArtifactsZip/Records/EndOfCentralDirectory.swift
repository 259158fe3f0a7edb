internal import FailureArtifactsSystem

/// The end of central directory record (APPNOTE 4.3.16), the last thing in an archive.
struct EndOfCentralDirectory: Equatable {
    static let signature: UInt32 = 0x0605_4b50
    /// In bytes, without the comment.
    static let length = 22
    /// How far from the end of the file a record may start: with the longest comment.
    static let searchLength = length + Int(UInt16.max)

    let disk: UInt16
    let directoryDisk: UInt16
    let entriesOnDisk: UInt16
    let entries: UInt16
    /// In bytes.
    let directorySize: UInt32
    let directoryOffset: UInt32
    /// In bytes; the comment itself is not read.
    let commentLength: UInt16

    /// The record for an archive without a comment; values that do not fit become sentinels.
    init(entries: UInt64, directorySize: UInt64, directoryOffset: UInt64) {
        disk = 0
        directoryDisk = 0
        self.entries = UInt16(exactly: entries) ?? Zip64.sentinel16
        entriesOnDisk = self.entries
        self.directorySize = Zip64.field(directorySize)
        self.directoryOffset = Zip64.field(directoryOffset)
        commentLength = 0
    }

    /// Reads a record whose signature is known to be right.
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

    /// Whether a ZIP64 end record has to say what this one cannot.
    var needsZip64: Bool {
        entries == Zip64.sentinel16 || directorySize == Zip64.sentinel32
            || directoryOffset == Zip64.sentinel32
    }

    /// Whether the fields that are not sentinels say what the ZIP64 record says.
    func agrees(with zip64: Zip64EndRecord) -> Bool {
        (entries == Zip64.sentinel16 || UInt64(entries) == zip64.entries)
            && (directorySize == Zip64.sentinel32 || UInt64(directorySize) == zip64.directorySize)
            && (directoryOffset == Zip64.sentinel32 || UInt64(directoryOffset) == zip64.directoryOffset)
    }
}
