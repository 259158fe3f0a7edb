package import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// A test that had started before its adapter could report it, until its name is known.
struct UnreportedTest: Sendable {
    let id: TestID
    /// When it was noticed, in the order of what happened to connections.
    let start: ConnectionRegistry.PointInTime
    /// The same by the calendar.
    let date: Timestamp
    let isWatched: Bool
}

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
        /// Whether what fails now comes too late: a task of the test's that goes on after its end.
        var hasEnded = false
        /// Whether there was no room for its bundle when it failed.
        var wasRefused = false
        /// Names given to stores by their absolute path, in the order of registration.
        var registered: [(path: String, name: String?)] = []
        var attachments: [(name: String, source: AttachmentSource)] = []
        var labels = UniqueNames()
        /// What is to live until nothing more will be captured of the test.
        var retained: [any Sendable & AnyObject] = []
        /// Why there was no capture when there should have been one, as full sentences.
        var lostCaptures: [String] = []
    }

    /// How far the test's capture is.
    enum CaptureStage {
        /// There was no reason for one.
        case none
        case open(Capture)
        /// It is packed or dropped; what comes now comes too late.
        case ended
    }

    /// Counts the tests of the process.
    let id: TestID
    /// What the journal tells of it: its number, its identity and its start.
    let inJournal: InFlightJournal.Test
    /// Whether no other test runs at the same time.
    let isAlone: Bool
    /// When the test started, in the order of what happened to connections.
    let start: ConnectionRegistry.PointInTime
    /// Whether what its stores lose is kept until it has ended.
    let isWatched: Bool
    /// Of most tests there is nothing to be known but that they ran, so that it is made when something happens.
    @exclusivity(unchecked) private nonisolated(unsafe) var record: Record?
    /// Whether it has ended before there was one.
    @exclusivity(unchecked) private nonisolated(unsafe) var hasEndedWithoutRecord = false
    /// Guards these two of all tests: none has a lock of its own before it has a record.
    private static let records = Lock(())

    /// The process that it runs in.
    private let process = getpid()

    /// Whether it runs in this process, and not in the one that this is a child of: what a child does that was made
    /// by `fork` is not the test's, and the child has its parent's connections and locks.
    var isOfThisProcess: Bool { process == getpid() }

    var state: Lock<State> { madeRecord.state }
    /// Held by the thread that makes a copy for the test.
    var capture: Lock<CaptureStage> { madeRecord.capture }

    package var identity: BundleMetadata.Test { inJournal.identity }
    /// When it started, by the calendar.
    var date: Timestamp { inJournal.start }

    /// The label of what its stores held when it began to use them.
    static let startLabel = "start"

    /// Whether a statement was run after the test had started.
    func hasRun(_ statement: LoggedStatement) -> Bool { statement.order > start.statement }

    /// Whether it has failed, and not again since.
    package var hasFailedOnce: Bool { state.withLock { $0.failures.count == 1 } }

    /// `Suite.test`.
    var name: String { "\(identity.suite).\(identity.name)" }

    init(
        _ inJournal: InFlightJournal.Test, isAlone: Bool, start: ConnectionRegistry.PointInTime,
        isWatched: Bool
    ) {
        id = inJournal.id
        self.inJournal = inJournal
        self.isAlone = isAlone
        self.start = start
        self.isWatched = isWatched
    }

    private final class Record: Sendable {
        let state: Lock<State>
        let capture: Lock<CaptureStage>

        init(hasEnded: Bool) {
            var state = State()
            state.hasEnded = hasEnded
            self.state = Lock(state)
            capture = Lock(hasEnded ? .ended : .none)
        }
    }

    private var madeRecord: Record {
        _ = Self.records.enter()
        defer { Self.records.leave() }
        if let record { return record }
        let record = Record(hasEnded: hasEndedWithoutRecord)
        self.record = record
        return record
    }

    /// Ends a test in which nothing has happened: it has not failed, and there is no capture of it.
    ///
    /// - Returns: Whether it was such a test, and has not ended before.
    func endsUneventfully() -> Bool {
        _ = Self.records.enter()
        defer { Self.records.leave() }
        if record != nil || hasEndedWithoutRecord { return false }
        hasEndedWithoutRecord = true
        return true
    }

    /// Keeps an object until the test has ended and was captured, if it failed.
    package func retain(_ object: any Sendable & AnyObject) {
        state.withLock { $0.retained.append(object) }
    }

    /// Lets go of what was kept: nothing more will be captured, although the bundle is yet to be packed.
    func endRetention() {
        let objects = state.withLock { state in
            defer { state.retained = [] }
            return state.retained
        }
        _ = consume objects
    }

    /// Stands for every test that no adapter reports.
    static let unobserved = TestID.max

    /// The test in whose task the caller runs, of a framework that runs several at once; nil elsewhere.
    @TaskLocal package static var ofTask: RunningTest?
}
