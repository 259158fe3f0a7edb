internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

// The choice of one bundle, for commands that read one.

/// The bundle that a path stands for, and the other failures there.
struct BundleChoice {
    let location: BundleLocation
    /// A path that stands for this bundle only, or the given path if that is one.
    let path: String
    /// The other failures whose tests have not passed since, newest first.
    let others: [KnownBundle]
}

extension Console {
    /// The directory of bundles if none is named: the one of the environment, or the default.
    var artifactsPath: String {
        let given = environment["FAILURE_ARTIFACTS_DIR", default: ""]
        return given.isEmpty ? "failure-artifacts" : given
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
        try recoverTests(at: path)
        let locations = try BundleLocator.bundles(at: path)
        let passes = PassRecords()
        if locations.count == 1 {
            if locations[0].description != path, test == nil, passes.contains(locations[0]) {
                say("The test has passed since, in a later run.")
            }
            return BundleChoice(location: locations[0], path: path, others: [])
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
            return BundleChoice(location: locations[0], path: path, others: [])
        }
        if let sentence = Self.reason(for: chosen, among: bundles, at: path) { say(sentence) }
        let others = bundles.filter { $0.isOpen && $0.location != chosen.location }
        return BundleChoice(
            location: chosen.location, path: ToolCommand().shortened(chosen.location), others: others)
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
