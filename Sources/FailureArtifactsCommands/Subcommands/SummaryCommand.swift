internal import FailureArtifactsAnalysis
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

/// `summary`: prints the failures as Markdown, for a CI page.
struct SummaryCommand: Command {
    static let syntax = Syntax(
        command: "summary", summary: "Summarise failures in Markdown, for the page of a CI run",
        positionals: [.paths],
        options: [
            Syntax.Option(
                "--output", short: "-o", value: "FILE",
                help:
                    "Where the Markdown goes, over a file that is there; - for standard output. By default it "
                    + "is added to the file that GITHUB_STEP_SUMMARY names, else it goes to standard output."
            ),
            Syntax.Option(
                "--annotations",
                help:
                    "Print GitHub's ::error lines besides, on standard error, which mark the failures in the "
                    + "source: ten at most."),
        ],
        discussion: """
            Failures of one cause, as the bundles' fingerprints have it, are told once. The first are told in \
            full, the next in a line each, and the rest is counted: the text has 1 MiB at most, with what is \
            in GitHub's file already.

            `failure-artifacts run` does all this by itself on GitHub.
            """)

    private let paths: [String]
    private let output: String?
    private let hasAnnotations: Bool

    init(_ arguments: ParsedArguments) throws {
        paths = arguments.positionals
        output = arguments.value(of: "--output")
        hasAnnotations = arguments.has("--annotations")
        if output?.isEmpty == true { throw Self.syntax.usageError("'-o' needs a file.") }
    }

    func run(_ console: Console) throws -> ExitCode {
        let (bundles, code) = try console.resultBundles(at: paths)
        if bundles.isEmpty, code != .done { return code }
        let causes = BundleCause.causes(of: bundles)
        var summary = SummaryMarkdown(causes: causes)
        summary.isPart = code != .done
        let variable = console.environment["GITHUB_STEP_SUMMARY", default: ""]
        if let output, output != "-" {
            try WholeFile.write(summary.text, to: output)
        } else if output == nil, !variable.isEmpty {
            try summary.append(to: variable)
        } else {
            try console.output.write(summary.text)
        }
        if hasAnnotations {
            let lines = WorkflowCommand.annotations(
                for: causes, in: RepositoryFiles(root: console.environment["GITHUB_WORKSPACE"]))
            try console.output.flush()
            for line in lines { console.say(line) }
        }
        return code
    }
}
