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

/// Limits for the content of an archive.
///
/// Deflate expands data up to about 1,030 times, so that a small download can fill a disk
/// (<https://www.bamsoftware.com/hacks/zipbomb/>). Entries that share their data are always refused.
package struct ZipLimits: Equatable, Sendable {
    package var entryBytes: UInt64
    package var totalBytes: UInt64
    /// The maximum ratio of an entry's content to its compressed data.
    package var ratio: UInt64
    /// The size, in bytes, up to which content may have any ratio; a database of empty pages is legitimate.
    package var anyRatioBytes: UInt64

    package init(entryBytes: UInt64, totalBytes: UInt64, ratio: UInt64, anyRatioBytes: UInt64) {
        self.entryBytes = entryBytes
        self.totalBytes = totalBytes
        self.ratio = ratio
        self.anyRatioBytes = anyRatioBytes
    }

    /// The default limits, four times the default limit for a captured store.
    package static let standard = ZipLimits(
        entryBytes: 4 << 30, totalBytes: 16 << 30, ratio: 200, anyRatioBytes: 256 << 20)
    package static let none = ZipLimits(
        entryBytes: .max, totalBytes: .max, ratio: .max, anyRatioBytes: .max)

    /// Returns the reason to refuse an entry, as a clause; nil if it is within the limits.
    func problem(size: UInt64, compressedSize: UInt64) -> String? {
        if size > entryBytes {
            return "it has \(size) bytes, and the limit is \(entryBytes)"
        }
        if size > anyRatioBytes, size / ratio > compressedSize {
            return
                "its \(compressedSize) compressed bytes expand to \(size), more than \(ratio) times as many"
        }
        return nil
    }

    /// Returns the reason to refuse all entries, as a clause; nil if they are within the limits.
    func problem(ofAll entries: [ZipEntry]) -> String? {
        var total: UInt64 = 0
        for entry in entries {
            let (sum, overflow) = total.addingReportingOverflow(entry.size)
            guard !overflow, sum <= totalBytes else {
                return "its entries have more than \(totalBytes) bytes, the limit"
            }
            total = sum
        }
        return nil
    }
}

/// The bytes of an archive: a file, or the part of a file that holds a nested archive.
struct ArchiveSource: Sendable {
    /// An open file that an archive shares with the archives inside it.
    private final class SharedFile: Sendable {
        let file: File
        init(_ file: consuming File) { self.file = file }
    }

    private let shared: SharedFile
    /// The offset of the part in the file.
    private let start: UInt64
    /// The part's size, in bytes; it is at most the file's size, and so never above `Int64.max`.
    let size: UInt64

    init(path: String) throws(ZipError.Reason) {
        let isPipe: Bool
        do throws(SystemError) {
            // Opening a named pipe would block.
            isPipe = try FileSystem.status(of: path)?.kind == .other
        } catch {
            throw .system(error)
        }
        guard !isPipe else { throw .notAFile }
        do throws(SystemError) {
            let file = try File(reading: path)
            size = try file.size()
            shared = SharedFile(file)
        } catch {
            throw .system(error)
        }
        start = 0
    }

    private init(_ whole: ArchiveSource, _ range: Range<UInt64>) {
        shared = whole.shared
        start = whole.start + range.lowerBound
        size = range.upperBound - range.lowerBound
    }

    /// Returns a part of this source.
    func part(_ range: Range<UInt64>) throws(ZipError.Reason) -> ArchiveSource {
        guard range.upperBound <= size else { throw .truncated }
        return ArchiveSource(self, range)
    }

    /// Fills a buffer; throws `truncated` if the source ends before; `system` if reading fails.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(ZipError.Reason) {
        guard offset <= size, UInt64(buffer.count) <= size - offset else { throw .truncated }
        let count = try SystemError.asReason { () throws(SystemError) in
            try shared.file.read(into: buffer, at: start + offset)
        }
        guard count == buffer.count else { throw .truncated }
    }

    /// Returns the bytes at a position.
    ///
    /// - `count`: the number of bytes. If the source has fewer, nothing is allocated.
    func bytes(_ count: Int, at offset: UInt64) throws(ZipError.Reason) -> [UInt8] {
        guard count >= 0, offset <= size, UInt64(count) <= size - offset else { throw .truncated }
        var bytes = [UInt8](repeating: 0, count: count)
        try bytes.withMutableBytes { (buffer) throws(ZipError.Reason) in
            try read(into: buffer, at: offset)
        }
        return bytes
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
