package import FailureArtifactsBundle
package import FailureArtifactsSystem

/// A failure, as any test framework can tell of it.
package struct FailureEvent: Sendable {
    package let message: String
    /// The source file; nil where the framework does not know.
    package let file: String?
    /// Counts from 1; nil where the framework does not know.
    package let line: Int?
    package let kind: BundleMetadata.Failure.Kind
    package let date: Timestamp

    /// Whether an error has left the code that threw it, so that what that code did may be undone already.
    var isThrownError: Bool {
        // XCTest's words for an error inside an assertion's expression, such as XCTUnwrap's.
        kind == .error || message.contains("threw error")
    }

    package init(
        message: String, file: String?, line: Int?, kind: BundleMetadata.Failure.Kind,
        date: Timestamp = .now
    ) {
        self.message = message
        self.file = file
        self.line = line
        self.kind = kind
        self.date = date
    }

    /// Its form in the metadata.
    var metadata: BundleMetadata.Failure {
        BundleMetadata.Failure(message: message, file: file, line: line, kind: kind, at: date)
    }
}
