package import FailureArtifactsSystem

/// One file or directory in an archive, as the archive's central directory describes it.
package struct ZipEntry: Equatable, Sendable {
    /// How an entry's content is kept (APPNOTE 4.4.5).
    package enum Method: Equatable, Sendable {
        case stored, deflated
        /// Any other method, by its number; such an entry can be listed, not read.
        case other(UInt16)
    }

    /// Relative, with slashes between its parts, and at the end of a directory's name.
    package let name: String
    package let isDirectory: Bool
    package let method: Method
    /// The CRC-32 of the content.
    package let crc32: UInt32
    /// In bytes, as kept in the archive.
    package let compressedSize: UInt64
    /// The content's length in bytes.
    package let size: UInt64
    /// When the content was last changed, to the second or, in archives of some tools, to two seconds.
    package let modified: Timestamp

    /// The name's bytes in the headers where they are not the UTF-8 of ``name``.
    let rawName: [UInt8]?
    /// The flags in the central directory.
    let flags: UInt16
    let localHeaderOffset: UInt64
    /// Where the next entry or the central directory starts.
    let limit: UInt64

    /// The name's bytes in the headers.
    var nameBytes: [UInt8] { rawName ?? Array(name.utf8) }

    init(_ header: CentralDirectoryHeader, name: String, limit: UInt64) {
        self.name = name
        isDirectory = name.utf8.last == UInt8(ascii: "/")
        method = Method(number: header.method)
        crc32 = header.crc32
        compressedSize = header.compressedSize
        size = header.size
        modified = Timestamp(seconds: header.modifiedSeconds)
        rawName = header.name.elementsEqual(name.utf8) ? nil : header.name
        flags = header.flags
        localHeaderOffset = header.localHeaderOffset
        self.limit = limit
    }
}
