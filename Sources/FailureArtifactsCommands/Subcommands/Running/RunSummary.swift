internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

/// What `run` says at its end: ten lines at most.
enum RunSummary {
    /// How many failures are named.
    private static let failures = 3
    /// The columns of a line that does not go to a terminal.
    private static let width = 200

    /// Makes the lines.
    ///
    /// - Parameters:
    ///   - bundles: What has come, in the order it is named in.
    ///   - recovered: How many of them were made after the command's end.
    ///   - leftOut: How many failures have left no bundle, for want of room.
    ///   - hint: The failed tests without a bundle; nil if there are none.
    ///   - directory: Where they are, absolute.
    ///   - workingDirectory: That of whoever reads this.
    ///   - report: The page that was made of them; nil where there is none.
    ///   - output: Where the lines go.
    /// - Returns: None where there are no bundles and nothing was left out.
    static func lines(
        _ bundles: [(path: String, metadata: BundleMetadata?)], recovered: Int, leftOut: Int = 0,
        hint: TraitHint? = nil,
        directory: String,
        workingDirectory: String, report: String? = nil, for output: TextOutput
    ) -> [String] {
        let label = "failure-artifacts:"
        let heading = output.styled(label, .heading) + " "
        // The first line has the heading before it if there are no bundles.
        let room = (output.terminal?.width ?? width) - (bundles.isEmpty ? label.utf8.count + 1 : 2)
        let omissions =
            Self.omissions(bundles.compactMap(\.metadata), leftOut: leftOut)
            + (hint?.lines(width: room) ?? [])
        let all = bundles
        let bundles = all.filter { $0.metadata?.outcome != .passed }
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
        for bundle in bundles.prefix(failures) { lines.append(line(bundle, for: output)) }
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

    /// What limits have kept out, in a line where there is something.
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

    /// A line of its own for a bundle: what happened to which test, and the first line of why.
    private static func line(
        _ bundle: (path: String, metadata: BundleMetadata?), for output: TextOutput
    ) -> String {
        guard let metadata = bundle.metadata else {
            return "  " + SafeText.line(Path.name(of: bundle.path)) + " (not readable)"
        }
        var text = SafeText.line(metadata.test.title)
        let message = FailureText.essence(of: metadata.failures.first?.message ?? "")
        if let line = SafeText.lines(message).first, !line.isEmpty { text += ": " + line }
        let label = metadata.outcome.label
        let room = (output.terminal?.width ?? width) - 2 - TextWidth.columns(of: label) - 1
        return "  " + output.styled(label, metadata.outcome.style) + " "
            + TextWidth.shortened(text, to: room)
    }
}
