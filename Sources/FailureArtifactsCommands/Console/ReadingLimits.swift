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

    /// The limits that a command's options set.
    ///
    /// - Throws: A usage error for a time that is none.
    init(_ arguments: ParsedArguments, _ syntax: Syntax) throws(CommandError) {
        self = arguments.has("--no-limits") ? .none : .standard
        guard let text = arguments.value(of: "--time-limit") else { return }
        guard let seconds = Int32(text), seconds > 0 else {
            throw syntax.usageError("'\(text)' is no number of seconds.")
        }
        store.seconds = Double(seconds)
        // A bundle can have several stores.
        self.seconds = Double(seconds) * 5
    }

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

    /// What an error says of them.
    static let hint = "If you know where it comes from, '--no-limits' lifts the limits."
}

/// The time that the reading of a bundle has taken so far.
///
/// Most of what takes long has a time limit of its own, and ends with an error that says so. This is for what has
/// not: when the time is up for good, the process ends.
final class ReadingTime: Sendable {
    private struct State {
        var end: Instant?
        var isWatched = false
    }

    private let state = Lock(State())

    /// Whether the time is up.
    var isOver: Bool {
        state.withLock { state in state.end.map { Instant.processorTime > $0 } ?? false }
    }

    /// Starts anew, for the next bundle.
    func start(seconds: Double?) {
        let end = seconds.map { Instant.processorTime.advanced(bySeconds: $0) }
        state.withLock { state in state.end = end }
    }

    /// Has the process ended where the time was up a while ago, and the work goes on.
    ///
    /// - Parameters:
    ///   - grace: Seconds of the processors beyond the limit.
    ///   - end: Ends the process.
    func watch(grace: Double = 60, end: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            defer { state.isWatched = true }
            return !state.isWatched
        }
        guard isFirst else { return }
        let time = self
        _ = Threads.detach {
            while true {
                sleep(microseconds: 500_000)
                guard let limit = time.state.withLock(\.end) else { continue }
                if Instant.processorTime > limit.advanced(bySeconds: grace) { end() }
            }
        }
    }
}

extension Syntax.Option {
    static let noLimits = Syntax.Option(
        "--no-limits",
        help:
            "For bundles that you trust: lift the limits on unpacked sizes, on SQLite's memory and values, and "
            + "on time.")

    static let timeLimit = Syntax.Option(
        "--time-limit", value: "SECONDS",
        help:
            "How long SQLite may be at work on a store, in seconds of the processor: 60 by default.")
}
