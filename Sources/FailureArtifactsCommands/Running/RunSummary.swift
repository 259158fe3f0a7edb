internal import FailureArtifactsBundle
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
    ///   - salvaged: How many of them were made after the command's end.
    ///   - directory: Where they are, absolute.
    ///   - workingDirectory: That of whoever reads this.
    ///   - report: The page that was made of them; nil where there is none.
    ///   - output: Where the lines go.
    /// - Returns: None where there are no bundles.
    static func lines(
        _ bundles: [(path: String, metadata: BundleMetadata?)], salvaged: Int, directory: String,
        workingDirectory: String, report: String? = nil, for output: TextOutput
    ) -> [String] {
        let all = bundles
        let bundles = all.filter { $0.metadata?.outcome != .passed }
        let passed = all.count - bundles.count
        guard let first = bundles.first ?? all.first else { return [] }
        let place = relative(directory, to: workingDirectory)
        var head = Counted.items(Int64(bundles.count), "bundle") + " in " + SafeText.line(place)
        if salvaged > 0 { head += ", \(salvaged) of a test that could not leave one itself" }
        if passed > 0 { head += ", besides \(passed) of tests that passed" }
        if bundles.isEmpty {
            head =
                Counted.items(Int64(passed), "bundle") + " of tests that passed in "
                + SafeText.line(place)
        }
        var lines = [output.styled("failure-artifacts:", .heading) + " " + head]
        for bundle in bundles.prefix(failures) { lines.append(line(bundle, for: output)) }
        if bundles.count > failures {
            lines.append(
                "  and \(bundles.count - failures) more: failure-artifacts list \(ShellWord.quoted(place))"
            )
        }
        let path = relative(first.path, to: workingDirectory)
        lines.append("To look at the first: failure-artifacts open \(ShellWord.quoted(path))")
        if let report { lines.append("To see all of them: " + SafeText.line(report)) }
        return lines
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

    /// A path as short as it can be written in a directory.
    static func relative(_ path: String, to directory: String) -> String {
        let start = directory.hasSuffix("/") ? directory : directory + "/"
        guard path.hasPrefix(start), path.count > start.count else { return path }
        let rest = String(path.dropFirst(start.count))
        return rest.hasPrefix("-") || rest.hasPrefix("/") ? path : rest
    }
}
