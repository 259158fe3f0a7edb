internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

struct ReportCommand: Command {
    static let syntax = Syntax(
        command: "report", summary: "Write one self-contained HTML page about all failures",
        positionals: [.paths],
        options: [
            Syntax.Option(
                "--output", short: "-o", value: "FILE",
                help:
                    "The file for the page, which is replaced if it exists; - for standard output. By default, "
                    + "\(Report.fileName) in the directory of bundles, or a file beside the zip, readable by those who "
                    + "may read the bundles: \(BundleAccess.variable)."),
            Syntax.Option(
                "--max-bytes", value: "BYTES",
                help:
                    "The maximum size of all rows, changes and statements on the page: 500000, 64KB or 20MB. By "
                    + "default, 10MB. A KB has 1,024 bytes. One failure gets at most a fifth."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            The page needs no network and no other file. Failures with the same fingerprint are one entry, which \
            lists all of them and shows the stores of the first. If a test passed in another bundle, the \
            findings include the differences.

            If the data doesn't fit, the newest changes and the rows that they concern come first. The page says \
            what it leaves out.
            """)

    let arguments: ParsedArguments

    private var output: String? { arguments.value(of: "--output") }

    func run(_ console: Console) throws -> ExitCode {
        let paths = arguments.positionals
        let maximumBytes = try size(of: "--max-bytes") ?? ReportLimits.standardBytes
        if output == "-" {
            return try console.withReport(of: paths, at: nil, maximumBytes: maximumBytes) { report, _ in
                try report.write { try console.output.write($0) }
            }
        }
        let path = output ?? Self.defaultOutput(for: paths[0])
        return try console.withReport(of: paths, at: path, maximumBytes: maximumBytes) { report, _ in
            try write(report, to: path, console)
            try console.output.writeLine(SafeText.line(path))
        }
    }

    /// Writes the page; only those who may read bundles can read one at the default path.
    private func write(_ report: Report, to path: String, _ console: Console) throws {
        guard output == nil else { return try WholeFile.write(report, to: path) }
        do {
            try WholeFile.write(
                report, toOwn: path, permissions: console.bundleReaders.filePermissions)
        } catch let error as SystemError {
            throw CommandError(
                .inputOutput, CommandError(error).description + " To write another file, use -o.")
        }
    }

    /// Returns the page's path in a directory of bundles, or beside a zip.
    private static func defaultOutput(for path: String) -> String {
        var place = path
        // A part of a bundle's name, or an entry of a zip, is no file.
        while (try? FileSystem.status(of: place)) ?? nil == nil, Path.directory(of: place) != place {
            place = Path.directory(of: place)
        }
        if ((try? FileSystem.status(of: place)) ?? nil)?.kind == .directory {
            return Path.join(place, Report.fileName)
        }
        let name = Path.name(of: place)
        let file = Path.stem(of: name) + "." + Report.fileName
        return place == name ? file : Path.join(Path.directory(of: place), file)
    }
}

struct JUnitCommand: Command {
    static let syntax = Syntax(
        command: "junit", summary: "Write test results as JUnit XML, with the bundles as attachments",
        positionals: [
            Syntax.Positional(
                "PATH", isRepeated: true, isOptional: true,
                help:
                    "A bundle, a directory of bundles, or a zip of bundles. Without PATH, --log and --events, the "
                    + "directory that FAILURE_ARTIFACTS_DIR names, or else failure-artifacts.")
        ],
        options: [
            Syntax.Option(
                "--log", value: "FILE",
                help:
                    "The output of the tests, for the results of XCTest. Can be repeated, in the order of the runs."
            ),
            Syntax.Option(
                "--events", value: "FILE",
                help:
                    "The file that 'swift test --event-stream-output-path' wrote, for the results of Swift Testing. "
                    + "Can be repeated, in the order of the runs."),
            Syntax.Option(
                "--output", short: "-o", value: "FILE",
                help:
                    "The file for the XML, which is replaced if it exists. By default, standard output."),
        ],
        discussion: """
            From bundles alone, only failed tests are known. For all tests of a run, use 'failure-artifacts run \
            --junit FILE', or pass its logs and event streams afterwards.

            A test that ran several times is one test case, which passed if the last run did; the results of the \
            other runs are listed in it. Paths of attachments are relative to the working directory, on GitLab to \
            CI_PROJECT_DIR.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let paths = arguments.positionals
        let logs = arguments.values(of: "--log")
        let events = arguments.values(of: "--events")
        let isBare = paths.isEmpty && logs.isEmpty && events.isEmpty
        let (bundles, code) = try console.resultBundles(at: isBare ? [console.artifactsPath] : paths)
        if bundles.isEmpty, code != .done, logs.isEmpty, events.isEmpty { return code }
        var attempts: [TestAttempt] = []
        var report: [TestAttempt] = []
        for path in logs {
            let log = try XCTestLog(ofFile: path)
            if log.attempts.isEmpty, log.passed.isEmpty {
                try console.warn(
                    "'\(path)' has no results of XCTest. Give a file with what the tests printed.")
            }
            attempts += log.attempts
            report += log.passed
        }
        for path in events {
            let stream = try EventStream(ofFile: path)
            if stream.attempts.isEmpty {
                try console.warn(
                    "'\(path)' has no results of Swift Testing. Give a file that "
                        + "'swift test --event-stream-output-path' has written.")
            }
            attempts += stream.attempts
        }
        let results = TestResults(attempts: attempts, report: report, bundles: bundles)
        let text = JUnitText(
            results: results, attachment: JUnitText.attachment(environment: console.environment))
        if let output = arguments.value(of: "--output"), output != "-" {
            try WholeFile.write(text, to: output)
        } else {
            try text.write { try console.output.write($0) }
        }
        return code
    }
}

struct SummaryCommand: Command {
    static let syntax = Syntax(
        command: "summary", summary: "Summarize failures in Markdown, for the page of a CI run",
        positionals: [.paths],
        options: [
            Syntax.Option(
                "--output", short: "-o", value: "FILE",
                help:
                    "The file for the Markdown, which is replaced if it exists; - for standard output. By default, "
                    + "the text is added to the file that GITHUB_STEP_SUMMARY names, or else goes to standard output."
            )
        ],
        discussion: """
            Failures with one cause are listed together, and the causes with the best findings come first. The first \
            are described, and the rest are counted, so that the text has at most 1 MiB, including what GitHub's file \
            contains already.

            On GitHub, 'failure-artifacts run' does all this by itself.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let (bundles, code) = try console.resultBundles(at: arguments.positionals)
        if bundles.isEmpty, code != .done { return code }
        let output = arguments.value(of: "--output")
        let causes = BundleCause.causes(of: bundles)
        var summary = SummaryMarkdown(causes: causes)
        summary.isPart = code != .done
        let variable = console.environment["GITHUB_STEP_SUMMARY", default: ""]
        if let output, output != "-" {
            try WholeFile.write(summary.text, to: output)
        } else if output == nil, !variable.isEmpty {
            do {
                try summary.append(to: variable)
            } catch {
                throw CommandError(
                    .inputOutput,
                    "GITHUB_STEP_SUMMARY is '\(variable)', which cannot be written: \(error.reason). "
                        + "Give another file with -o.")
            }
        } else {
            try console.output.writeLines(summary.text)
        }
        return code
    }
}
