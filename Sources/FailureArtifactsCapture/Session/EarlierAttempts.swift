internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Knows what became of tests when they were last run: in this process, or in one that has left bundles.
///
/// May be used from any thread.
final class EarlierAttempts: Sendable {
    /// An end of a test, of which there is a bundle.
    private struct End: Sendable {
        let test: BundleMetadata.Test
        let hasFailed: Bool
        /// By ISO 8601.
        let at: String
    }

    /// Whether tests have failed when they were last run in this process.
    private let failures = Lock<[BundleMetadata.Test: Bool]>([:])
    /// What bundles tell, which do not change, by their paths; nil of those that cannot be read.
    private let bundles = Lock<[String: End?]>([:])

    /// A test has ended.
    func note(_ test: BundleMetadata.Test, hasFailed: Bool) {
        failures.withLock { $0[test.ofAnyAttempt] = hasFailed }
    }

    /// Whether a test has failed when it was last run.
    ///
    /// - Parameters:
    ///   - test: The test, of whatever attempt.
    ///   - directory: Where earlier processes have left bundles.
    /// - Returns: Whether it has; false where it was captured since then, as it passed.
    func hasFailed(_ test: BundleMetadata.Test, in directory: ArtifactsDirectory) -> Bool {
        let test = test.ofAnyAttempt
        if let hasFailed = failures.withLock({ $0[test] }) { return hasFailed }
        let ends = directory.bundlePaths(of: test).compactMap(end).filter { $0.test == test }
        return ends.max { $0.at < $1.at }?.hasFailed ?? false
    }

    private func end(_ path: String) -> End? {
        if let known = bundles.withLock({ $0[path] }) { return known }
        // Somebody may have put anything there.
        let metadata =
            FileSystem.regularFile(path) == nil ? nil : try? BundleMetadata(ofBundle: path)
        let end = metadata.map { metadata in
            End(
                test: metadata.test.ofAnyAttempt, hasFailed: metadata.outcome != .passed,
                at: metadata.capture.at)
        }
        bundles.withLock { $0[path] = .some(end) }
        return end
    }
}

extension BundleMetadata.Test {
    /// The same in all attempts.
    fileprivate var ofAnyAttempt: BundleMetadata.Test {
        var test = self
        test.attempt = 0
        return test
    }
}
