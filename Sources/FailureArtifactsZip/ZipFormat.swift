package import FailureArtifactsSystem

/// The numbers of the ZIP format (APPNOTE 6.3.10) that the writer and the reader share.
package enum ZipFormat {
    /// The first four bytes of each record.
    package enum Signature {
        package static let localHeader: UInt32 = 0x0403_4b50
        package static let centralHeader: UInt32 = 0x0201_4b50
        package static let end: UInt32 = 0x0605_4b50
    }

    /// The lengths of the records in bytes, without names, extra fields, comments and extensible data.
    package enum Length {
        package static let localHeader = 30
        package static let centralHeader = 46
        package static let end = 22
    }

    /// The compression methods (APPNOTE 4.4.5).
    package enum Method {
        package static let stored: UInt16 = 0
        package static let deflated: UInt16 = 8
    }

    /// The general purpose flags (APPNOTE 4.4.4).
    package enum Flag {
        /// Bit 11: the name is UTF-8.
        package static let hasUTF8Name: UInt16 = 1 << 11
    }

    /// The identifiers of blocks in an extra field (APPNOTE 4.5.2).
    package enum ExtraField {
        /// Extended timestamp (Info-ZIP's `extrafld.txt`).
        package static let timestamp: UInt16 = 0x5455
    }

    /// The value of a 16-bit field whose actual value is in a ZIP64 record (APPNOTE 4.4.1.4).
    package static let sentinel16 = UInt16.max
    /// The value of a 32-bit field whose actual value is in a ZIP64 record.
    package static let sentinel32 = UInt32.max
}

/// The date and time of an entry in MS-DOS form (APPNOTE 4.4.6): 1980 to 2107, in steps of two seconds.
///
/// The format doesn't define the time zone. The product writes and reads UTC.
package struct DOSTime {
    /// Bits 0–4: seconds divided by two; bits 5–10: minutes; bits 11–15: hours.
    package let time: UInt16
    /// Bits 0–4: day from 1; bits 5–8: month from 1; bits 9–15: years since 1980.
    package let date: UInt16

    /// Rounds a point in time down to a representable one.
    ///
    /// Times before 1980 become the first one.
    package init(_ timestamp: Timestamp) {
        // 1980-01-01T00:00:00Z and 2107-12-31T23:59:58Z.
        let seconds = min(max(timestamp.seconds, 315_532_800), 4_354_819_198)
        let parts = Timestamp(seconds: seconds).calendar
        time = UInt16(parts.hour << 11 | parts.minute << 5 | parts.second / 2)
        date = UInt16((parts.year - 1980) << 9 | parts.month << 5 | parts.day)
    }
}

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
