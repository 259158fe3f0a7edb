import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// `Tests/Integration/checks/test_terminal.py` tests the results in the shells and in `man`.
@Suite("Completions and manual") struct ShellTests {
    @Test(arguments: Shell.allCases)
    func `Each command and option is completed`(shell: Shell) {
        let result = run("completions", shell.rawValue)
        #expect(result.status == 0)
        for syntax in CommandLineTool.commands.map({ $0.syntax }) {
            #expect(result.output.contains(syntax.command))
            for option in syntax.options {
                let name = shell == .fish ? "-l " + option.name.dropFirst(2) : option.name
                #expect(result.output.contains(name), "\(syntax.command) \(option.name)")
            }
        }
    }

    @Test func `Another shell has none`() {
        let result = run("completions", "tcsh")
        #expect(result.status == 64)
        #expect(result.error.contains("There are no completions for 'tcsh': choose bash, zsh or fish."))
        #expect(run("completions").status == 64)
    }

    @Test func `Each command and option is in the manual`() {
        let page = run("manual").output
        for syntax in CommandLineTool.commands.map({ $0.syntax }) {
            #expect(page.contains("\n.Cm \(syntax.command)\n"))
            for option in syntax.options where option.name != "--help" {
                #expect(page.contains("Fl " + option.name.dropFirst(1)), "\(option.name)")
            }
        }
        // A line that starts with a dot is a macro.
        let macros: Set = [
            "Dd", "Dt", "Os", "Sh", "Nm", "Nd", "Cm", "Op", "Pq", "Ar", "Bl", "It", "Xc", "El", "Pp",
            "Dl",
            "Xr",
            "Fl",
        ]
        for line in page.split(separator: "\n") where line.hasPrefix(".") {
            #expect(macros.contains(String(line.dropFirst().prefix(2))), "\(line)")
        }
    }

    @Test(arguments: [
        ("One sentence.", "One sentence"), ("One. Two.", "One"), ("none", "none"),
    ])
    func `The first sentence is enough for a shell`(help: String, summary: String) {
        #expect(Shell.summary(of: help) == summary)
    }
}
