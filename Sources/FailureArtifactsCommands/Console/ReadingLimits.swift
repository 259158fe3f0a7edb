internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// How much a bundle can ask of the machine that reads it; `--no-limits` lifts all of it.
struct ReadingLimits: Sendable {
    /// What is unpacked.
    var archive: ZipLimits
    /// What SQLite is asked to do with one store.
    var store: UntrustedLimits
    /// Bytes of memory that SQLite has.
    var memoryBytes: Int64?
    /// Seconds of the processors for one bundle; nil for no limit.
    var seconds: Double?

    private init(
        archive: ZipLimits = .standard, store: UntrustedLimits = .standard,
        memoryBytes: Int64? = 1 << 30, seconds: Double? = 300
    ) {
        self.archive = archive
        self.store = store
        self.memoryBytes = memoryBytes
        self.seconds = seconds
    }

    static let standard = ReadingLimits()
    static let none = ReadingLimits(archive: .none, store: .none, memoryBytes: nil, seconds: nil)
}

/// The time that the reading of a bundle has taken so far.
///
/// Most of what takes long has a time limit of its own, and ends with an error that says so. This is for what has
/// not: when the time is up for good, the process ends.
final class ReadingTime: Sendable {
    private struct State {
        /// When the time is up, and when it is up for good.
        var ends: (first: Instant, last: Instant)?
        var isWatched = false
    }

    private let state = Lock(State())

    /// Whether the time is up.
    var isOver: Bool {
        state.withLock { state in state.ends.map { Instant.processorTime > $0.first } ?? false }
    }

    /// Starts anew, for the next bundle.
    ///
    /// - Parameter seconds: Of the processors; nil for no limit.
    func start(seconds: Double?) {
        let now = Instant.processorTime
        state.withLock { state in
            state.ends = seconds.map { seconds in
                // A single step of SQLite may take that much longer.
                (
                    now.advanced(bySeconds: seconds),
                    now.advanced(bySeconds: seconds + max(5, seconds / 5))
                )
            }
        }
    }

    /// Has the process ended where the time was up a while ago, and the work goes on.
    ///
    /// - Parameter end: Ends the process.
    func watch(end: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            defer { state.isWatched = true }
            return !state.isWatched
        }
        guard isFirst else { return }
        _ = Threads.detach { [self] in
            while true {
                sleep(microseconds: 500_000)
                if let ends = state.withLock(\.ends), Instant.processorTime > ends.last { end() }
            }
        }
    }
}
