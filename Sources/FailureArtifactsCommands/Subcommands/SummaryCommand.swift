internal import FailureArtifactsAnalysis
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

struct SummaryCommand: Command {
    static let syntax = Syntax(
        command: "summary", summary: "Summarize failures in Markdown, for the page of a CI run",
        positionals: [.paths],
        options: [
            .output(
                "The file for the Markdown, which is replaced if it exists; - for standard output. By default, the "
                    + "text is added to the file that GITHUB_STEP_SUMMARY names, or else goes to standard output."
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
