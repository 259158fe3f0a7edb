package import FailureArtifactsSystem
internal import FailureArtifactsZip

/// A file or directory in an archive, as the central directory describes it.
package struct ZipEntry: Equatable, Sendable {
    /// The compression method (APPNOTE 4.4.5).
    package enum Method: Equatable, Sendable {
        case stored, deflated
        /// Any other method, by its number. Such an entry can be listed but not read.
        case other(UInt16)

        init(number: UInt16) {
            self =
                switch number {
                case ZipFormat.Method.stored: .stored
                case ZipFormat.Method.deflated: .deflated
                default: .other(number)
                }
        }

        /// The method's number.
        var number: UInt16 {
            switch self {
            case .stored: ZipFormat.Method.stored
            case .deflated: ZipFormat.Method.deflated
            case .other(let number): number
            }
        }
    }

    /// The relative path, with slashes between its components.
    ///
    /// A directory's path ends with a slash.
    package let name: String
    package let isDirectory: Bool
    package let method: Method
    /// The CRC-32 of the content.
    package let crc32: UInt32
    /// The size of the data in the archive, in bytes.
    package let compressedSize: UInt64
    /// The size of the content, in bytes.
    package let size: UInt64
    /// The modification time, with a precision of one second, or two seconds in archives of some tools.
    package let modified: Timestamp

    /// The undecoded name; nil if it is the UTF-8 form of ``name``.
    let rawName: [UInt8]?
    /// The flags in the central directory.
    let flags: UInt16
    let localHeaderOffset: UInt64
    /// The offset at which the next entry or the central directory starts.
    let limit: UInt64

    /// The undecoded name.
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
