internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The facts about a bundle that tell it from the others at the same path.
struct KnownBundle: Sendable {
    let location: BundleLocation
    let test: BundleMetadata.Test
    let outcome: BundleMetadata.Outcome
    /// The time of the first failure, or of the capture of a test that passed, as in the metadata.
    let at: String
    /// True if the test of a failure has passed in a later run.
    private(set) var hasPassedSince: Bool

    init(_ metadata: BundleMetadata, at location: BundleLocation, passes: PassRecords? = nil) {
        self.location = location
        test = metadata.test
        outcome = metadata.outcome
        at = metadata.failures.first?.at ?? metadata.capture.at
        hasPassedSince = metadata.outcome != .passed && passes?.contains(location) == true
    }

    /// True for a failure that no later pass is known of.
    var isOpen: Bool { outcome != .passed && !hasPassedSince }

    /// The test with its attempt, if it isn't the first: `LedgerTests.testMarch, attempt 2`.
    var title: String {
        test.attempt > 1 ? "\(test.title), attempt \(test.attempt)" : test.title
    }

    /// The test without its attempt, which is equal for all attempts.
    fileprivate var anyAttempt: BundleMetadata.Test {
        var test = test
        test.attempt = 0
        return test
    }

    // MARK: Several bundles

    /// Marks the failures of tests that have passed in a later one of the bundles.
    static func markPasses(in bundles: inout [KnownBundle]) {
        var passes: [BundleMetadata.Test: String] = [:]
        for bundle in bundles where bundle.outcome == .passed {
            passes[bundle.anyAttempt] = max(passes[bundle.anyAttempt] ?? "", bundle.at)
        }
        guard !passes.isEmpty else { return }
        for index in bundles.indices where bundles[index].isOpen {
            guard let pass = passes[bundles[index].anyAttempt], pass > bundles[index].at else {
                continue
            }
            bundles[index].hasPassedSince = true
        }
    }
}

/// The records of passes in the directories of bundles, each of which is read once; it can be used from any thread.
final class PassRecords: Sendable {
    private let directories = Lock<[String: Set<String>]>([:])

    /// Returns true if a bundle's test is recorded to have passed after it failed.
    func contains(_ bundle: BundleLocation) -> Bool {
        guard bundle.inner == nil else { return false }
        let directory = Path.directory(of: bundle.path)
        return directories.withLock { known in
            if let names = known[directory] { return names.contains(bundle.name) }
            let names = ArtifactsDirectory(path: directory).passedSince
            known[directory] = names
            return names.contains(bundle.name)
        }
    }
}

enum LocalTime {
    /// Returns a time in the local time zone, such as `Nov 21 07:08:09`; the unchanged text for an invalid one.
    static func text(_ time: String) -> String {
        guard let milliseconds = MetadataTime.milliseconds(of: time) else { return SafeText.line(time) }
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return SafeText.line(time) }
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%b %d %H:%M:%S", &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
