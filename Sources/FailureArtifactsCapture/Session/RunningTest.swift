package import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A test between its start and its end, with what is known of it so far.
///
/// May be used from any thread.
package final class RunningTest: Sendable {
    /// What a test asked to have in its bundle.
    enum AttachmentSource: Sendable {
        case bytes([UInt8])
        /// Read when the test fails, or at once if it has.
        case file(String)
    }

    /// What changes while the test runs.
    struct State {
        var failures: [FailureEvent] = []
        /// Names given to stores by their absolute path, in the order of registration.
        var registered: [(path: String, name: String?)] = []
        var attachments: [(name: String, source: AttachmentSource)] = []
        /// Set with the first failure, whose thread makes the capture.
        var isCapturing = false
        var capture: Capture?
    }

    package let identity: BundleMetadata.Test
    /// When the test started, in the order of what happened to connections.
    let start: ConnectionRegistry.Moment
    let state = Lock(State())

    /// `Suite.test`.
    var name: String { "\(identity.suite).\(identity.name)" }

    init(identity: BundleMetadata.Test, start: ConnectionRegistry.Moment) {
        self.identity = identity
        self.start = start
    }
}
