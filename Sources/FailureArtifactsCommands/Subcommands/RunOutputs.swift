internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

/// The outputs of `run` besides the bundles: its last lines, the report, the results, and on GitHub the summary and
/// annotations.
struct RunOutputs {
    private static let listedCauses = 3
    /// The width of a line that isn't written to a terminal, in columns.
    private static let standardWidth = 200

    private let console: Console
    private let bundles: [(path: String, metadata: BundleMetadata?)]
    private let directory: String
    /// The directory that displayed paths are relative to.
    private let workingDirectory: String
    private let causes: [BundleCause]

    /// Creates the outputs.
    init(
        console: Console, bundles: [(path: String, metadata: BundleMetadata?)], directory: String,
        workingDirectory: String, findings: [String: Finding] = [:]
    ) {
        self.console = console
        self.bundles = bundles
        self.directory = directory
        self.workingDirectory = workingDirectory
        reportedBundles = bundles.compactMap { bundle in
            guard let metadata = bundle.metadata, metadata.outcome != .passed else { return nil }
            let path = Path.relative(bundle.path, to: workingDirectory)
            var result = ReportedBundle(metadata, location: BundleLocation(path: path))
            result.finding = findings[bundle.path]
            return result
        }
        causes = BundleCause.causes(of: reportedBundles)
    }

    /// The readable bundles of failures, with their best findings and with displayed paths.
    private let reportedBundles: [ReportedBundle]

    private var failed: [(path: String, metadata: BundleMetadata?)] {
        bundles.filter { $0.metadata?.outcome != .passed }
    }

    /// Writes the report on all bundles; nil if there are no failures or the report couldn't be written, which is
    /// reported with a warning.
    func writeReport() throws -> String? {
        guard !failed.isEmpty else { return nil }
        let path = Path.join(directory, Report.fileName)
        do {
            _ = try console.writeReport(of: bundles.map(\.path), beside: path)
            return Path.relative(path, to: workingDirectory)
        } catch {
            try console.warn(Self.sentence("The report could not be written.", error))
            return nil
        }
    }

    func writeResults(of run: RunResults, to path: String) throws {
        do {
            let text = JUnitText(
                results: run.results(bundles: reportedBundles),
                attachment: JUnitText.attachment(environment: console.environment))
            try WholeFile.write(text, to: path)
        } catch {
            try console.warn(Self.sentence("The results could not be written to '\(path)'.", error))
        }
    }

    /// Appends the failures to the summary page of a GitHub step.
    func writeStepSummary(report: String?) throws {
        let path = console.environment["GITHUB_STEP_SUMMARY", default: ""]
        guard !failed.isEmpty, !path.isEmpty else { return }
        do {
            var summary = SummaryMarkdown(causes: causes)
            summary.isPart = bundles.contains { $0.metadata == nil }
            summary.report = report
            summary.files = files
            try summary.append(to: path)
        } catch {
            try console.warn(Self.sentence("The summary of the step could not be written.", error))
        }
    }

    /// The lines that make GitHub annotate the failures in the source; empty outside GitHub.
    var annotations: [String] {
        guard WorkflowCommand.isGitHub(console.environment) else { return [] }
        return WorkflowCommand.annotations(
            for: causes, in: files)
    }

    private var files: RepositoryFiles {
        RepositoryFiles(root: console.environment["GITHUB_WORKSPACE"], package: workingDirectory)
    }

    private static func sentence(_ start: String, _ error: any Error) -> String {
        start + " " + CommandError(error).description
    }

    // MARK: - Last lines

    /// Returns the last lines of `run`, at most eighteen; none if nothing was left and nothing left out.
    func summary(recovered: Int, leftOut: Int = 0, report: String? = nil) -> [String] {
        let output = console.error
        let heading = output.styled("failure-artifacts:", .heading) + " "
        let omissions = omissions(leftOut: leftOut)
        guard !bundles.isEmpty else { return omissions.map { heading + $0 } }
        let place = SafeText.line(Path.relative(directory, to: workingDirectory))
        let unreadable = failed.filter { $0.metadata == nil }
        let passed = bundles.count - failed.count
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
            let noun = recovered == 1 ? "test whose process" : "tests whose processes"
            let verb = recovered == 1 ? "was recovered from a" : "were recovered from"
            lines.append("  \(Counted.items(Int64(recovered), "bundle")) \(verb) \(noun) died")
        }
        if let first = causes.first?.first, let download = BundleDownload(of: first) {
            lines += TextWrap.message(download.sentence(), indent: 2, for: output)
        }
        let entries =
            causes.map(self.lines)
            + unreadable.map { ["  " + SafeText.line(Path.name(of: $0.path)) + " (not readable)"] }
        lines += entries.prefix(Self.listedCauses).flatMap(\.self)
        if count > Self.listedCauses {
            let list = "failure-artifacts list \(ShellWord.quoted(place))"
            lines.append("  and \(count - Self.listedCauses) more: \(list)")
        }
        lines += omissions.map { "  " + $0 }
        if let report { lines.append("To see all of them: " + SafeText.line(report)) }
        return lines
    }

    // MARK: - Failures only

    /// Writes the failing tests, each with what it printed and the explanation of its bundle, and a line of totals.
    ///
    /// Failures with the same cause are explained once, and of many causes the first ones.
    func writeFailures(
        _ tests: [FailureFilter.Failure], of run: RunResults, leftOut: Int, report: String?
    ) throws {
        var rest = causes
        var explained = 0
        func explain(_ cause: BundleCause) throws {
            explained += 1
            let others = cause.failures.dropFirst().map { SafeText.line($0.first.title) }
            if !others.isEmpty {
                try console.output.writeLine(
                    "The same cause: " + others.prefix(20).joined(separator: ", "))
            }
            let bundle = cause.first
            guard explained <= Self.listedCauses, !bundle.usesNoStore else {
                for line in lines(cause) { try console.output.writeLine(line) }
                return
            }
            do {
                let syntax = ExplainCommand.syntax
                let words = try syntax.parse(["--markdown", bundle.path], artifacts: directory)
                _ = try ExplainCommand(arguments: words).run(console)
            } catch {
                try console.warn(Self.sentence("\(bundle.path) could not be explained.", error))
            }
        }
        for test in tests {
            try console.output.writeLine(test.text)
            let index = rest.firstIndex { cause in
                cause.failures.contains { failure in
                    let bundled = failure.first.test
                    return [bundled.name, bundled.name + "()", "\(bundled.suite).\(bundled.name)"]
                        .contains(test.name)
                }
            }
            if let index { try explain(rest.remove(at: index)) }
        }
        for cause in rest { try explain(cause) }
        let results = run.results(bundles: reportedBundles).tests
        guard !results.isEmpty || !bundles.isEmpty else { return }
        let failures = results.count(where: \.isFailure)
        let skipped = results.count(where: \.isSkipped)
        var totals = ["\(failures) failed", "\(results.count - failures - skipped) passed"]
        if skipped > 0 { totals.append("\(skipped) skipped") }
        if !failed.isEmpty {
            let place = SafeText.line(Path.relative(directory, to: workingDirectory))
            totals.append(Counted.items(Int64(failed.count), "bundle") + " in \(place)")
        }
        totals += omissions(leftOut: leftOut)
        if let report { totals.append("report: " + SafeText.line(report)) }
        let noun = Counted.items(Int64(results.count), "test")
        try console.output.writeLine("failure-artifacts: \(noun): " + totals.joined(separator: ", "))
        try console.output.flush()
    }

    /// Returns one line about content that limits excluded, or no line.
    private func omissions(leftOut: Int) -> [String] {
        var parts: [String] = []
        if leftOut > 0 {
            parts.append(
                "\(Counted.items(Int64(leftOut), "further failure")) left no bundle: there was no room "
                    + "(FAILURE_ARTIFACTS_MAX_BUNDLES, FAILURE_ARTIFACTS_MAX_TOTAL_BYTES)")
        }
        let cut = bundles.compactMap { $0.metadata?.capture.limitsHit }.filter { !$0.isEmpty }
        if !cut.isEmpty {
            let names = Set(cut.joined()).sorted().filter { !$0.contains("\n") }.prefix(3)
            parts.append(
                "\(Counted.items(Int64(cut.count), "bundle")) lack\(cut.count == 1 ? "s" : "") something "
                    + "(\(names.map { SafeText.line($0) }.joined(separator: ", ")))")
        }
        return parts.isEmpty ? [] : [parts.joined(separator: "; ")]
    }

    /// Returns the lines of a cause: the outcome and message of its first test, the best finding, and a command.
    private func lines(_ cause: BundleCause) -> [String] {
        let output = console.error
        let bundle = cause.first
        let columns = output.terminal?.width ?? Self.standardWidth
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
        if let seen = bundle.seenBefore {
            lines.append("    " + TextWidth.shortened(seen, to: columns - 4))
        }
        return lines + ["    " + (bundle.usesNoStore ? "It used no store." : bundle.explainCommand)]
    }
}
