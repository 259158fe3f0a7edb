internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

/// The final message of `run`: sixteen lines at most.
enum RunSummary {
    /// The maximum number of failures listed.
    private static let failures = 3
    /// The width of a line that isn't written to a terminal, in columns.
    private static let width = 200

    /// Returns the lines.
    ///
    /// - Parameters:
    ///   - bundles: The new bundles, in display order.
    ///   - recovered: The number of bundles that were made after the command ended.
    ///   - leftOut: The number of failures without a bundle because of a size or count limit.
    ///   - hint: The failed tests without a bundle; nil if there are none.
    ///   - directory: The absolute path of the bundles' directory.
    ///   - workingDirectory: The directory that displayed paths are relative to.
    ///   - report: The path of the report; nil without a report.
    ///   - findings: The best findings, by the path of the bundle.
    ///   - passing: The bundles of the same tests that passed, by the path of the failed one's bundle.
    ///   - output: The output for the lines.
    /// - Returns: The lines. Empty if there are no bundles, no omissions and no hint.
    static func lines(
        _ bundles: [(path: String, metadata: BundleMetadata?)], recovered: Int, leftOut: Int = 0,
        hint: TraitHint? = nil,
        directory: String,
        workingDirectory: String, report: String? = nil, findings: [String: Finding] = [:],
        passing: [String: String] = [:], for output: TextOutput
    ) -> [String] {
        let label = "failure-artifacts:"
        let heading = output.styled(label, .heading) + " "
        // The first line has the heading before it if there are no bundles.
        let room = (output.terminal?.width ?? width) - (bundles.isEmpty ? label.utf8.count + 1 : 2)
        let omissions =
            Self.omissions(bundles.compactMap(\.metadata), leftOut: leftOut)
            + (hint?.lines(width: room) ?? [])
        let all = bundles
        let failed = all.filter { $0.metadata?.outcome != .passed }
        // Crashes and hangs come first, because they end other tests too.
        let bundles = (0...2).flatMap { rank in failed.filter { Self.rank(of: $0) == rank } }
        let passed = all.count - bundles.count
        guard let first = bundles.first ?? all.first else {
            return omissions.enumerated().map { ($0 == 0 ? heading : "  ") + $1 }
        }
        let place = Path.relative(directory, to: workingDirectory)
        var head = Counted.items(Int64(bundles.count), "bundle") + " in " + SafeText.line(place)
        if recovered > 0 { head += ", \(recovered) of a test that could not leave one itself" }
        if passed > 0 { head += ", besides \(passed) of tests that passed" }
        if bundles.isEmpty {
            head =
                Counted.items(Int64(passed), "bundle") + " of tests that passed in "
                + SafeText.line(place)
        }
        var lines = [heading + head]
        for bundle in bundles.prefix(failures) {
            lines.append(line(bundle, for: output))
            let path = ShellWord.quoted(Path.relative(bundle.path, to: workingDirectory))
            if let finding = findings[bundle.path] {
                let room = (output.terminal?.width ?? width) - 4
                lines.append("    " + TextWidth.shortened(finding.line, to: room))
            }
            if let other = passing[bundle.path] {
                let other = ShellWord.quoted(Path.relative(other, to: workingDirectory))
                lines.append("    failure-artifacts explain \(path) --against \(other)")
            } else if findings[bundle.path] != nil {
                lines.append("    failure-artifacts show \(path)")
            }
        }
        if bundles.count > failures {
            lines.append(
                "  and \(bundles.count - failures) more: failure-artifacts list \(ShellWord.quoted(place))"
            )
        }
        lines += omissions.map { "  " + $0 }
        let path = Path.relative(first.path, to: workingDirectory)
        lines.append("To look at the first: failure-artifacts open \(ShellWord.quoted(path))")
        if let report { lines.append("To see all of them: " + SafeText.line(report)) }
        return lines
    }

    /// Returns a bundle's place in the list: 0 if the test crashed, hung or was terminated, 1 if another test crashed
    /// its process, and 2 if it failed.
    private static func rank(of bundle: (path: String, metadata: BundleMetadata?)) -> Int {
        guard let metadata = bundle.metadata, metadata.outcome != .failed else { return 2 }
        return metadata.failures.contains { $0.suspects?.includesTest == false } ? 1 : 0
    }

    /// Returns one line about content that limits excluded, or no line.
    private static func omissions(_ bundles: [BundleMetadata], leftOut: Int) -> [String] {
        var parts: [String] = []
        if leftOut > 0 {
            parts.append(
                "\(Counted.items(Int64(leftOut), "further failure")) left no bundle: there was no room "
                    + "(FAILURE_ARTIFACTS_MAX_BUNDLES, FAILURE_ARTIFACTS_MAX_TOTAL_BYTES)")
        }
        let limits = Set(bundles.flatMap(\.capture.limitsHit)).sorted()
        let cut = bundles.count { !$0.capture.limitsHit.isEmpty }
        if cut > 0 {
            let names = limits.filter { !$0.contains("\n") }.prefix(3).map { SafeText.line($0) }
            parts.append(
                "\(Counted.items(Int64(cut), "bundle")) lack\(cut == 1 ? "s" : "") something "
                    + "(\(names.joined(separator: ", ")))")
        }
        return parts.isEmpty ? [] : [parts.joined(separator: "; ")]
    }

    /// Returns one line for a bundle: the outcome, the test, and its first failure.
    private static func line(
        _ bundle: (path: String, metadata: BundleMetadata?), for output: TextOutput
    ) -> String {
        guard let metadata = bundle.metadata else {
            return "  " + SafeText.line(Path.name(of: bundle.path)) + " (not readable)"
        }
        var text = SafeText.line(metadata.test.title)
        let message = FailureText.headline(of: metadata.failures.first)
        let label = metadata.outcome.label
        let room = (output.terminal?.width ?? width) - 2 - TextWidth.columns(of: label) - 1
        if !message.isEmpty {
            text += ": "
            text += TextWidth.abridged(message, to: max(room - TextWidth.columns(of: text), 20))
        }
        return "  " + output.styled(label, metadata.outcome.style) + " "
            + TextWidth.shortened(text, to: room)
    }
}
