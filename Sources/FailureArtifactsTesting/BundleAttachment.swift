internal import FailureArtifactsSystem
internal import Testing

/// A bundle as an attachment of its test.
///
/// The file is mapped into memory rather than read.
struct BundleAttachment: Attachable {
    private let path: String
    private let size: Int

    /// Records a bundle as an attachment of the current test.
    ///
    /// Called in the test's own task.
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
