internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

/// The final message of `run`: seventeen lines at most.
enum RunSummary {
    /// The maximum number of causes listed.
    private static let causes = 3
    /// The width of a line that isn't written to a terminal, in columns.
    private static let width = 200

    /// Returns the lines.
    ///
    /// Empty if there are no bundles, no omissions and no hint.
    ///
    /// - `hint`: the failed tests without a bundle; nil if there are none.
    /// - `report`: the path of the report; nil without a report.
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
        let failed = bundles.filter { $0.metadata?.outcome != .passed }
        let passed = bundles.count - failed.count
        guard !bundles.isEmpty else {
            return omissions.enumerated().map { ($0 == 0 ? heading : "  ") + $1 }
        }
        let place = SafeText.line(Path.relative(directory, to: workingDirectory))
        let causes = BundleCause.causes(
            of: RunOutputs.results(of: failed, findings, relativeTo: workingDirectory))
        let unreadable = failed.filter { $0.metadata == nil }
        let count = causes.count + unreadable.count
        var head = Counted.items(Int64(failed.count), "bundle")
        if count < failed.count { head += " with " + Counted.items(Int64(count), "cause") }
        head += " in \(place)"
        if passed > 0 { head += ", besides \(passed) of tests that passed" }
        if failed.isEmpty {
            head = Counted.items(Int64(passed), "bundle") + " of tests that passed in " + place
        }
        var lines = [heading + head]
        if recovered > 0 {
            lines.append(
                recovered == 1
                    ? "  1 bundle was recovered from a test whose process died"
                    : "  \(recovered) bundles were recovered from tests whose processes died")
        }
        if let first = causes.first?.first, let download = BundleDownload(of: first) {
            lines += TextWrap.message(download.sentence(), indent: 2, for: output)
        }
        let entries =
            causes.map { self.lines($0, passing, workingDirectory, for: output) }
            + unreadable.map { ["  " + SafeText.line(Path.name(of: $0.path)) + " (not readable)"] }
        lines += entries.prefix(Self.causes).flatMap(\.self)
        if count > Self.causes {
            lines.append(
                "  and \(count - Self.causes) more: failure-artifacts list \(ShellWord.quoted(place))")
        }
        lines += omissions.map { "  " + $0 }
        if failed.isEmpty {
            let path = ShellWord.quoted(Path.relative(bundles[0].path, to: workingDirectory))
            lines.append("To look at the first: failure-artifacts open \(path)")
        }
        if let report { lines.append("To see all of them: " + SafeText.line(report)) }
        return lines
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

    /// Returns the lines of a cause: the outcome and message of its first test, the best finding, and a command.
    private static func lines(
        _ cause: BundleCause, _ passing: [String: String], _ workingDirectory: String,
        for output: TextOutput
    ) -> [String] {
        let bundle = cause.first
        let columns = output.terminal?.width ?? width
        let others = cause.failures.count - 1
        var text = SafeText.line(bundle.title) + (others > 0 ? " and \(others) more" : "")
        let label = bundle.outcome.label
        let room = columns - 2 - TextWidth.columns(of: label) - 1
        if !bundle.headline.isEmpty {
            text += ": "
            text += TextWidth.abridged(bundle.headline, to: max(room - TextWidth.columns(of: text), 20))
        }
        var lines = [
            "  " + output.styled(label, bundle.outcome.style) + " " + TextWidth.shortened(text, to: room)
        ]
        if let finding = cause.finding {
            lines.append(
                "    " + TextWidth.abridged("\(finding.label): \(finding.line)", to: columns - 4))
        }
        let other = passing[Path.join(workingDirectory, bundle.path)].map {
            " --against " + ShellWord.quoted(Path.relative($0, to: workingDirectory))
        }
        return lines + ["    " + bundle.explainCommand + (other ?? "")]
    }
}
