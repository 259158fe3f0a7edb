internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

/// The outputs of `run` besides the bundles: the report, the results, on GitHub the summary and annotations, and on
/// GitLab the code quality report.
struct RunOutputs {
    let console: Console
    let bundles: [(path: String, metadata: BundleMetadata?)]
    /// The bundles of earlier runs whose tests passed in this run.
    var earlier: [String] = []
    /// The absolute path of the bundles' directory.
    let directory: String
    /// The directory that displayed paths are relative to.
    let workingDirectory: String
    /// The best findings, by the path of the bundle.
    var findings: [String: Finding] = [:]

    /// Writes the report on all bundles.
    ///
    /// Nil if there are no failures or the report couldn't be written, which is reported with a warning.
    func writeReport() throws -> String? {
        guard hasFailures || !earlier.isEmpty else { return nil }
        let path = Path.join(directory, Report.fileName)
        do {
            try console.withScratchDirectory { scratch in
                var reportedBundles: [ReportedBundle] = []
                let code = try console.readBundles(at: earlier + bundles.map(\.path), scratch: scratch) {
                    location, archive, bytes in
                    let bundle = try BundleReader(location, archive: archive)
                    return ReportedBundle(bundle.metadata, location: location, bytes: bytes)
                } _: {
                    reportedBundles.append($0)
                }
                let causes = ReportedFailure.mostFrequentFirst(of: reportedBundles)
                let problems =
                    code == .done ? [] : ["Some bundles could not be read: the tool said which."]
                let report = Report(
                    page: ReportPage(
                        causes: causes, passed: reportedBundles.filter { $0.outcome == .passed },
                        problems: problems),
                    limits: ReportLimits(causes: causes.count), scratch: scratch,
                    checking: try console.invariants(in: nil), folder: PageFolder(ofPage: path))
                try WholeFile.write(
                    report, toOwn: path, permissions: console.bundleReaders.filePermissions)
            }
            return Path.relative(path, to: workingDirectory)
        } catch {
            try console.warn(Self.sentence("The report could not be written.", error))
            return nil
        }
    }

    /// Returns the results of all tests that the recorder saw.
    func results(of recorder: RunRecorder) -> TestResults { recorder.results(bundles: resultBundles) }

    /// Returns the failed tests of Swift Testing that left no bundle because they lack the trait.
    ///
    /// Nil if there are no such tests or a bundle may be missing for another reason.
    func hint(_ results: TestResults, leftOut: Int) -> TraitHint? {
        guard leftOut == 0, !bundles.contains(where: { $0.metadata == nil }),
            FileSystem.obstacle(toWritingInto: directory) == nil
        else { return nil }
        return TraitHint(results.failedWithoutBundle)
    }

    /// Writes the results of all tests, passed and failed.
    func writeResults(_ results: TestResults, to path: String) throws {
        do {
            let text = JUnitText(
                results: results, attachment: JUnitText.attachment(environment: console.environment))
            try WholeFile.write(text, to: path)
        } catch {
            try console.warn(Self.sentence("The results could not be written to '\(path)'.", error))
        }
    }

    /// Appends the failures to the summary page of a GitHub step.
    func writeStepSummary(report: String?, hint: TraitHint?) throws {
        let path = console.environment["GITHUB_STEP_SUMMARY", default: ""]
        guard hasFailures || hint != nil, !path.isEmpty else { return }
        do {
            var summary = SummaryMarkdown(causes: causes)
            summary.isPart = bundles.contains { $0.metadata == nil }
            summary.report = report
            summary.hint = hint
            try summary.append(to: path)
        } catch {
            try console.warn(Self.sentence("The summary of the step could not be written.", error))
        }
    }

    /// The lines that make GitHub annotate the failures in the source; empty outside GitHub.
    var annotations: [String] {
        guard WorkflowCommand.isGitHub(console.environment) else { return [] }
        return WorkflowCommand.annotations(
            for: causes,
            in: RepositoryFiles(
                root: console.environment["GITHUB_WORKSPACE"], package: workingDirectory))
    }

    /// Writes the failures and their causes for GitLab's merge requests; does nothing outside GitLab.
    ///
    /// Without failures only an existing file is replaced, so that a passing run leaves no file.
    func writeCodeQuality() throws {
        guard console.environment["GITLAB_CI"] == "true" else { return }
        let path = Path.join(directory, CodeQualityText.fileName)
        do {
            let causes = causes
            guard try !causes.isEmpty || FileSystem.status(of: path) != nil else { return }
            let project = console.environment["CI_PROJECT_DIR", default: ""]
            let files = RepositoryFiles(
                root: project.isEmpty ? workingDirectory : project, package: workingDirectory)
            let text = try CodeQualityText.text(for: causes, in: files)
            try WholeFile.write(text, toOwn: path)
        } catch {
            try console.warn(Self.sentence("The code quality report could not be written.", error))
        }
    }

    /// True if any bundle is not from a passed test.
    private var hasFailures: Bool { bundles.contains { $0.metadata?.outcome != .passed } }

    private var resultBundles: [ReportedBundle] {
        Self.results(of: bundles, findings, relativeTo: workingDirectory)
    }

    /// Returns the readable bundles of failures, with their best findings and with displayed paths.
    static func results(
        of bundles: [(path: String, metadata: BundleMetadata?)], _ findings: [String: Finding],
        relativeTo workingDirectory: String
    ) -> [ReportedBundle] {
        bundles.compactMap { bundle in
            guard let metadata = bundle.metadata, metadata.outcome != .passed else { return nil }
            var result = ReportedBundle(
                metadata,
                location: BundleLocation(path: Path.relative(bundle.path, to: workingDirectory)))
            result.finding = findings[bundle.path]
            return result
        }
    }

    private var causes: [BundleCause] { BundleCause.causes(of: resultBundles) }

    private static func sentence(_ start: String, _ error: any Error) -> String {
        start + " " + CommandError(error).description
    }
}
