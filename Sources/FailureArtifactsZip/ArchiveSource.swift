internal import FailureArtifactsSystem

/// The bytes an archive is read from: a file, or a part of one where the archive is stored inside another.
struct ArchiveSource: Sendable {
    /// Shares the open file between an archive and those inside it.
    private final class SharedFile: Sendable {
        let file: File
        init(_ file: consuming File) { self.file = file }
    }

    private let shared: SharedFile
    /// Where the part starts in the file.
    private let start: UInt64
    /// The part's size in bytes; never above `Int64.max`, being at most a file's size.
    let size: UInt64

    /// Opens a file.
    init(path: String) throws(ZipError.Reason) {
        do throws(SystemError) {
            // A named pipe would be waited for.
            if let status = try FileSystem.status(of: path), status.kind == .other {
                throw SystemError("read", path, code: EINVAL)
            }
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

    /// A part of this one.
    ///
    /// - Parameter range: Positions in this source, in bytes.
    /// - Returns: The part, which shares the open file.
    /// - Throws: `truncated` where the range is not inside.
    func part(_ range: Range<UInt64>) throws(ZipError.Reason) -> ArchiveSource {
        guard range.upperBound <= size else { throw .truncated }
        return ArchiveSource(self, range)
    }

    /// Fills a buffer.
    ///
    /// - Parameters:
    ///   - buffer: Where the bytes go.
    ///   - offset: The position of the first byte in this source.
    /// - Throws: `truncated` where there are not enough bytes; `system` where reading fails.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(ZipError.Reason) {
        guard offset <= size, UInt64(buffer.count) <= size - offset else { throw .truncated }
        let count = try SystemError.asReason { () throws(SystemError) in
            try shared.file.read(into: buffer, at: start + offset)
        }
        guard count == buffer.count else { throw .truncated }
    }

    /// The bytes at a position.
    ///
    /// - Parameters:
    ///   - count: How many; nothing is allocated where there are fewer.
    ///   - offset: The position of the first byte in this source.
    /// - Returns: Exactly `count` bytes.
    /// - Throws: As ``read(into:at:)``.
    func bytes(_ count: Int, at offset: UInt64) throws(ZipError.Reason) -> [UInt8] {
        guard count >= 0, offset <= size, UInt64(count) <= size - offset else { throw .truncated }
        var bytes = [UInt8](repeating: 0, count: count)
        try bytes.withMutableBytes { (buffer) throws(ZipError.Reason) in
            try read(into: buffer, at: offset)
        }
        return bytes
    }
}
