internal import FailureArtifactsSystem

/// The description of a file, from which the writer makes both of its headers.
struct EntryHeader {
    /// "Version needed to extract" 2.0: deflate (APPNOTE 4.4.3.2).
    private static let version: UInt16 = 20
    /// "Version needed to extract" 4.5: ZIP64.
    fileprivate static let zip64Version: UInt16 = 45
    /// "Version made by", upper byte: file attributes are unix modes (APPNOTE 4.4.2.2).
    fileprivate static let unix: UInt16 = 3 << 8
    /// External attributes (APPNOTE 4.4.15) of a file that only its owner reads and writes.
    private static let attributes: UInt32 = 0o100_600 << 16

    /// The name in UTF-8.
    let name: [UInt8]
    let modified: Timestamp
    /// The method's number, of ``ZipFormat/Method``.
    let method: UInt16
    let crc32: UInt32
    /// The size of the compressed data, in bytes.
    let compressedSize: UInt64
    /// The size of the content, in bytes.
    let size: UInt64
    /// The offset of the local header from the start of the archive, in bytes.
    let localHeaderOffset: UInt64

    /// Appends the header in front of the content (APPNOTE 4.3.7).
    func appendLocalHeader(to writer: inout LittleEndianWriter) {
        let isZip64 = Self.isZip64(size)
        // The ZIP64 block has to hold both sizes here, even if only one needs it (APPNOTE 4.5.3).
        let extra =
            Self.zip64Block(isZip64 ? [size, compressedSize] : []) + Self.timestampBlock(modified)
        writer.append(ZipFormat.Signature.localHeader)
        appendCommonFields(
            version: isZip64 ? Self.zip64Version : Self.version,
            compressedSize: isZip64 ? ZipFormat.sentinel32 : UInt32(truncatingIfNeeded: compressedSize),
            size: isZip64 ? ZipFormat.sentinel32 : UInt32(truncatingIfNeeded: size),
            extraLength: extra.count, to: &writer)
        writer.append(name)
        writer.append(extra)
    }

    /// The length, in bytes, of the header that ``appendLocalHeader(to:)`` writes.
    ///
    /// It doesn't depend on the content.
    static func localHeaderLength(nameLength: Int, size: UInt64, modified: Timestamp) -> Int {
        ZipFormat.Length.localHeader + nameLength + (isZip64(size) ? 4 + 2 * 8 : 0)
            + timestampBlock(modified).count
    }

    /// Appends the header in the central directory (APPNOTE 4.3.12).
    func appendCentralHeader(to writer: inout LittleEndianWriter) {
        let large = [size, compressedSize, localHeaderOffset].filter(Self.isZip64)
        let extra = Self.zip64Block(large) + Self.timestampBlock(modified)
        let version = large.isEmpty ? Self.version : Self.zip64Version
        writer.append(ZipFormat.Signature.centralHeader)
        writer.append(Self.unix | version)
        appendCommonFields(
            version: version, compressedSize: Self.field(compressedSize), size: Self.field(size),
            extraLength: extra.count, to: &writer)
        writer.append(0 as UInt16)  // Comment length.
        writer.append(0 as UInt16)  // Disk.
        writer.append(0 as UInt16)  // Internal attributes.
        writer.append(Self.attributes)
        writer.append(Self.field(localHeaderOffset))
        writer.append(name)
        writer.append(extra)
    }

    /// Appends the fields that both headers have in the same order.
    private func appendCommonFields(
        version: UInt16, compressedSize: UInt32, size: UInt32, extraLength: Int,
        to writer: inout LittleEndianWriter
    ) {
        let date = DOSTime(modified)
        writer.append(version)
        writer.append(ZipFormat.Flag.hasUTF8Name)
        writer.append(method)
        writer.append(date.time)
        writer.append(date.date)
        writer.append(crc32)
        writer.append(compressedSize)
        writer.append(size)
        writer.append(UInt16(truncatingIfNeeded: name.count))
        writer.append(UInt16(truncatingIfNeeded: extraLength))
    }

    // MARK: ZIP64 and extra fields

    /// Returns true if a value needs a ZIP64 record.
    ///
    /// The sentinel's own value does, too. The content's size bounds the compressed size, because incompressible
    /// content is stored.
    fileprivate static func isZip64(_ value: UInt64) -> Bool { value >= UInt64(ZipFormat.sentinel32) }

    /// The content of a 32-bit field: the value, or the sentinel if it doesn't fit.
    fileprivate static func field(_ value: UInt64) -> UInt32 {
        isZip64(value) ? ZipFormat.sentinel32 : UInt32(value)
    }

    /// Returns a ZIP64 block with the given values, in the order that the format requires; empty without values.
    private static func zip64Block(_ values: [UInt64]) -> [UInt8] {
        guard !values.isEmpty else { return [] }
        var writer = LittleEndianWriter()
        writer.append(ZipFormat.ExtraField.zip64)
        writer.append(UInt16(values.count * 8))
        for value in values { writer.append(value) }
        return writer.bytes
    }

    /// Returns a block with a time in seconds since 1970; empty if it doesn't fit.
    private static func timestampBlock(_ time: Timestamp) -> [UInt8] {
        guard let seconds = Int32(exactly: time.seconds) else { return [] }
        var writer = LittleEndianWriter()
        writer.append(ZipFormat.ExtraField.timestamp)
        writer.append(5 as UInt16)
        writer.append(1 as UInt8)
        writer.append(UInt32(bitPattern: seconds))
        return writer.bytes
    }
}

/// The records after the central directory.
struct ArchiveEnd {
    let entries: UInt64
    /// The central directory's size, in bytes.
    let directorySize: UInt64
    let directoryOffset: UInt64

    /// Appends the end record (APPNOTE 4.3.16), preceded by the ZIP64 records if a value doesn't fit in it.
    func append(to writer: inout LittleEndianWriter) {
        let count = UInt16(exactly: entries) ?? ZipFormat.sentinel16
        if count == ZipFormat.sentinel16 || EntryHeader.isZip64(directorySize)
            || EntryHeader.isZip64(directoryOffset)
        {
            appendZip64Records(to: &writer)
        }
        writer.append(ZipFormat.Signature.end)
        writer.append(0 as UInt16)  // This disk.
        writer.append(0 as UInt16)  // The directory's disk.
        writer.append(count)
        writer.append(count)
        writer.append(EntryHeader.field(directorySize))
        writer.append(EntryHeader.field(directoryOffset))
        writer.append(0 as UInt16)  // Comment length.
    }

    /// Appends the ZIP64 end record, version 1 (APPNOTE 4.3.14), and its locator (APPNOTE 4.3.15).
    func appendZip64Records(to writer: inout LittleEndianWriter) {
        writer.append(ZipFormat.Signature.zip64End)
        writer.append(UInt64(ZipFormat.Length.zip64End - ZipFormat.Length.uncountedOfZip64End))
        writer.append(EntryHeader.unix | EntryHeader.zip64Version)
        writer.append(EntryHeader.zip64Version)
        writer.append(0 as UInt32)  // This disk.
        writer.append(0 as UInt32)  // The directory's disk.
        writer.append(entries)
        writer.append(entries)
        writer.append(directorySize)
        writer.append(directoryOffset)

        writer.append(ZipFormat.Signature.zip64Locator)
        writer.append(0 as UInt32)  // The disk of the end record.
        writer.append(directoryOffset + directorySize)
        writer.append(1 as UInt32)  // The number of disks.
    }
}

/// A builder for the bytes of records.
///
/// ZIP stores all numbers in little-endian order (APPNOTE 4.4.1.1).
struct LittleEndianWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: [UInt8]) {
        bytes.append(contentsOf: value)
    }
}
