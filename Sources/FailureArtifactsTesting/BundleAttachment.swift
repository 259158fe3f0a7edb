internal import FailureArtifactsSystem
internal import Testing

/// A bundle as an attachment of its test.
///
/// Its bytes are mapped, not read: they are never in memory as a whole.
struct BundleAttachment: Attachable {
    private let path: String
    private let size: Int

    /// Whether the run keeps attachments: `swift test --attachments-path …`, and Xcode always.
    static let isWanted: Bool = {
        #if canImport(Darwin)
        return true
        #else
        return ProcessEnvironment.arguments.contains {
            $0.hasPrefix("--attachments-path") || $0.hasPrefix("--experimental-attachments-path")
        }
        #endif
    }()

    /// Records a bundle; to be called in the test's own task.
    static func record(_ path: String, of test: Test) {
        guard let size = FileSystem.regularFile(path)?.size else { return }
        Attachment.record(
            BundleAttachment(path: path, size: Int(size)), named: Path.name(of: path),
            sourceLocation: test.sourceLocation)
    }

    var estimatedAttachmentByteCount: Int? { size }

    func withUnsafeBytes<Result>(
        for attachment: borrowing Attachment<BundleAttachment>,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        try File(reading: path).withMappedBytes(body)
    }
}
