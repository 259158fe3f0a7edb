package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSystem

/// A bundle in the overview.
package struct ReportedBundle: Sendable {
    package let location: BundleLocation
    package let fingerprint: String
    package let outcome: BundleMetadata.Outcome
    package let suite: String
    package let test: String
    /// The message of the first failure.
    package let message: String
    package let attempt: Int
    /// The time of capture, in ISO 8601.
    package let at: String
    /// The size of the bundle, in bytes.
    package let bytes: UInt64
    /// The CI's name for the part of the run; nil if it is unknown.
    package let job: String?
    /// The name of the zip or directory that contained the bundle.
    package let container: String
    /// The test and its arguments, which identify other attempts of the same test.
    package let identity: BundleMetadata.Test
    /// The CI's identifier of the run; empty if it is unknown.
    package let run: String
    /// The number of times that the run was started, from 1.
    package let runAttempt: Int

    /// Creates a bundle's entry in the overview.
    ///
    /// - Parameters:
    ///   - metadata: The bundle's metadata.
    ///   - location: The location of the bundle.
    ///   - container: The original container of the bundle; nil for the current one.
    ///   - bytes: The bundle's size, in bytes.
    package init(
        _ metadata: BundleMetadata, location: BundleLocation, container: String? = nil, bytes: UInt64
    ) {
        self.location = location
        self.container = container ?? Self.container(of: location)
        fingerprint = metadata.fingerprint
        outcome = metadata.outcome
        suite = metadata.test.suite
        test = metadata.test.title
        message = FailureText.headline(of: metadata.failures.first).abridged(toBytes: 400)
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

    /// Returns the name of the zip or directory that contains a bundle.
    package static func container(of location: BundleLocation) -> String {
        if location.inner != nil { return Path.name(of: location.path) }
        let directory = Path.directory(of: Path.absolute(location.path))
        let name = Path.name(of: directory)
        // The default name doesn't distinguish directories.
        guard name == "failure-artifacts" else { return name }
        let parent = Path.name(of: Path.directory(of: directory))
        return parent.isEmpty ? name : parent + "/" + name
    }

    /// Returns the part of the run that the bundle comes from.
    ///
    /// - Parameter areSeveral: True if the bundles come from several places. Then the places distinguish the parts,
    ///   because the jobs of a matrix usually share one name.
    /// - Returns: A displayed name.
    package func shard(areSeveral: Bool) -> String {
        areSeveral ? container : job ?? container
    }
}

/// Bundles of one failure, which have the same fingerprint.
package struct FailureCause: Sendable {
    /// The bundles, in the order they were read; never empty.
    package let reportedBundles: [ReportedBundle]

    /// The bundle whose stores are shown.
    package var first: ReportedBundle { reportedBundles[0] }

    /// The arguments of a parameterised test that failed with several ones, as readable texts; otherwise empty.
    package var arguments: [String] { reportedBundles.map(\.identity.arguments).argumentTexts }

    /// The displayed name of the test: with its arguments, unless it failed with several ones.
    package var title: String {
        guard !arguments.isEmpty else { return first.test }
        return BundleMetadata.Test.title(suite: first.suite, name: first.identity.name, arguments: nil)
    }

    /// Returns the bundles of passed tests.
    package static func passed(of reportedBundles: [ReportedBundle]) -> [ReportedBundle] {
        reportedBundles.filter { $0.outcome == .passed }
    }

    /// Groups bundles of failures by cause, the most frequent cause first.
    package static func causes(of reportedBundles: [ReportedBundle]) -> [FailureCause] {
        let causes = reportedBundles.filter { $0.outcome != .passed }
            .grouped { $0.fingerprint.isEmpty ? nil : $0.fingerprint }
            .map(FailureCause.init)
        let order = causes.indices.sorted {
            (-causes[$0].reportedBundles.count, $0) < (-causes[$1].reportedBundles.count, $1)
        }
        return order.map { causes[$0] }
    }
}
