internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport

/// `report`: writes one page with all failures.
struct ReportCommand: Command {
    static let syntax = Syntax(
        command: "report", summary: "Write one self-contained HTML page about all failures",
        positionals: [.paths],
        options: [
            Syntax.Option(
                "--output", short: "-o", value: "FILE",
                help:
                    "The file for the page, which is replaced if it exists; - for standard output. By default, "
                    + "\(defaultOutput)."),
            Syntax.Option(
                "--max-bytes", value: "BYTES",
                help:
                    "The maximum size of all rows, changes and statements on the page: 500000, 64KB or 20MB. By "
                    + "default, 10MB. A KB has 1,024 bytes. One failure gets at most a fifth."),
            .noLimits,
        ],
        discussion: """
            The page needs no network and no other file. Failures with the same fingerprint are one entry, which \
            lists all of them and shows the stores of the first. If a test passed in another bundle, the page \
            compares it with the failure.

            If the data doesn't fit, the newest changes and the rows that they concern come first. The page says \
            what it leaves out.
            """)

    static let defaultOutput = "failure-artifacts.html"

    private let paths: [String]
    private let output: String
    private let maximumBytes: UInt64

    init(_ arguments: ParsedArguments) throws {
        paths = arguments.positionals
        output = arguments.value(of: "--output") ?? Self.defaultOutput
        maximumBytes = try arguments.size(of: "--max-bytes", Self.syntax) ?? ReportLimits.standardBytes
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            var reportedBundles: [ReportedBundle] = []
            let containers = MergedContainers()
            let code = try console.readBundles(at: paths, scratch: scratch, task: "Reading") {
                location, archive, bytes in
                let bundle = try BundleReader(location, archive: archive)
                return ReportedBundle(
                    bundle.metadata, location: location, container: containers.container(of: location),
                    bytes: bytes)
            } _: {
                reportedBundles.append($0)
            }
            if reportedBundles.isEmpty, code != .done { return code }
            let causes = FailureCause.causes(of: reportedBundles)
            let problems =
                code == .done ? [] : ["Some bundles could not be read: the tool said which."]
            defer { console.progress.clear() }
            let report = Report(
                page: ReportPage(
                    causes: causes, passed: FailureCause.passed(of: reportedBundles), problems: problems),
                limits: ReportLimits(causes: causes.count, maximumBytes: maximumBytes),
                scratch: scratch,
                folder: PageFolder(ofPage: output == "-" ? nil : output),
                progress: { console.progress.show("Describing", done: $0, total: $1) },
                archive: console.limits.archive, start: console.startReading)
            if output == "-" {
                try report.write { try console.output.write($0) }
            } else {
                try WholeFile.write(report, to: output)
                try console.output.writeLine(SafeText.line(output))
            }
            return code
        }
    }
}
