internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The outcomes of tests when they last ran, in this process or in one that left bundles.
///
/// It can be used from any thread.
final class EarlierAttempts: Sendable {
    /// The outcome of a test, read from its bundle.
    private struct End: Sendable {
        let test: BundleMetadata.Test
        let hasFailed: Bool
        /// The time of the capture, in ISO 8601 format.
        let at: String
    }

    /// The outcomes in this process.
    ///
    /// The value is true if the test failed when it last ran.
    private let failures = Lock<[BundleMetadata.Test: Bool]>([:])
    /// The outcomes read from bundles, by path; nil for unreadable bundles.
    ///
    /// Bundles don't change, so each is read once.
    private let bundles = Lock<[String: End?]>([:])

    /// Records the outcome of a test that has ended.
    func note(_ test: BundleMetadata.Test, hasFailed: Bool) {
        failures.withLock { $0[test.ofAnyAttempt] = hasFailed }
    }

    /// Returns true if the latest known outcome of a test, in any attempt, is a failure.
    ///
    /// It may be known from the bundles of earlier processes. It is not a failure if the test has since been captured
    /// as passing.
    func hasFailed(_ test: BundleMetadata.Test, in directory: ArtifactsDirectory) -> Bool {
        let test = test.ofAnyAttempt
        if let hasFailed = failures.withLock({ $0[test] }) { return hasFailed }
        let ends = directory.bundlePaths(of: test).compactMap(end).filter { $0.test == test }
        return ends.max { $0.at < $1.at }?.hasFailed ?? false
    }

    /// Returns the bundles of a test's failures, in any attempt, after which it is not recorded to have passed.
    func failures(of test: BundleMetadata.Test, in directory: ArtifactsDirectory) -> [String] {
        let test = test.ofAnyAttempt
        let passed = directory.passedSince
        return directory.bundlePaths(of: test).filter { path in
            guard !passed.contains(Path.name(of: path)), let end = end(path) else { return false }
            return end.test == test && end.hasFailed
        }
    }

    private func end(_ path: String) -> End? {
        if let known = bundles.withLock({ $0[path] }) { return known }
        // The path may name anything, not only a bundle.
        let metadata = FileSystem.regularFile(path) == nil ? nil : BundleMetadata(ofOwnBundle: path)
        let end = metadata.map { metadata in
            End(
                test: metadata.test.ofAnyAttempt, hasFailed: metadata.outcome != .passed,
                at: metadata.capture.at)
        }
        bundles.withLock { $0[path] = .some(end) }
        return end
    }
}

/// The tests that may have bundles of failures, by the starts of these bundles' names.
struct EarlierFailures {
    private var stems: Set<String> = []
    /// The suite of the last test that was looked up, and true if any of its tests may be among the failures.
    ///
    /// Composing a bundle's name takes long in a debug build, and most suites have no failures.
    private var suite: (name: String, hasAny: Bool)?

    var isEmpty: Bool { stems.isEmpty }

    /// Adds the tests of bundles, by their names.
    mutating func insert(bundles names: [String]) {
        stems.formUnion(names.compactMap(BundleName.stemOfFailure))
        suite = nil
    }

    mutating func insert(_ test: BundleMetadata.Test) {
        stems.insert(BundleName.stem(of: test))
        suite = nil
    }

    /// Returns true if the test may have a bundle.
    mutating func mayContain(_ test: BundleMetadata.Test) -> Bool {
        if suite?.name != test.suite {
            let start = SafeName.make(from: test.suite, maximumBytes: 100)
            suite = (test.suite, stems.contains { $0.hasPrefix(start) })
        }
        return suite?.hasAny == true && stems.contains(BundleName.stem(of: test))
    }
}

extension BundleMetadata.Test {
    /// The test without its attempt number, which is equal for all attempts.
    fileprivate var ofAnyAttempt: BundleMetadata.Test {
        var test = self
        test.attempt = 0
        return test
    }
}
