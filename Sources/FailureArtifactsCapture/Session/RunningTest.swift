internal import CFailureArtifactsCapture
package import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// A test between its start and its end, with the data known so far.
///
/// It can be used from any thread.
package final class RunningTest: Sendable {
    /// The source of an attachment's content.
    enum AttachmentSource: Sendable {
        case bytes([UInt8])
        /// A path.
        ///
        /// The file is read at the test's next capture: at a failure, at a snapshot, or after the test's end.
        case file(String)
        /// The path of a file that belongs to a store and is not part of its database.
        case externalFile(String)

        /// The path of the file; nil for bytes.
        var path: String? {
            switch self {
            case .bytes: nil
            case .file(let path), .externalFile(let path): path
            }
        }
    }

    /// The state that changes while the test runs.
    struct State {
        private(set) var failures: [FailureEvent] = []
        /// The number of failures that were left out, because the recorded ones have reached the limit.
        private(set) var failuresLeftOut = 0
        /// The size of the recorded failures, in bytes.
        private var failureBytes = 0
        /// True if the test has ended.
        ///
        /// Later failures are ignored, such as those of a task that outlives the test.
        var hasEnded = false
        /// True if the framework has reported that the test passed.
        var hasPassed = false
        /// True if there was no room for the bundle when the test failed.
        var wasRefused = false
        /// The registered stores' absolute paths and names, in the order of registration.
        var registered: [(path: String, name: String?)] = []
        var attachments: [(name: String, source: AttachmentSource)] = []
        var labels = UniqueNames()
        /// The objects to keep alive until the test's capture has ended.
        var retained: [any Sendable & AnyObject] = []
        /// The reasons for missing captures, as full sentences.
        var lostCaptures: [String] = []

        /// Records a failure, unless the recorded ones have reached ``FailureEvent/maximumTotalBytes``.
        ///
        /// The first failure and the end of the process are always recorded.
        mutating func add(_ failure: FailureEvent) {
            let bytes = failure.metadata.message.utf8.count + FailureEvent.otherBytes
            guard
                failures.isEmpty || failure.metadata.kind == .termination
                    || failureBytes + bytes <= FailureEvent.maximumTotalBytes
            else {
                failuresLeftOut += 1
                return
            }
            failureBytes += bytes
            failures.append(failure)
        }
    }

    /// The progress of a test's capture.
    enum CaptureStage {
        /// There was no reason for a capture.
        case none
        /// The capture is staged. It is indirect because few tests have one.
        indirect case open(Capture)
        /// The capture is packed or dropped.
        ///
        /// Later data is ignored.
        case ended
    }

    /// The test's number among the tests of the process.
    let id: TestID
    /// The test in the in-flight list: its number, its identity and its start.
    let listed: InFlightList.Test
    /// True if no other test runs at the same time.
    let isAlone: Bool
    /// The point at which the test started, in the order of connection events.
    let start: ConnectionRegistry.PointInTime
    /// True if content lost by the test's stores is kept until the test has ended.
    let isWatched: Bool
    /// The thread that started the test; see failure_artifacts_current_thread().
    let thread = failure_artifacts_current_thread()

    let state = Lock(State())
    /// Held by the thread that makes a copy for the test.
    let capture = Lock(CaptureStage.none)

    /// The process in which the test was created.
    private let process = getpid()

    /// True if the test belongs to this process, not to the parent of a child created by `fork`.
    ///
    /// The child has its parent's connections and locks, but its actions are not the test's.
    var isOfThisProcess: Bool { process == getpid() }

    package var identity: BundleMetadata.Test { listed.identity }
    var date: Timestamp { listed.start }

    package var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// The test's name in the form `Suite.test`.
    var name: String { "\(identity.suite).\(identity.name)" }

    init(
        _ listed: InFlightList.Test, isAlone: Bool, start: ConnectionRegistry.PointInTime,
        isWatched: Bool
    ) {
        id = listed.id
        self.listed = listed
        self.isAlone = isAlone
        self.start = start
        self.isWatched = isWatched
    }

    /// Keeps an object alive until the test has ended and was captured, if it failed.
    package func retain(_ object: any Sendable & AnyObject) {
        state.withLock { $0.retained.append(object) }
    }

    /// Releases the retained objects.
    ///
    /// Nothing more will be captured, but the bundle is not packed yet.
    func endRetention() {
        let objects = state.withLock { state in
            defer { state.retained = [] }
            return state.retained
        }
        _ = consume objects
    }

    /// The test in whose task the caller runs, if its framework runs several tests at once; nil elsewhere.
    @TaskLocal package static var ofTask: RunningTest?
}
