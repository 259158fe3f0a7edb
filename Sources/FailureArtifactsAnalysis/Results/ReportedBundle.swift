package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSystem

/// A bundle, as the overview has it.
package struct ReportedBundle: Sendable {
    package let location: BundleLocation
    package let fingerprint: String
    package let outcome: BundleMetadata.Outcome
    package let suite: String
    package let test: String
    /// The first failure's.
    package let message: String
    package let attempt: Int
    /// When it was captured, by ISO 8601.
    package let at: String
    /// Bytes of the bundle.
    package let bytes: UInt64
    /// What the CI calls the part of the run; nil where nothing does.
    package let job: String?
    /// What the bundle was found in: the name of a zip of bundles, or of a directory.
    package let container: String
    /// The test and its arguments, to find other attempts of it.
    package let identity: BundleMetadata.Test
    /// What the CI calls the run; empty where it does not say.
    package let run: String
    /// Counts from 1 how often the run was started.
    package let runAttempt: Int

    /// - Parameters:
    ///   - metadata: The bundle's.
    ///   - location: Where the bundle is.
    ///   - container: What it was in; nil where that is where it is now.
    ///   - bytes: The bundle's size.
    package init(
        _ metadata: BundleMetadata, location: BundleLocation, container: String? = nil, bytes: UInt64
    ) {
        self.location = location
        self.container = container ?? Self.container(of: location)
        fingerprint = metadata.fingerprint
        outcome = metadata.outcome
        suite = metadata.test.suite
        test = metadata.test.title
        message = Self.cut(FailureText.essence(of: metadata.failures.first?.message ?? ""))
        attempt = metadata.test.attempt
        at = metadata.capture.at
        self.bytes = bytes
        let variables = metadata.environment.ci?.variables ?? [:]
        let names = [
            "BUILDKITE_PARALLEL_JOB", "CIRCLE_NODE_INDEX", "GITHUB_JOB", "CI_JOB_NAME",
            "CI_JOB_ID", "SYSTEM_JOBID",
        ]
        job = names.lazy.compactMap { variables[$0] }.first
        var identity = metadata.test
        identity.attempt = 1
        self.identity = identity
        let runs = [
            "GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILDKITE_BUILD_URL", "CIRCLE_WORKFLOW_ID", "BUILD_TAG",
            "BUILD_BUILDID", "BITRISE_BUILD_SLUG", "CI_BUILD_ID",
        ]
        run = runs.lazy.compactMap { variables[$0] }.first ?? ""
        let retries = variables["BUILDKITE_RETRY_COUNT"].flatMap { Int($0) }.map { $0 &+ 1 }
        runAttempt = variables["GITHUB_RUN_ATTEMPT"].flatMap { Int($0) } ?? retries ?? 1
    }

    private static func cut(_ text: String) -> String {
        text.utf8.count > 400 ? String(text.prefix(300)) + "…" : text
    }

    /// What a bundle is in.
    package static func container(of location: BundleLocation) -> String {
        if location.inner != nil { return Path.name(of: location.path) }
        let directory = Path.directory(of: Path.absolute(location.path))
        let name = Path.name(of: directory)
        // By the name that it has by default directories are not told apart.
        guard name == "failure-artifacts" else { return name }
        let parent = Path.name(of: Path.directory(of: directory))
        return parent.isEmpty ? name : parent + "/" + name
    }

    /// The part of the run that it is from.
    ///
    /// - Parameter areSeveral: Whether the bundles come from several places. Then these tell the parts apart:
    ///   the jobs of a matrix mostly have one name.
    /// - Returns: A name for people.
    package func shard(areSeveral: Bool) -> String {
        areSeveral ? container : job ?? container
    }
}

/// Occurrences of one failure, by its fingerprint.
package struct FailureCause: Sendable {
    /// In the order they were read; never empty.
    package private(set) var reportedBundles: [ReportedBundle]

    /// The one whose stores are shown.
    package var first: ReportedBundle { reportedBundles[0] }

    /// Those of tests that passed, which are no failures.
    package static func passed(of reportedBundles: [ReportedBundle]) -> [ReportedBundle] {
        reportedBundles.filter { $0.outcome == .passed }
    }

    /// Groups occurrences of failures, the most frequent cause first.
    package static func causes(of reportedBundles: [ReportedBundle]) -> [FailureCause] {
        var causes: [FailureCause] = []
        var places: [String: Int] = [:]
        for reportedBundle in reportedBundles where reportedBundle.outcome != .passed {
            // A bundle of a program that gives no fingerprint is one of its own.
            let key = reportedBundle.fingerprint
            if !key.isEmpty, let place = places[key] {
                causes[place].reportedBundles.append(reportedBundle)
            } else {
                places[key] = causes.count
                causes.append(FailureCause(reportedBundles: [reportedBundle]))
            }
        }
        let order = causes.indices.sorted {
            (-causes[$0].reportedBundles.count, $0) < (-causes[$1].reportedBundles.count, $1)
        }
        return order.map { causes[$0] }
    }
}
