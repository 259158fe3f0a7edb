internal import FailureArtifactsAnalysis
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

/// `summary`: prints the failures as Markdown, for a CI page.
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
            ),
            Syntax.Option(
                "--annotations",
                help:
                    "Also print GitHub's ::error lines on standard error, at most ten. They mark the failures in the "
                    + "source."),
        ],
        discussion: """
            Failures with one cause are listed together, and the causes with the best findings come first. The first \
            are described in full, the next get one line each, and the rest are counted, so that the text has at \
            most 1 MiB, including what GitHub's file contains already.

            On GitHub, 'failure-artifacts run' does all this by itself.
            """)

    private let paths: [String]
    private let output: String?
    private let hasAnnotations: Bool

    init(_ arguments: ParsedArguments) {
        paths = arguments.positionals
        output = arguments.value(of: "--output")
        hasAnnotations = arguments.has("--annotations")
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
        if hasAnnotations {
            let lines = WorkflowCommand.annotations(
                for: causes, in: RepositoryFiles(root: console.environment["GITHUB_WORKSPACE"]))
            try console.output.flush()
            for line in lines { console.command(line) }
        }
        return code
    }
}
