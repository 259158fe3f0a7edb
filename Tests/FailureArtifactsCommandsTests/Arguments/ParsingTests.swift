import FailureArtifactsAnalysis
import FailureArtifactsBundle
@testable import FailureArtifactsCommands
import FailureArtifactsTestFixtures
import Testing

@Suite struct ParsingTests {
    private let syntax = Syntax(
        command: "query", summary: "Query", positionals: [.bundle, Syntax.Positional("SQL", help: "")],
        options: [
            .store, .json(""), Syntax.Option("--output", short: "-o", value: "DIR", help: ""),
            Syntax.Option("--at", value: "COMMIT", help: ""),
        ])

    private let passing = Syntax(
        command: "open", summary: "Open", positionals: [.bundle],
        options: [.store], rest: Syntax.Positional("ARGS", help: ""))

    @Test(arguments: [
        ["a", "b", "--store", "x"], ["a", "--store=x", "b"], ["--store", "x", "a", "b"],
        ["--store=y", "--store=x", "a", "--", "b"],
    ])
    func optionsComeAnywhere(_ arguments: [String]) throws {
        let parsed = try syntax.parsed(arguments)
        #expect(parsed.positionals == ["a", "b"])
        #expect(parsed.value(of: "--store") == "x")
        #expect(Array(parsed.values.keys) == ["--store"])
    }

    @Test func optionsMayBeRepeatedAndLastPositionalsLeftOut() throws {
        let syntax = Syntax(
            command: "diff", summary: "",
            positionals: [
                Syntax.Positional("A", help: ""), Syntax.Positional("B", isOptional: true, help: ""),
            ],
            options: [.store]
        )
        let parsed = try syntax.parsed(["a", "--store", "x", "--store=y"])
        #expect(parsed.positionals == ["a"])
        #expect(parsed.values(of: "--store") == ["x", "y"])
        #expect(throws: CommandError.self) { try syntax.parsed([]) }
        #expect(throws: CommandError.self) { try syntax.parsed(["a", "b", "c"]) }
    }

    @Test func theArtifactsDirectoryIsTheDefault() throws {
        #expect(
            try syntax.parsed(["SELECT 1", "--store", "x"]).positionals == ["artifacts", "SELECT 1"])
        #expect(try passing.parsed([]).positionals == ["artifacts"])
        #expect(try passing.parsed(["--", "-box"]).positionals == ["artifacts"])
        for command: any Command.Type in [
            ListCommand.self, ShowCommand.self, VerifyCommand.self, DiffCommand.self,
            ExtractCommand.self,
        ] {
            #expect(try command.syntax.parsed([]).positionals == ["artifacts"])
            #expect(try command.syntax.parsed(["a"]).positionals == ["a"])
        }
        for words in [
            ["loan WHERE 1"], ["loan", "3"], ["rate", "2026-03-12", "EUR"], ["loan", "WHERE", "1"],
        ] {
            #expect(try BlameCommand.syntax.parsed(words).positionals == ["artifacts"] + words)
            for bundle in [
                "./loan", "/tmp", "0a1b2c3d", "T.a-0a1b2c3d", "T.a-0a1b2c3d.zip", "Package.swift",
            ]
            where words.count > 1 {
                #expect(try BlameCommand.syntax.parsed([bundle] + words).positionals == [bundle] + words)
            }
        }
        #expect(throws: CommandError.self) { try MergeCommand.syntax.parsed([]) }
    }

    @Test func valuesMayStartWithADash() throws {
        #expect(try syntax.parsed(["a", "b", "--at", "-2"]).value(of: "--at") == "-2")
        #expect(try syntax.parsed(["a", "b", "--at=-2"]).value(of: "--at") == "-2")
        #expect(try syntax.parsed(["a", "b", "--at=--json"]).value(of: "--at") == "--json")
        #expect(try syntax.parsed(["a", "b", "--store=k=v"]).value(of: "--store") == "k=v")
    }

    @Test func shortAndLongAreOneOption() throws {
        #expect(try syntax.parsed(["a", "b", "-o", "d"]).value(of: "--output") == "d")
        #expect(try syntax.parsed(["a", "b", "--output", "d"]).value(of: "--output") == "d")
    }

    @Test func twoDashesEndTheOptions() throws {
        #expect(try syntax.parsed(["a", "--", "-- comment"]).positionals == ["a", "-- comment"])
        let parsed = try passing.parsed(["a", "--store", "s", "--", "-box", "--", "--store"])
        #expect(parsed.rest == ["-box", "--", "--store"])
        #expect(parsed.positionals == ["a"])
    }

    @Test func aLoneDashIsNoOption() throws {
        #expect(try syntax.parsed(["-", "b"]).positionals == ["-", "b"])
    }

    @Test func aStatementThatStartsWithACommentIsNoOption() throws {
        #expect(try syntax.parsed(["a", "-- all\nSELECT 1"]).positionals == ["a", "-- all\nSELECT 1"])
        #expect(try syntax.parsed(["a", "-- x = 1", "--json"]).positionals == ["a", "-- x = 1"])
    }

    @Test func helpNeedsNothingElse() throws {
        #expect(try syntax.parsed(["--help"]).has("--help"))
        #expect(try syntax.parsed(["-h"]).has("--help"))
    }

    @Test func alternatives() throws {
        let syntax = Syntax(
            command: "reduce", summary: "", positionals: [.bundle],
            options: [
                .json(""), Syntax.Option("--sql", help: ""),
                Syntax.Option("--check", value: "SQL", help: ""),
            ],
            alternatives: [["--json", "--sql"], ["--check", "--"]],
            rest: Syntax.Positional("CMD", help: ""), needsRest: true)
        #expect(try syntax.parsed(["a", "--json", "--", "c"]).rest == ["c"])
        #expect(try syntax.parsed(["a", "--sql", "--check", "q"]).rest.isEmpty)
        for (arguments, sentence) in [
            (["a", "--sql", "--json", "--", "c"], "'--json' and '--sql' exclude each other."),
            (["a", "--check", "q", "--", "c"], "'--check' and '--' exclude each other."),
            (["a"], "'reduce' needs '--check SQL' or CMD after '--'."),
            (["a", "--"], "'reduce' needs '--check SQL' or CMD after '--'."),
            (["a", "--", ""], "'reduce' needs '--check SQL' or CMD after '--'."),
        ] {
            let error = #expect(throws: CommandError.self) { try syntax.parsed(arguments) }
            #expect(error == CommandError(.usage, sentence + " See 'failure-artifacts reduce --help'."))
        }
    }

    @Test(arguments: [
        (["a", "b", "--nope"], "'query' has no option '--nope'."),
        (["a", "b", "--nope=1"], "'query' has no option '--nope'."),
        (["a", "b", "-x"], "'query' has no option '-x'."),
        (["a", "b", "--json=yes"], "'--json' takes no value."),
        (["a", "b", "--store"], "'--store' needs a value: --store NAME."),
        (["a", "b", "--store", "--json"], "'--store' needs a value: --store NAME."),
        (["a", "b", "--store", "--"], "'--store' needs a value: --store NAME."),
        (["a", "b", "--store="], "'--store' needs a value: --store NAME."),
        (["a", "b", "--store", ""], "'--store' needs a value: --store NAME."),
        ([], "'query' needs SQL."),
        (["a", "b", "c"], "'query' does not expect 'c'."),
        (["", "b"], "BUNDLE is empty."),
    ])
    func whatMakesNoSenseIsSaid(_ arguments: [String], _ sentence: String) {
        let error = #expect(throws: CommandError.self) { try syntax.parsed(arguments) }
        #expect(error?.exitCode == .usage)
        #expect(error?.description == sentence + " See 'failure-artifacts query --help'.")
    }
}

extension Syntax {
    fileprivate func parsed(_ arguments: [String]) throws(CommandError) -> ParsedArguments {
        try parse(arguments, artifacts: "artifacts")
    }
}

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
        #expect(run("--help").output.contains("\n  verify       Check archives"))
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

@Suite struct SuggestionTests {
    @Test(arguments: [
        (["shw"], "There is no command 'shw'; the nearest name is 'show'. See"),
        (["--versoin"], "There is no option '--versoin'; the nearest name is '--version'. See"),
        (["list", "--jsn"], "'list' has no option '--jsn'; the nearest name is '--json'. See"),
        (
            ["query", "--stor=failed"],
            "'query' has no option '--stor'; the nearest name is '--store'. See"
        ),
    ]) func commandsAndOptions(arguments: [String], sentence: String) {
        let outcome = FailureArtifactsCommandsTests.run(arguments)
        #expect(
            outcome.status == 64 && outcome.error.hasPrefix("error: " + sentence), "\(outcome.error)")
    }

    /// Only the tables that the statement names are listed, and all of their columns.
    @Test func columns() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        #expect(
            run("query", bundle, "SELECT nam FROM account").error.hasSuffix(
                """
                no such column: nam. The nearest name is 'name'. The columns of account are id, name, balance.

                """))
        #expect(
            run("query", bundle, "SELECT a.colour FROM \"account\" a").error.hasSuffix(
                "no such column: a.colour. The columns of account are id, name, balance.\n"))
        #expect(run("query", bundle, "SELECT colour").error.hasSuffix("no such column: colour.\n"))
    }

    @Test func helpBeginsWithThreeCommands() throws {
        let help = run("--help").output
        let start = try #require(help.firstRange(of: "Start with:\n"))
        let lines = help[start.upperBound...].prefix(while: { $0 != "C" }).split(separator: "\n")
        #expect(
            lines == [
                "  failure-artifacts run -- swift test  bundles go to failure-artifacts/",
                "  failure-artifacts explain            the likely cause of the newest failure",
                "  failure-artifacts report             one page about all failures",
            ])
    }
}
