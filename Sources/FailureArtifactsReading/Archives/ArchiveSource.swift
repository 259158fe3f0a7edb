internal import FailureArtifactsSystem
internal import FailureArtifactsZip

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
