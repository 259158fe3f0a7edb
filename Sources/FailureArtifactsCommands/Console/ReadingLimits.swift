internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The limits on resources that reading a bundle can use. `--no-limits` lifts all of them.
struct ReadingLimits: Sendable {
    var archive: ZipLimits
    /// The limits on SQLite's work with one store.
    var store: UntrustedLimits
    /// The maximum memory for SQLite, in bytes; nil for no limit.
    var memoryBytes: Int64?
    /// The maximum processor time for one bundle, in seconds; nil for no limit.
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

/// The time spent so far on reading a bundle. Most long operations have their own time limit and end with an error
/// that explains it. This timer covers the others: after the second deadline, the process ends.
final class ReadingTime: Sendable {
    private struct State {
        /// The deadline for operations and the later deadline for the process.
        var ends: (first: Instant, last: Instant)?
        var isWatched = false
    }

    private let state = Lock(State())

    /// True if the first deadline has passed.
    var isOver: Bool {
        state.withLock { state in state.ends.map { Instant.processorTime > $0.first } ?? false }
    }

    /// Restarts the timer for the next bundle.
    ///
    /// - `seconds`: the processor time, in seconds; nil for no limit.
    func start(seconds: Double?) {
        let now = Instant.processorTime
        state.withLock { state in
            state.ends = seconds.map { seconds in
                // A single SQLite step may exceed the limit by this much.
                (
                    now.advanced(bySeconds: seconds),
                    now.advanced(bySeconds: seconds + max(5, seconds / 5))
                )
            }
        }
    }

    /// Calls `end` if work continues after the second deadline.
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
