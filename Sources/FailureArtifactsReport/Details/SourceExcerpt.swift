internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The lines of source code around an assertion, or around a statement.
struct SourceExcerpt: Equatable, Sendable {
    /// The number of lines shown before and after the line in question.
    private static let margin = 2
    /// The maximum size of a source file, in bytes, and of a line, in characters.
    private static let limits = (file: UInt64(4 << 20), line: 200)

    let first: Int
    let lines: [String]
    let line: Int

    /// Reads the lines around a line of a file, which is absolute or relative to the working directory.
    ///
    /// A bundle can name any file. Only Swift files below the working directory are read, and only if they are older
    /// than the failure, because the lines of a file that has changed since may be others.
    init?(file: String?, line: Int?, before failure: BundleMetadata.Failure, below directory: String) {
        guard let file, let line, line > 0, file.hasSuffix(".swift"),
            let root = FileSystem.realPath(of: directory),
            let path = FileSystem.realPath(of: Path.absolute(file)), path.hasPrefix(root + "/"),
            path.hasSuffix(".swift"), let status = FileSystem.regularFile(path),
            status.size <= Self.limits.file,
            let failed = MetadataTime.milliseconds(of: failure.at),
            status.modified / 1_000_000 < failed,
            let bytes = try? FileSystem.contents(ofFile: path, limit: Int(Self.limits.file))
        else { return nil }
        let all = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard line <= all.count else { return nil }
        first = max(1, line - Self.margin)
        let last = min(all.count, line + Self.margin)
        lines = all[(first - 1)..<last].map { String($0.prefix(Self.limits.line)) }
        self.line = line
    }
}
