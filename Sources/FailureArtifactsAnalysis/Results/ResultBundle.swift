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
    /// The place of the first failure, relative to the package; nil if it is unknown.
    package let place: String?
    /// The place in an overview: 0 if the test crashed, hung or was terminated, 1 if another test crashed its process,
    /// and 2 if it failed.
    package let rank: Int
    /// The best finding; nil without one, or if the search was skipped.
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
        let root = PackageRoot(metadata)
        packageRoot = root
        place = metadata.failures.first.flatMap { FailureText.place(of: $0, in: root) }
        let isOfOtherTest = metadata.failures.contains { $0.suspects?.includesTest == false }
        rank = metadata.outcome == .failed ? 2 : isOfOtherTest ? 1 : 0
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
package struct ResultFailure: Sendable {
    /// The bundles, in the order given; never empty.
    package let bundles: [ResultBundle]

    /// The bundle that represents the failure.
    package var first: ResultBundle { bundles[0] }

    /// The arguments of a parameterised test that failed with several ones, as readable texts; otherwise empty.
    package var arguments: [String] { bundles.map(\.arguments).argumentTexts }

    /// The best finding of the bundles; nil without one.
    package var finding: Finding? {
        bundles.compactMap(\.finding).min { $0.confidence > $1.confidence }
    }

    /// Groups bundles by failure, in the order of each failure's first bundle.
    package static func failures(of bundles: [ResultBundle]) -> [ResultFailure] {
        // A bundle without a fingerprint is a separate failure.
        bundles.grouped { $0.fingerprint.isEmpty ? nil : $0.fingerprint }.map(ResultFailure.init)
    }

    /// True if it comes before another one: crashes and hangs, which end other tests, and then the best findings.
    fileprivate func comes(before other: ResultFailure) -> Bool {
        if first.rank != other.first.rank { return first.rank < other.first.rank }
        guard let confidence = finding?.confidence else { return false }
        return other.finding.map { confidence > $0.confidence } ?? true
    }
}

/// Failures that have one cause.
package struct BundleCause: Sendable {
    /// The failures, the one with the best finding first; never empty.
    package let failures: [ResultFailure]

    /// The bundle that represents the cause.
    package var first: ResultBundle { failures[0].first }
    package var finding: Finding? { failures[0].finding }
    package var bundles: [ResultBundle] { failures.flatMap(\.bundles) }

    /// Groups bundles by cause: crashes and hangs first, and then the causes with the best findings.
    ///
    /// Causes of equal rank are in the order of their first bundles.
    package static func causes(of bundles: [ResultBundle]) -> [BundleCause] {
        let causes = ResultFailure.failures(of: bundles).grouped { failure in
            CauseReason(
                failure.finding, place: failure.first.place, message: failure.first.headline)?.key
        }
        return causes.map { BundleCause(failures: $0.sortedStably { $0.comes(before: $1) }) }
            .sortedStably { $0.failures[0].comes(before: $1.failures[0]) }
    }
}

extension Array {
    /// Returns the elements in order, those of equal rank in the order that they had.
    fileprivate func sortedStably(by comesBefore: (Element, Element) -> Bool) -> [Element] {
        enumerated().sorted { first, second in
            if comesBefore(first.element, second.element) { return true }
            return !comesBefore(second.element, first.element) && first.offset < second.offset
        }.map(\.element)
    }
}
