import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct HelpTests {
    /// Commands without `--json`, because their output has its own format.
    private static let withoutJSON: Set = ["open", "run", "report"]

    @Test(arguments: [
        "run", "list", "show", "open", "query", "history", "diff", "extract", "verify", "sweep", "prune",
        "report", "merge",
    ])
    func everyCommandHasHelp(_ command: String) {
        let outcome = run(command, "--help")
        #expect(outcome.status == 0)
        #expect(outcome.error.isEmpty)
        #expect(outcome.output.hasPrefix("Usage: failure-artifacts \(command)"))
        #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count < 80 })
        #expect(run("help", command) == outcome)
        #expect(run(command, "-h", "--json").status == (Self.withoutJSON.contains(command) ? 64 : 0))
    }

    @Test func theToolHasHelpAndAVersion() {
        #expect(run("--help").output.contains("\n  verify   Check archives"))
        #expect(run("--help") == run("help"))
        #expect(run("--version").output == "failure-artifacts \(ToolVersion.number)\n")
    }

    @Test func usageLinesAreBrokenBetweenArguments() {
        for command in ["explain", "diff", "reduce", "run", "history"] {
            for line in run(command, "--help").output.split(separator: "\n").prefix(while: {
                !$0.hasSuffix(".")
            }) {
                let count = { (character: Character) in line.count(where: { $0 == character }) }
                #expect(count("[") == count("]") && count("(") == count(")"), "\(line)")
            }
        }
    }

    @Test func requiredOptionsHaveNoBrackets() {
        #expect(
            run("merge", "--help").output.hasPrefix(
                "Usage: failure-artifacts merge PATH… -o DIR [--json]\n"))
    }

    @Test func optionsThatExcludeEachOtherAreTogether() {
        for (command, usage) in [
            ("query", " [--csv | --json] "),
            ("explain", " [--json | --markdown] "),
            ("reduce", " (--check SQL | -- CMD…)\n\n"),
        ] {
            let help = run(command, "--help").output.replacing("\n       ", with: " ")
            #expect(help.contains(usage), "\(help)")
        }
    }

    @Test func withoutACommandTheHelpIsAnError() {
        let outcome = run()
        #expect(outcome.status == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.error.hasSuffix("error: A command is missing.\n"))
    }

    @Test(arguments: [
        ("xyz", "error: There is no command 'xyz'. See 'failure-artifacts --help'.\n"),
        ("--nope", "error: There is no option '--nope'. See 'failure-artifacts --help'.\n"),
        ("\u{1B}[31m", "error: There is no command '\\u{1b}[31m'. See 'failure-artifacts --help'.\n"),
    ])
    func unknownCommands(_ name: String, _ error: String) {
        #expect(run(name) == Outcome(status: 64, output: "", error: error))
    }
}
