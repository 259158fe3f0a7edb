internal import FailureArtifactsBundle

/// The tests that failed when they last ran, in this process or in one that left bundles.
struct EarlierFailures {
    /// The tests of this process, without their attempt numbers.
    private var failed: Set<BundleMetadata.Test> = []
    /// The tests that were captured as passing since then.
    private var passed: Set<BundleMetadata.Test> = []
    /// The starts of the names of the bundles that other processes have left.
    ///
    /// Tests that differ in their arguments share one.
    private var stems: Set<String> = []
    /// The suite of the last test that was looked up, and true if any of its tests may be among the failures.
    ///
    /// Composing a bundle's name takes long in a debug build, and most suites have no failures.
    private var suite: (name: String, hasAny: Bool)?

    var isEmpty: Bool { stems.isEmpty && failed.isEmpty }

    /// Adds the tests of bundles, by their names.
    mutating func insert(bundles names: [String]) {
        stems.formUnion(names.compactMap(BundleName.stemOfFailure))
        suite = nil
    }

    mutating func insert(_ test: BundleMetadata.Test) {
        failed.insert(test.ofAnyAttempt)
        passed.remove(test.ofAnyAttempt)
    }

    /// Records that a test was captured as passing.
    mutating func remove(_ test: BundleMetadata.Test) {
        failed.remove(test.ofAnyAttempt)
        passed.insert(test.ofAnyAttempt)
    }

    /// Returns true if the last known outcome of the test may be a failure.
    mutating func mayContain(_ test: BundleMetadata.Test) -> Bool {
        if !failed.isEmpty, failed.contains(test.ofAnyAttempt) { return true }
        if suite?.name != test.suite {
            let start = SafeName.make(from: test.suite, maximumBytes: 100)
            suite = (test.suite, stems.contains { $0.hasPrefix(start) })
        }
        return suite?.hasAny == true && !passed.contains(test.ofAnyAttempt)
            && stems.contains(BundleName.stem(of: test))
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
