internal import FailureArtifactsSystem

/// The ZIP64 extension: 16- and 32-bit fields hold a sentinel if the value is in a ZIP64 record (APPNOTE
/// 4.4.1.4).
enum Zip64 {
    static let sentinel16 = UInt16.max
    static let sentinel32 = UInt32.max
    /// "Version needed to extract" 4.5 (APPNOTE 4.4.3.2).
    static let versionNeeded: UInt16 = 45

    /// The content of a 32-bit field: the value, or the sentinel if it doesn't fit.
    static func field(_ value: UInt64) -> UInt32 {
        value < UInt64(sentinel32) ? UInt32(value) : sentinel32
    }

    /// Returns true if a value needs a ZIP64 record.
    ///
    /// The sentinel's own value does, too.
    static func isNeeded(for value: UInt64) -> Bool {
        value >= UInt64(sentinel32)
    }

    /// Returns the value of a 32-bit field, from the ZIP64 block if the field is the sentinel.
    ///
    /// The block has values only for such fields, so the caller has to ask in the fixed order: size,
    /// compressed size, offset (APPNOTE 4.5.3). Zero is an ordinary value.
    ///
    /// - Parameters:
    ///   - field: The 32-bit field.
    ///   - block: The ZIP64 block; its cursor advances.
    /// - Returns: The value.
    /// - Throws: `inconsistent` if the block or the value is missing.
    static func value(
        _ field: UInt32, _ block: inout LittleEndianReader?
    ) throws(ZipError.Reason) -> UInt64 {
        guard field == sentinel32 else { return UInt64(field) }
        guard let value = try? block?.readUInt64() else {
            throw .inconsistent("a ZIP64 value that its header refers to is missing")
        }
        return value
    }
}

/// The ZIP64 end of central directory locator (APPNOTE 4.3.15), just before the end record.
struct Zip64Locator: Equatable {
    static let signature: UInt32 = 0x0706_4b50
    /// The locator's length, in bytes.
    static let length = 20

    let disk: UInt32
    /// The offset of the ZIP64 end record from the start of the archive, in bytes.
    let endRecordOffset: UInt64
    let diskCount: UInt32

    init(endRecordOffset: UInt64) {
        disk = 0
        self.endRecordOffset = endRecordOffset
        diskCount = 1
    }

    /// Reads a locator; nil if the signature differs.
    init?(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        guard try reader.readUInt32() == Self.signature else { return nil }
        disk = try reader.readUInt32()
        endRecordOffset = try reader.readUInt64()
        diskCount = try reader.readUInt32()
    }

    func append(to writer: inout LittleEndianWriter) {
        writer.append(Self.signature)
        writer.append(disk)
        writer.append(endRecordOffset)
        writer.append(diskCount)
    }
}

/// The ZIP64 end of central directory record, version 1 (APPNOTE 4.3.14).
struct Zip64EndRecord: Equatable {
    static let signature: UInt32 = 0x0606_4b50
    /// The record's length in bytes, without an extensible data sector.
    static let length = 56
    /// The number of bytes at the start that the record's length field doesn't count.
    static let uncountedLength = 12

    /// The length of the whole record in bytes, from its length field.
    let recordLength: UInt64
    let disk: UInt32
    let directoryDisk: UInt32
    let entriesOnDisk: UInt64
    let entries: UInt64
    /// The directory's size, in bytes.
    let directorySize: UInt64
    let directoryOffset: UInt64

    init(entries: UInt64, directorySize: UInt64, directoryOffset: UInt64) {
        recordLength = UInt64(Self.length)
        disk = 0
        directoryDisk = 0
        entriesOnDisk = entries
        self.entries = entries
        self.directorySize = directorySize
        self.directoryOffset = directoryOffset
    }

    /// Reads a record up to its extensible data sector.
    init(_ reader: inout LittleEndianReader) throws(ZipError.Reason) {
        guard try reader.readUInt32() == Self.signature else {
            throw .inconsistent("there is no ZIP64 end record where the locator says it is")
        }
        let counted = try reader.readUInt64()
        let (length, overflow) = counted.addingReportingOverflow(UInt64(Self.uncountedLength))
        guard !overflow, length >= UInt64(Self.length) else {
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

    func append(to writer: inout LittleEndianWriter) {
        writer.append(Self.signature)
        writer.append(recordLength - UInt64(Self.uncountedLength))
        writer.append(EntryAttributes.unix << 8 | Zip64.versionNeeded)
        writer.append(Zip64.versionNeeded)
        writer.append(disk)
        writer.append(directoryDisk)
        writer.append(entriesOnDisk)
        writer.append(entries)
        writer.append(directorySize)
        writer.append(directoryOffset)
    }
}
