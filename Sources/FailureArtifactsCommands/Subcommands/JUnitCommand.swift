internal import FailureArtifactsAnalysis
internal import FailureArtifactsReport
internal import FailureArtifactsTestRun

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
