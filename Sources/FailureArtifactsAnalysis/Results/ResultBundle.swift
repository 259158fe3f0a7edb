package import FailureArtifactsBundle

/// What is kept of a bundle where results are told: little, of thousands.
package struct ResultBundle: Sendable {
    /// Failures that are kept.
    private static let failureLimit = 20
    /// Stores that are named.
    private static let storeLimit = 6

    /// Where it is, as it may be given to the tool.
    package let path: String
    package let test: TestIdentity
    /// The test's name for people.
    package let title: String
    package let arguments: [String]?
    package let outcome: BundleMetadata.Outcome
    package let fingerprint: String
    package let attempt: Int
    package let failures: [TestAttempt.Failure]
    /// A line for each store: its name, its tables with their rows.
    package let stores: [String]
    /// When the test failed, by ISO 8601.
    package let at: String
    /// Those that identify the run.
    package let variables: [String: String]

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
                message: Self.cut(failure.message), file: failure.file, line: failure.line)
        }
        var stores = metadata.stores.prefix(Self.storeLimit).map { store in
            guard store.entry != nil else { return "\(store.name): described only" }
            return store.name + (store.tables.map { ": " + $0.summary } ?? "")
                + (store.committedEntry == nil ? "" : ", in an open transaction")
        }
        let rest = metadata.stores.count - stores.count
        if rest > 0 { stores.append("and \(rest) more") }
        self.stores = stores
        at = metadata.failures.first?.at ?? metadata.capture.at
        variables = metadata.environment.ci?.variables ?? [:]
    }

    /// What failed first; nothing where that is not known.
    package var message: String { FailureText.essence(of: failures.first?.message ?? "") }

    private static func cut(_ text: String) -> String {
        text.utf8.count > TestAttempt.messageLimit
            ? String(text.unicodeScalars.prefix(TestAttempt.messageLimit / 4)) + "…" : text
    }
}

/// Bundles of one failure, by its fingerprint.
package struct BundleCause: Sendable {
    /// In the order they were given; never empty.
    package private(set) var bundles: [ResultBundle]

    /// The one that is told of.
    package var first: ResultBundle { bundles[0] }

    /// Groups bundles, in the order of each cause's first.
    package static func causes(of bundles: [ResultBundle]) -> [BundleCause] {
        var causes: [BundleCause] = []
        var places: [String: Int] = [:]
        for bundle in bundles {
            // A bundle of a program that gives no fingerprint is one of its own.
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
