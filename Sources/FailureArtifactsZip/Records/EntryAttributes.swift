internal import FailureArtifactsSystem

/// The flags and version numbers in headers.
enum EntryAttributes {
    /// "Version made by", upper byte: file attributes are unix modes (APPNOTE 4.4.2.2).
    static let unix: UInt16 = 3
    /// "Version needed to extract" 2.0: deflate (APPNOTE 4.4.3.2).
    static let versionNeeded: UInt16 = 20

    /// Flag bit 0: the content is encrypted (APPNOTE 4.4.4).
    static let isEncrypted: UInt16 = 1 << 0
    /// Flag bit 3: sizes and CRC-32 follow the content, and the local header does not have them.
    static let hasDataDescriptor: UInt16 = 1 << 3
    /// Flag bit 11: the name is UTF-8.
    static let hasUTF8Name: UInt16 = 1 << 11
    /// Flag bit 13: values in the local header are masked because the directory is encrypted.
    static let isMasked: UInt16 = 1 << 13

    /// External attributes (APPNOTE 4.4.15) of a file that only its owner reads and writes.
    static let ownersFile: UInt32 = 0o100_600 << 16

    /// Returns true if external attributes mark a symbolic link.
    ///
    /// The upper four bits hold the file type; systems other than Unix leave them zero. Other types are
    /// acceptable: Info-ZIP records that standard input was a pipe.
    static func isLink(_ attributes: UInt32) -> Bool {
        attributes >> 28 == 0o12
    }
}

extension ZipEntry.Method {
    /// The method's number (APPNOTE 4.4.5).
    var number: UInt16 {
        switch self {
        case .stored: 0
        case .deflated: 8
        case .other(let number): number
        }
    }

    init(number: UInt16) {
        self =
            switch number {
            case 0: .stored
            case 8: .deflated
            default: .other(number)
            }
    }
}
