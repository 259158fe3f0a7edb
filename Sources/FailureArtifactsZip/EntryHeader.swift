internal import FailureArtifactsSystem

/// The description of a file, from which the writer makes both of its headers.
struct EntryHeader {
    /// "Version needed to extract" 2.0: deflate (APPNOTE 4.4.3.2).
    private static let version: UInt16 = 20
    /// "Version made by", upper byte: file attributes are unix modes (APPNOTE 4.4.2.2).
    private static let unix: UInt16 = 3 << 8
    /// External attributes (APPNOTE 4.4.15) of a file that only its owner reads and writes.
    private static let attributes: UInt32 = 0o100_600 << 16

    /// The name in UTF-8.
    let name: [UInt8]
    let modified: Timestamp
    /// The method's number, of ``ZipFormat/Method``.
    let method: UInt16
    let crc32: UInt32
    /// The size of the compressed data, in bytes.
    let compressedSize: UInt32
    /// The size of the content, in bytes.
    let size: UInt32
    /// The offset of the local header from the start of the archive, in bytes.
    let localHeaderOffset: UInt32

    /// Appends the header in front of the content (APPNOTE 4.3.7).
    func appendLocalHeader(to writer: inout LittleEndianWriter) {
        writer.append(ZipFormat.Signature.localHeader)
        appendCommonFields(to: &writer)
        writer.append(name)
        writer.append(Self.timestampBlock(modified))
    }

    /// The length, in bytes, of the header that ``appendLocalHeader(to:)`` writes.
    ///
    /// It doesn't depend on the content.
    static func localHeaderLength(nameLength: Int, modified: Timestamp) -> Int {
        ZipFormat.Length.localHeader + nameLength + timestampBlock(modified).count
    }

    /// Appends the header in the central directory (APPNOTE 4.3.12).
    func appendCentralHeader(to writer: inout LittleEndianWriter) {
        writer.append(ZipFormat.Signature.centralHeader)
        writer.append(Self.unix | Self.version)
        appendCommonFields(to: &writer)
        writer.append(0 as UInt16)  // Comment length.
        writer.append(0 as UInt16)  // Disk.
        writer.append(0 as UInt16)  // Internal attributes.
        writer.append(Self.attributes)
        writer.append(localHeaderOffset)
        writer.append(name)
        writer.append(Self.timestampBlock(modified))
    }

    /// Appends the fields that both headers have in the same order.
    private func appendCommonFields(to writer: inout LittleEndianWriter) {
        let date = DOSTime(modified)
        writer.append(Self.version)
        writer.append(ZipFormat.Flag.hasUTF8Name)
        writer.append(method)
        writer.append(date.time)
        writer.append(date.date)
        writer.append(crc32)
        writer.append(compressedSize)
        writer.append(size)
        writer.append(UInt16(truncatingIfNeeded: name.count))
        writer.append(UInt16(truncatingIfNeeded: Self.timestampBlock(modified).count))
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

/// The record after the central directory.
struct ArchiveEnd {
    let entries: UInt16
    /// The central directory's size, in bytes.
    let directorySize: UInt32
    let directoryOffset: UInt32

    /// Appends the end record (APPNOTE 4.3.16).
    func append(to writer: inout LittleEndianWriter) {
        writer.append(ZipFormat.Signature.end)
        writer.append(0 as UInt16)  // This disk.
        writer.append(0 as UInt16)  // The directory's disk.
        writer.append(entries)
        writer.append(entries)
        writer.append(directorySize)
        writer.append(directoryOffset)
        writer.append(0 as UInt16)  // Comment length.
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
