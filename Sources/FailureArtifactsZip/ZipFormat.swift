/// The numbers of the ZIP format (APPNOTE 6.3.10) that the writer and the reader share.
package enum ZipFormat {
    /// The first four bytes of each record.
    package enum Signature {
        package static let localHeader: UInt32 = 0x0403_4b50
        package static let centralHeader: UInt32 = 0x0201_4b50
        package static let end: UInt32 = 0x0605_4b50
        package static let zip64End: UInt32 = 0x0606_4b50
        package static let zip64Locator: UInt32 = 0x0706_4b50
    }

    /// The lengths of the records in bytes, without names, extra fields, comments and extensible data.
    package enum Length {
        package static let localHeader = 30
        package static let centralHeader = 46
        package static let end = 22
        package static let zip64End = 56
        package static let zip64Locator = 20
        /// The number of bytes at the start of a ZIP64 end record that its length field doesn't count.
        package static let uncountedOfZip64End = 12
    }

    /// The compression methods (APPNOTE 4.4.5).
    package enum Method {
        package static let stored: UInt16 = 0
        package static let deflated: UInt16 = 8
    }

    /// The general purpose flags (APPNOTE 4.4.4).
    package enum Flag {
        /// Bit 0: the content is encrypted.
        package static let isEncrypted: UInt16 = 1 << 0
        /// Bit 3: sizes and CRC-32 follow the content, and the local header does not have them.
        package static let hasDataDescriptor: UInt16 = 1 << 3
        /// Bit 11: the name is UTF-8.
        package static let hasUTF8Name: UInt16 = 1 << 11
        /// Bit 13: values in the local header are masked because the directory is encrypted.
        package static let isMasked: UInt16 = 1 << 13
    }

    /// The identifiers of blocks in an extra field (APPNOTE 4.5.2).
    package enum ExtraField {
        /// ZIP64 extended information (APPNOTE 4.5.3).
        package static let zip64: UInt16 = 0x0001
        /// Extended timestamp (Info-ZIP's `extrafld.txt`).
        package static let timestamp: UInt16 = 0x5455
        /// Info-ZIP Unicode path (APPNOTE 4.6.9).
        package static let unicodePath: UInt16 = 0x7075
    }

    /// The value of a 16-bit field whose actual value is in a ZIP64 record (APPNOTE 4.4.1.4).
    package static let sentinel16 = UInt16.max
    /// The value of a 32-bit field whose actual value is in a ZIP64 record.
    package static let sentinel32 = UInt32.max
}
