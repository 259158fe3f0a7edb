internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// A file or directory in an archive, as the central directory describes it.
package struct ZipEntry: Equatable, Sendable {
    /// The relative path, with slashes between its components; a directory's path ends with a slash.
    package let name: String
    package let isDirectory: Bool
    /// The compression method (APPNOTE 4.4.5); an entry that is neither stored nor deflated can be listed, not read.
    package let method: UInt16
    package let crc32: UInt32
    package let compressedSize: UInt64
    package let size: UInt64

    /// The undecoded name; nil if it is the UTF-8 form of ``name``.
    let rawName: [UInt8]?
    let flags: UInt16
    let localHeaderOffset: UInt64
    /// The offset at which the next entry or the central directory starts.
    let limit: UInt64

    var nameBytes: [UInt8] { rawName ?? Array(name.utf8) }

    init(_ header: CentralDirectoryHeader, name: String, limit: UInt64) {
        self.name = name
        isDirectory = name.utf8.last == UInt8(ascii: "/")
        method = header.method
        crc32 = header.crc32
        compressedSize = header.compressedSize
        size = header.size
        rawName = header.name.elementsEqual(name.utf8) ? nil : header.name
        flags = header.flags
        localHeaderOffset = header.localHeaderOffset
        self.limit = limit
    }
}

extension SystemError {
    /// Runs `body` and converts an error that it throws to a reason.
    static func asReason<Result>(
        _ body: () throws(SystemError) -> Result
    ) throws(ZipError.Reason) -> Result {
        do {
            return try body()
        } catch {
            throw .system(error)
        }
    }
}
