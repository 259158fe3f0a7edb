package import FailureArtifactsBundle
package import FailureArtifactsSystem

/// A failure, as reported by any test framework.
package struct FailureEvent: Sendable {
    package let message: String
    /// The source file; nil if the framework does not know it.
    package let file: String?
    /// The line, counted from 1; nil if the framework does not know it.
    package let line: Int?
    package let kind: BundleMetadata.Failure.Kind
    package let date: Timestamp

    /// True if an error has left the code that threw it.
    ///
    /// The changes made by that code may already be undone.
    var isThrownError: Bool {
        // XCTest's message for an error inside an assertion's expression, such as XCTUnwrap's.
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

    /// The failure's form in the metadata.
    var metadata: BundleMetadata.Failure {
        BundleMetadata.Failure(message: message, file: file, line: line, kind: kind, at: date)
    }
}
