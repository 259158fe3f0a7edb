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
    /// The file's name and the line of the first failure; nil if they are unknown.
    let place: String?
    private let run: Run
    /// True if the test of a failure has passed in a later run.
    private(set) var hasPassedSince: Bool

    /// The run that the test's process belonged to.
    private enum Run: Hashable, Sendable {
        /// A run of `failure-artifacts run`, by its identifier.
        case own(String)
        /// A run of a CI service, by its variables.
        case service([String: String])
        /// Another run, by the number of one of its processes.
        case process(Int)
    }

    init(_ metadata: BundleMetadata, at location: BundleLocation, passes: PassRecords? = nil) {
        self.location = location
        test = metadata.test
        outcome = metadata.outcome
        at = metadata.failures.first?.at ?? metadata.capture.at
        place = metadata.failures.first.flatMap { failure in
            failure.file.map { Path.name(of: $0) + (failure.line.map { ":\($0)" } ?? "") }
        }
        // A run that another one has started has that one's identifier, a dot, and a number.
        let identifier = metadata.environment.run?.prefix { $0 != "." }
        run =
            identifier.map { .own(String($0)) }
            ?? metadata.environment.ci.map { .service($0.variables) }
            ?? .process(metadata.environment.processID)
        hasPassedSince = metadata.outcome != .passed && passes?.contains(location) == true
    }

    /// True for a failure that no later pass is known of.
    var isOpen: Bool { outcome != .passed && !hasPassedSince }

    /// The test with its attempt, if it isn't the first: `LedgerTests.testMarch, attempt 2`.
    var title: String {
        test.attempt > 1 ? "\(test.title), attempt \(test.attempt)" : test.title
    }

    /// The time, in milliseconds since 1970; 0 for an invalid one.
    fileprivate var milliseconds: Int64 { MetadataTime.milliseconds(of: at) ?? 0 }

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

    /// The milliseconds after which a bundle of another process counts as one of another run.
    private static let pause: Int64 = 5 * 60 * 1000

    /// Groups bundles by runs of tests, oldest first. Bundles of `failure-artifacts run` and of CI services name
    /// their run. Otherwise, those of a process are of one run, and so are those of processes in close succession,
    /// unless a test would occur twice.
    static func runs(of bundles: [KnownBundle]) -> [[Int]] {
        func isBefore(_ a: Int, _ b: Int) -> Bool { (bundles[a].at, a) < (bundles[b].at, b) }
        let sorted = bundles.indices.sorted(by: isBefore)
        var runs: [[Int]] = []
        // The last run that isn't named: its index, its tests and its end.
        var last: Int?
        var tests: Set<BundleMetadata.Test> = []
        var end: Int64 = 0
        let groups = Dictionary(grouping: sorted) { bundles[$0].run }.values
        for group in groups.sorted(by: { isBefore($0[0], $1[0]) }) {
            if case .process = bundles[group[0]].run {
                let own = group.map { bundles[$0].anyAttempt }
                let isNext = bundles[group[0]].milliseconds < end + pause
                end = max(end, bundles[group[group.count - 1]].milliseconds)
                if let last, isNext, tests.isDisjoint(with: own) {
                    runs[last] += group
                    tests.formUnion(own)
                    continue
                }
                last = runs.count
                tests = Set(own)
            }
            runs.append(group)
        }
        // The last failure decides.
        return runs.map { $0.sorted(by: isBefore) }.sorted {
            isBefore($0[$0.count - 1], $1[$1.count - 1])
        }
    }
}

/// The records of passes in the directories of bundles, each of which is read once. It can be used from any thread.
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

/// Formats times of the metadata for people.
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
