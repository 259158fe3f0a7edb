internal import FailureArtifactsAnalysis
internal import FailureArtifactsReport

struct JUnitCommand: Command {
    static let syntax = Syntax(
        command: "junit", summary: "Write failures as JUnit XML, with the bundles as attachments",
        positionals: [.paths],
        options: [
            .output(
                "The file for the XML, which is replaced if it exists. By default, standard output.")
        ],
        discussion: """
            Only tests that left bundles are known. For all tests of a run, use 'failure-artifacts run --junit FILE'.

            A test that failed several times is one test case, which lists all its failures. Paths of attachments are \
            relative to the working directory, on GitLab to CI_PROJECT_DIR.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let (bundles, code) = try console.resultBundles(at: arguments.positionals)
        if bundles.isEmpty, code != .done { return code }
        let text = JUnitText(
            results: TestResults(bundles: bundles),
            attachment: JUnitText.attachment(environment: console.environment))
        if let output = arguments.value(of: "--output"), output != "-" {
            try WholeFile.write(text, to: output)
        } else {
            try text.write { try console.output.write($0) }
        }
        return code
    }
}
