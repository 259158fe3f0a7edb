package import FailureArtifactsBundle
package import FailureArtifactsSystem

/// A failure, as reported by any test framework.
package struct FailureEvent: Sendable {
    /// The failure's form in the metadata; a long message lacks its middle, as ``cut(_:)`` describes.
    let metadata: BundleMetadata.Failure
    let date: Timestamp

    /// True if an error has left the code that threw it.
    ///
    /// The changes made by that code may already be undone.
    var isThrownError: Bool {
        // XCTest's message for an error inside an assertion's expression, such as XCTUnwrap's.
        metadata.kind == .error || metadata.message.contains("threw error")
    }

    package init(
        message: String, file: String?, line: Int?, kind: BundleMetadata.Failure.Kind,
        date: Timestamp = .now
    ) {
        metadata = BundleMetadata.Failure(
            message: Self.cut(message), file: file, line: line, kind: kind, at: date)
        self.date = date
    }
}

extension FailureEvent {
    /// The maximum size of a message, in bytes of UTF-8.
    static let maximumMessageBytes = 64 << 10
    /// The maximum size of all failures of a test, in bytes.
    ///
    /// In JSON a control character takes up six times its size, and readers accept 16 MiB of metadata.
    static let maximumTotalBytes = 2 << 20
    /// The size that a failure has besides its message, in bytes, as an estimate.
    static let otherBytes = 512

    /// Returns the start and the end of a message that exceeds the limit, and a line between them with the number of
    /// bytes that are left out.
    static func cut(_ message: String) -> String {
        guard message.utf8.count > maximumMessageBytes else { return message }
        // The line between the halves takes up less than 100 bytes.
        let half = (maximumMessageBytes - 100) / 2
        // A code point at a cut becomes U+FFFD.
        let (start, end) = (message.utf8.prefix(half), message.utf8.suffix(half))
        return String(decoding: start, as: UTF8.self)
            + "\n[\(message.utf8.count - 2 * half) bytes are left out here]\n"
            + String(decoding: end, as: UTF8.self)
    }
}
