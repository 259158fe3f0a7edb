package import FailureArtifactsBundle

/// The part of a bundle that is needed for results.
///
/// It is small, because there may be thousands.
package struct ResultBundle: Sendable {
    /// The maximum number of failures kept.
    private static let failureLimit = 20
    /// The maximum number of stores listed.
    private static let storeLimit = 6

    /// The path, in the form that the tool's arguments accept.
    package let path: String
    package let test: TestIdentity
    /// The displayed name of the test.
    package let title: String
    package let arguments: [String]?
    package let outcome: BundleMetadata.Outcome
    package let fingerprint: String
    package let attempt: Int
    package let failures: [TestAttempt.Failure]
    /// The first failure on one line; empty if it is unknown.
    package let headline: String
    /// One line for each store: its name, and its tables with their row counts.
    package let stores: [String]
    /// The time of the failure, in ISO 8601.
    package let at: String
    package let packageRoot: PackageRoot
    /// The environment variables that identify the run.
    package let variables: [String: String]
    /// The best finding above `possible`; nil without one, or if the search was skipped.
    package var finding: Finding?

    package init(_ metadata: BundleMetadata, path: String) {
        self.path = path
        test = TestIdentity(
            framework: metadata.test.framework, module: nil, suite: metadata.test.suite,
            name: metadata.test.name)
        title = TextWidth.shortened(metadata.test.title, to: 300)
        arguments = metadata.test.arguments
        outcome = metadata.outcome
        fingerprint = metadata.fingerprint
        attempt = metadata.test.attempt
        failures = metadata.failures.prefix(Self.failureLimit).map { failure in
            TestAttempt.Failure(
                message: failure.message.abridged(toBytes: TestAttempt.messageLimit),
                file: failure.sourceFile,
                line: failure.sourceFile == nil ? nil : failure.line)
        }
        headline = TextWidth.abridged(FailureText.headline(of: metadata.failures.first), to: 300)
        var stores = metadata.stores.prefix(Self.storeLimit).map { $0.name + $0.contentText }
        let rest = metadata.stores.count - stores.count
        if rest > 0 { stores.append("and \(rest) more") }
        self.stores = stores
        packageRoot = PackageRoot(metadata)
        at = metadata.failures.first?.at ?? metadata.capture.at
        variables = metadata.environment.ci?.variables ?? [:]
    }

    /// The displayed name of the test without arguments.
    package var testTitle: String {
        TextWidth.shortened(
            BundleMetadata.Test.title(suite: test.suite, name: test.name, arguments: nil), to: 300)
    }

    /// The first failure's message; empty if it is unknown.
    package var message: String { FailureText.essence(of: failures.first?.message ?? "") }
}

/// Bundles of one failure, which have the same fingerprint.
package struct BundleCause: Sendable {
    /// The bundles, in the order given; never empty.
    package private(set) var bundles: [ResultBundle]

    /// The bundle that represents the cause.
    package var first: ResultBundle { bundles[0] }

    /// The arguments of a parameterised test that failed with several ones, as readable texts; otherwise empty.
    package var arguments: [String] { bundles.map(\.arguments).argumentTexts }

    /// The finding of the first bundle that has one.
    package var finding: Finding? { bundles.lazy.compactMap(\.finding).first }

    /// Groups bundles by cause, in the order of each cause's first bundle.
    package static func causes(of bundles: [ResultBundle]) -> [BundleCause] {
        var causes: [BundleCause] = []
        var places: [String: Int] = [:]
        for bundle in bundles {
            // A bundle without a fingerprint is a separate cause.
            if !bundle.fingerprint.isEmpty, let place = places[bundle.fingerprint] {
                causes[place].bundles.append(bundle)
            } else {
                places[bundle.fingerprint] = causes.count
                causes.append(BundleCause(bundles: [bundle]))
            }
        }
        return causes
    }
}
