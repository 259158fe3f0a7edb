internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// What `run` does for tests that leave no bundle themselves.
final class RunSalvage: Sendable {
    private let salvage: Salvage
    private let directory: ArtifactsDirectory
    private let timeLimit: Double?
    private let leftOutBefore = Lock<UInt64>(0)
    /// Copies for tests that hang, made while they did.
    private let held = Lock<[Salvage.Held]>([])

    /// - Parameters:
    ///   - directory: Where bundles go, absolute.
    ///   - readers: Who may read them.
    ///   - limits: What it may hold.
    ///   - redactions: What must not get into bundles.
    ///   - isSharing: Whether stores are left out that earlier bundles hold.
    ///   - timeLimit: Of the command, in seconds; nil for none.
    init(
        directory: String, readers: BundleReaders, limits: DirectoryLimits, redactions: RedactionRules,
        isSharing: Bool = false, timeLimit: Double?
    ) {
        self.directory = ArtifactsDirectory(path: directory, readers: readers)
        self.timeLimit = timeLimit
        salvage = Salvage(
            of: self.directory, limits: limits, redactions: redactions, sharing: isSharing)
    }

    /// How many failures of this run have left no bundle, for want of room.
    var failuresLeftOut: Int {
        let (now, before) = (directory.failuresLeftOut, leftOutBefore.withLock(\.self))
        return now > before ? Int(clamping: now - before) : 0
    }

    /// Makes the bundles of earlier runs, so that theirs are not taken for this one's.
    func beforehand() -> Salvage.Result {
        // Whatever was put there or taken away since the last run counts.
        directory.recount()
        let result = directory.hasHiddenFiles ? salvage.sweep() : Salvage.Result()
        leftOutBefore.withLock { $0 = directory.failuresLeftOut }
        return result
    }

    /// Copies the stores of the tests that hang; to be called while everything still runs.
    ///
    /// - Parameter processes: The command's.
    func beforeTimeoutKill(_ processes: [ProcessIdentity]) {
        let limit = timeLimit.map { " of \(DurationText.text($0))" } ?? ""
        let cause = Salvage.Cause(
            outcome: .timedOut,
            message: "The test was still running when the time limit\(limit) was up.")
        let copies = salvage.hold(Set(processes), cause: cause)
        held.withLock { $0 += copies }
    }

    /// Makes the bundles of the processes that have died.
    func afterwards(_ report: RunReport) -> Salvage.Result {
        let dead = Set(salvage.deadTests.map(\.process))
        return salvage.sweep(holding: held.withLock(\.self)) { process in
            Self.cause(of: process, isOnly: dead.count == 1, report)
        }
    }

    // MARK: Why a process has died

    private static func cause(
        of process: ProcessIdentity, isOnly: Bool, _ report: RunReport
    ) -> Salvage.Cause {
        switch report.cause {
        case .timeLimit:
            return Salvage.Cause(
                outcome: .timedOut,
                message: "The process was ended in the middle of the test: the time limit was up.")
        case .signal(let signal):
            return Salvage.Cause(
                outcome: .terminated,
                message: "The run was stopped by \(SignalName.text(signal)) in the middle of the test.")
        case .itself:
            break
        }
        let lines = report.standardError.lines + report.standardOutput.lines
        var cause = Salvage.Cause.unknown
        if let signal = signal(of: process, isOnly: isOnly, lines, report) {
            cause.message =
                "The process was ended by \(SignalName.text(signal)) in the middle of the test."
        }
        // Of several that died the log does not say whose message it is.
        if isOnly, let fatal = FatalMessage.all(in: lines).last {
            cause.message = "\(fatal.message)\n\(cause.message)"
            (cause.file, cause.line) = (fatal.file, fatal.line)
        }
        return cause
    }

    /// The signal that ended a process, if this one has seen it or the log tells.
    private static func signal(
        of process: ProcessIdentity, isOnly: Bool, _ lines: [String], _ report: RunReport
    ) -> Int32? {
        let seen = report.ended.first { $0.identity == process }?.status
        if case .signalled(let signal) = seen { return signal }
        guard isOnly else { return nil }
        // SwiftPM's words.
        let words = "unexpected signal code "
        return lines.lazy.compactMap { line in
            line.firstRange(of: words).flatMap { range in
                Int32(line[range.upperBound...].prefix { $0.isNumber })
            }
        }.last
    }
}
