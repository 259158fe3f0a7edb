internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Files with test results, one per line.
enum ResultFile {
    /// Calls `body` with each line, without its line end; the file need not fit into memory.
    static func forEachLine(of path: String, _ body: (Slice<UnsafeRawBufferPointer>) -> Void) throws {
        // Reading a pipe could block for ever.
        guard let status = try FileSystem.status(of: path) else {
            throw CommandError(.noInput, "There is no file '\(path)'. Give a file with test results.")
        }
        guard status.kind == .regular else {
            throw CommandError(
                .noInput,
                "'\(path)' is \(status.kind.noun), not a file. Give a file with test results.")
        }
        let file = try File(reading: path)
        try file.withMappedBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var start = 0
            while start < bytes.count {
                let found = memchr(base + start, CInt(UInt8(ascii: "\n")), bytes.count - start)
                let end = found.map { UnsafeRawPointer($0) - base } ?? bytes.count
                body(bytes[start..<end])
                start = end + 1
            }
        }
    }
}
