package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The part of a bundle that is needed for results and for the overview of a page; it is small, because there may be
/// thousands.
package struct ReportedBundle: Sendable {
    private static let failureLimit = 20
    private static let storeLimit = 6

    package let location: BundleLocation
    /// The name of the zip or directory that contained the bundle.
    package let container: String
    /// The size of the bundle, in bytes; 0 if it is unknown.
    package let bytes: UInt64
    package let test: TestIdentity
    package let title: String
    package let arguments: [String]?
    package let outcome: BundleMetadata.Outcome
    package let fingerprint: String
    package let attempt: Int
    package let failures: [TestAttempt.Failure]
    /// The first failure on one line; empty if it is unknown.
    package let headline: String
    /// A line about the earlier occurrences of the failure; nil if none is known.
    package let seenBefore: String?
    /// One line for each store: its name, and its tables with their row counts.
    package let stores: [String]
    package let at: String
    package let packageRoot: PackageRoot
    package var variables: [String: String]
    /// The place of the first failure, relative to the package; nil if it is unknown.
    package let place: String?
    /// The place in an overview: 0 if the test crashed, hung or was terminated, 1 if another test crashed its process,
    /// and 2 if it failed.
    package let rank: Int
    /// The best finding; nil without one, or if the search was skipped.
    package var finding: Finding?

    package init(_ metadata: BundleMetadata, location: BundleLocation, bytes: UInt64 = 0) {
        self.location = location
        container = Self.container(of: location)
        self.bytes = bytes
        test = TestIdentity(
            framework: metadata.test.framework, suite: metadata.test.suite, name: metadata.test.name)
        title = TextWidth.shortened(metadata.test.title, to: 300)
        arguments = metadata.test.arguments
        outcome = metadata.outcome
        fingerprint = metadata.fingerprint
        attempt = metadata.test.attempt
        failures = metadata.failures.prefix(Self.failureLimit).map { failure in
            TestAttempt.Failure(
                message: failure.message.abridged(toBytes: TestAttempt.messageLimit),
                file: failure.sourceFile, line: failure.sourceFile == nil ? nil : failure.line)
        }
        headline = TextWidth.abridged(FailureText.headline(of: metadata.failures.first), to: 300)
        seenBefore = metadata.seenBefore?.line
        let rest = metadata.stores.count - Self.storeLimit
        stores =
            metadata.stores.prefix(Self.storeLimit).map { $0.name + $0.contentText }
            + (rest > 0 ? ["and \(rest) more"] : [])
        let root = PackageRoot(metadata)
        packageRoot = root
        place = metadata.failures.first.flatMap { FailureText.place(of: $0, in: root) }
        let isOfOtherTest = metadata.failures.contains { $0.suspects?.includesTest == false }
        rank = metadata.outcome == .failed ? 2 : isOfOtherTest ? 1 : 0
        at = metadata.failures.first?.at ?? metadata.capture.at
        variables = metadata.environment.ci?.variables ?? [:]
    }

    /// The path, in the form that the tool's arguments accept.
    package var path: String { location.description }

    package var testTitle: String {
        TextWidth.shortened(
            BundleMetadata.Test.title(suite: test.suite, name: test.name, arguments: nil), to: 300)
    }

    /// The first failure's message; empty if it is unknown.
    package var message: String { FailureText.essence(of: failures.first?.message ?? "") }

    private func variable(_ names: String...) -> String? {
        names.lazy.compactMap { variables[$0] }.first
    }

    /// Returns the displayed name of the part of the run: the place if there are several, because the jobs of a matrix
    /// usually share one name.
    package func shard(areSeveral: Bool) -> String {
        let job = variable(
            "BUILDKITE_PARALLEL_JOB", "CIRCLE_NODE_INDEX", "GITHUB_JOB", "CI_JOB_NAME", "CI_JOB_ID",
            "SYSTEM_JOBID")
        return areSeveral ? container : job ?? container
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
}

extension Sequence {
    /// Groups elements that have the same key, in the order of the first ones; without a key, each is a group of its own.
    package func grouped<Key: Hashable>(by key: (Element) -> Key?) -> [[Element]] {
        var groups: [[Element]] = []
        var places: [Key: Int] = [:]
        for element in self {
            let key = key(element)
            if let place = key.flatMap({ places[$0] }) {
                groups[place].append(element)
            } else {
                if let key { places[key] = groups.count }
                groups.append([element])
            }
        }
        return groups
    }
}
