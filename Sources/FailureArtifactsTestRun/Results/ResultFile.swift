internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Files that tell of results, line by line.
enum ResultFile {
    /// Has `body` see each line, without its end; the file need not fit into memory.
    ///
    /// - Throws: That there is no such file, or that it cannot be read.
    static func forEachLine(of path: String, _ body: (Slice<UnsafeRawBufferPointer>) -> Void) throws {
        // Of a pipe nobody knows when somebody writes to it.
        guard FileSystem.regularFile(path) != nil else {
            throw CommandError(.noInput, "There is no file '\(path)'.")
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
