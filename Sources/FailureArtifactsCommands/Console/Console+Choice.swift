internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

// The choice of one bundle, for commands that read one.

/// The bundle that a path stands for, and the other failures there.
struct BundleChoice {
    let location: BundleLocation
    /// The other failures whose tests have not passed since, newest first.
    let others: [KnownBundle]
}

extension Console {
    /// The directory of bundles if none is named: the one of the environment, or the default.
    var artifactsPath: String {
        let given = environment[ArtifactsDirectory.variable, default: ""]
        return given.isEmpty ? ArtifactsDirectory.defaultName : given
    }

    /// Finds the bundles that a path from the command line stands for, and makes those of tests whose process died.
    ///
    /// A relative path at which there is nothing is searched for in the directory of bundles: a name there, or a part
    /// of one. The bundles of a run on GitHub are downloaded, and nothing in them is used to make others.
    func searching<Found>(
        _ path: String, _ find: (String) throws -> Found
    ) throws -> Found {
        if let directory = try downloaded(path) { return try find(directory) }
        let start = String(path.prefix { $0 != "/" })
        let isThere = try start.isEmpty || path == artifactsPath || FileSystem.status(of: start) != nil
        guard !isThere, start != artifactsPath.prefix(while: { $0 != "/" }) else {
            try recoverTests(at: path)
            return try find(path)
        }
        let place = Path.join(artifactsPath, path)
        try recoverTests(at: place)
        do {
            return try find(place)
        } catch let error as BundleError where error.isNotFound {
            throw BundleError(path, .noMatch(path, in: artifactsPath))
        }
    }

    /// Chooses one of the bundles at a path, and says which one if there is a choice.
    ///
    /// The newest failure of a test that has not passed since is chosen; otherwise, the newest failure or the newest
    /// passing run.
    ///
    /// - `test`: the test of which a passing run is preferred; nil to prefer a failure.
    func choose(
        at path: String, scratch: String, passOf test: BundleMetadata.Test? = nil
    ) throws -> BundleChoice {
        let locations = try searching(path, BundleLocator.bundles(at:))
        let passes = PassRecords()
        if locations.count == 1 {
            if locations[0].description != path, test == nil, passes.contains(locations[0]) {
                say("The test has passed since, in a later run.")
            }
            return BundleChoice(location: locations[0], others: [])
        }
        let limits = limits.archive
        let known = Threads.map(locations) { location -> KnownBundle? in
            let bundle = try? BundleReader(location, scratchDirectory: scratch, limits: limits)
            return bundle.map { KnownBundle($0.metadata, at: location, passes: passes) }
        }
        var bundles = known.compactMap(\.self)
        KnownBundle.markPasses(in: &bundles)
        bundles.sort { ($0.at, $0.location.description) > ($1.at, $1.location.description) }
        func newest(_ isMatch: (KnownBundle) -> Bool) -> KnownBundle? { bundles.first(where: isMatch) }
        let chosen: KnownBundle? =
            if let test {
                newest { $0.outcome == .passed && $0.test.isSame(as: test) }
                    ?? newest { $0.outcome == .passed } ?? bundles.first
            } else {
                newest(\.isOpen) ?? newest { $0.outcome != .passed } ?? bundles.first
            }
        guard let chosen else {
            return BundleChoice(location: locations[0], others: [])
        }
        if let sentence = Self.reason(for: chosen, among: bundles, at: path) { say(sentence) }
        let others = bundles.filter { $0.isOpen && $0.location != chosen.location }
        return BundleChoice(location: chosen.location, others: others)
    }

    /// Returns a sentence about the choice of a bundle; nil if no other one was as good.
    private static func reason(
        for chosen: KnownBundle, among bundles: [KnownBundle], at path: String
    ) -> String? {
        let failures = bundles.filter { $0.outcome != .passed }
        let passed = Int64(failures.count(where: \.hasPassedSince))
        let open = Int64(failures.count) - passed
        let newest = " This is the newest: \(SafeText.line(chosen.title)), \(LocalTime.text(chosen.at))."
        let place = "'\(SafeText.line(path))'"
        if chosen.outcome == .passed {
            let runs = Int64(bundles.count - failures.count)
            return runs > 1 ? "\(place) has \(runs) passing runs." + newest : nil
        }
        if chosen.isOpen {
            let older = passed > 0 ? " \(Counted.items(passed, "other")) passed since." : ""
            return open > 1
                ? "\(place) has \(open) failures." + newest + older
                : older.isEmpty ? nil : String(older.dropFirst())
        }
        return passed > 1
            ? "All \(passed) failures in \(place) passed since." + newest
            : "The test has passed since, in a later run."
    }

    private static let listedOthers = 5

    /// Lists the failures that were not chosen, each with the command to type for it.
    func listOthers(of choice: BundleChoice, at path: String, for command: String) throws {
        guard !choice.others.isEmpty else { return }
        try output.flush()
        let tool = ToolCommand()
        let listed = choice.others.prefix(Self.listedOthers)
        let commands = listed.map { tool.text(command, of: tool.shortened($0.location)) }
        let width = commands.map { TextWidth.columns(of: SafeText.line($0)) }.max() ?? 0
        say("")
        say(choice.others.count == 1 ? "The other failure:" : "Other failures, newest first:")
        for (bundle, command) in zip(listed, commands) {
            let text = TextWidth.padded(SafeText.line(command), to: width)
            say("  \(text)  \(LocalTime.text(bundle.at))  \(SafeText.line(bundle.title))")
        }
        let rest = choice.others.count - listed.count
        if rest > 0 { say("  and \(rest) more: \(SafeText.line(tool.text("list", of: path)))") }
    }
}

extension ToolCommand {
    /// Returns the shortest path that stands for a bundle, in a directory or in a zip.
    func shortened(_ bundle: BundleLocation) -> String {
        guard bundle.inner != nil, BundleName.isName(bundle.name) else {
            return shortened(bundle.description)
        }
        return bundle.path + "/" + BundleName.randomPart(of: bundle.name)
    }
}

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
