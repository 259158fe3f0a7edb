internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The runs of a command that is repeated until it fails.
struct Repetition {
    private let maximumRuns: Int
    private let timeLimit: Double?
    private let deadline: Instant?
    private var number = 1
    private var start = Instant.now
    /// The bundles of tests that passed in the run before.
    private var passing: [ArtifactsDirectory.BundleFile] = []

    /// Describes the runs of a command.
    ///
    /// - Parameters:
    ///   - maximumRuns: The maximum number of runs.
    ///   - timeLimit: The maximum duration of all runs together, in seconds; nil for no limit.
    init(maximumRuns: Int, timeLimit: Double?) {
        self.maximumRuns = maximumRuns
        self.timeLimit = timeLimit
        deadline = timeLimit.map { Instant.now.advanced(bySeconds: $0) }
    }

    /// The time limit of the next run, in seconds; nil for no limit.
    var remainingTime: Double? {
        guard let deadline, number > 1 else { return timeLimit }
        return max(1, (Instant.now.seconds(until: deadline) * 10).rounded(.up)) / 10
    }

    /// Reports the end of a run, and removes bundles that the next runs don't need.
    ///
    /// The bundles of the last run that passed stay, so that a failure can be compared with them.
    ///
    /// - Parameters:
    ///   - isPassed: True if the command succeeded and no test failed.
    ///   - bundles: The new bundles.
    ///   - directory: The artifacts directory.
    ///   - console: The console.
    /// - Returns: True if the command is to be run again.
    mutating func end(
        passed isPassed: Bool, _ bundles: [(path: String, metadata: BundleMetadata?)],
        in directory: String, _ console: Console
    ) -> Bool {
        guard isPassed else {
            console.say("Run \(number) of \(maximumRuns) failed.")
            return false
        }
        let time = DurationText.short(start.elapsed).map { " in \($0)" } ?? ""
        console.say("Run \(number) of \(maximumRuns) passed\(time).")
        guard number < maximumRuns else { return false }
        let new = bundles.compactMap { bundle -> ArtifactsDirectory.BundleFile? in
            guard let status = try? FileSystem.statusWithoutFollowing(bundle.path) else { return nil }
            return .init(name: Path.name(of: bundle.path), identity: status.identity)
        }
        // A limit may have kept this run from writing bundles. Then the older ones are better than none.
        if !new.isEmpty {
            _ = try? ArtifactsDirectory(path: directory).removeBundles(passing)
            passing = new
        }
        number += 1
        start = .now
        return true
    }
}
