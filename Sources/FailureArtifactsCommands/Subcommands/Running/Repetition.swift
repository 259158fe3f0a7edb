internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

/// The runs of a command that is repeated until it fails.
struct Repetition {
    /// The step after a run.
    enum Step: Equatable {
        /// The command is to be run again.
        case again
        /// This was the last run.
        case end
        /// The run passed, and there is no time for another one.
        case timeIsUp
    }

    private let maximumRuns: Int
    /// The time when the runs are ended; nil without a time limit.
    let deadline: Instant?
    private var number = 1
    private var start = Instant.now
    /// The bundles of the last run in which a test passed, by the test and its attempt.
    private var passing: [BundleMetadata.Test: [ArtifactsDirectory.BundleFile]] = [:]

    /// Describes the runs of a command.
    ///
    /// - `timeLimit`: the maximum duration of all runs together, in seconds; nil for no limit.
    init(maximumRuns: Int, timeLimit: Double?) {
        self.maximumRuns = maximumRuns
        deadline = timeLimit.map { Instant.now.advanced(bySeconds: $0) }
    }

    /// Determines the step after a run, and removes bundles that the next runs don't need.
    ///
    /// Of each test, the bundles of the last run in which it passed stay, so that a failure can be compared with them.
    mutating func endRun(
        _ cause: RunReport.Cause, exitStatus: Int32,
        _ bundles: [(path: String, metadata: BundleMetadata?)], in directory: String
    ) -> (step: Step, message: String) {
        let run = "Run \(number) of \(maximumRuns)"
        switch cause {
        case .timeLimit: return (.end, "\(run) was ended by the time limit.")
        case .signal(let signal): return (.end, "\(run) was ended by \(SignalName.text(signal)).")
        case .itself: break
        }
        guard exitStatus == 0, bundles.allSatisfy({ $0.metadata?.outcome == .passed }) else {
            return (.end, "\(run) failed.")
        }
        keep(bundles, in: directory)
        let time = DurationText.short(start.elapsed).map { " in \($0)" } ?? ""
        let message = "\(run) passed\(time)."
        if number == maximumRuns { return (.end, message) }
        if let deadline, deadline <= .now { return (.timeIsUp, message) }
        number += 1
        start = .now
        return (.again, message)
    }

    /// Replaces the passing bundles of earlier runs by those of the same tests in this run.
    ///
    /// A limit may have kept a test from leaving a bundle in this run. Then the older one is better than none.
    private mutating func keep(
        _ bundles: [(path: String, metadata: BundleMetadata?)], in directory: String
    ) {
        var new: [BundleMetadata.Test: [ArtifactsDirectory.BundleFile]] = [:]
        for (path, metadata) in bundles {
            guard let metadata, let status = try? FileSystem.statusWithoutFollowing(path) else {
                continue
            }
            new[metadata.test, default: []].append(
                .init(name: Path.name(of: path), identity: status.identity))
        }
        let replaced = new.keys.flatMap { passing[$0] ?? [] }
        if !replaced.isEmpty {
            // A bundle that can't be removed is one too many, and does no other harm.
            _ = try? ArtifactsDirectory(path: directory).removeBundles(replaced)
        }
        passing.merge(new) { $1 }
    }
}
