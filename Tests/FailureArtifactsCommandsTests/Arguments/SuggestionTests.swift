import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct SuggestionTests {
    @Test(arguments: [
        (["shw"], "There is no command 'shw'; the nearest name is 'show'. See"),
        (["--versoin"], "There is no option '--versoin'; the nearest name is '--version'. See"),
        (["list", "--jsn"], "'list' has no option '--jsn'; the nearest name is '--json'. See"),
        (
            ["list", "--outcom=failed"],
            "'list' has no option '--outcom'; the nearest name is '--outcome'. See"
        ),
    ]) func commandsAndOptions(arguments: [String], sentence: String) {
        let outcome = FailureArtifactsCommandsTests.run(arguments)
        #expect(
            outcome.status == 64 && outcome.error.hasPrefix("error: " + sentence), "\(outcome.error)")
    }

    @Test(arguments: [
        "LegerTests", "testTransfr", "1a2b3c4e", "LedgerTests.testTransfer-1a2b3c4d.zpi",
        "LedgerTest.testTransfers",
    ]) func bundles(name: String) throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        try fixture.plain("OtherTests.testPlain-00000000.zip")
        let outcome = run("show", fixture.path(name))
        #expect(outcome.status == 66)
        #expect(outcome.error.hasSuffix(" The nearest name is '\(bundle)'.\n"), "\(outcome.error)")
        for command in ["list", "verify", "report", "merge", "junit", "summary"] {
            let output = command == "merge" || command == "report" ? ["-o", fixture.path("out")] : []
            let outcome = run([command, fixture.path(name)] + output)
            #expect(outcome.status == 66)
            #expect(outcome.error.hasSuffix(" The nearest name is '\(bundle)'.\n"), "\(outcome.error)")
        }
        for (part, reason) in [
            ("Something", "."), ("1a2", ", or the part is too short: give at least 4 characters."),
        ] {
            #expect(
                run("show", fixture.path(part))
                    == Outcome(
                        status: 66, output: "",
                        error:
                            "error: No bundle in '\(fixture.directory)' has '\(part)' in its name\(reason) "
                            + "'failure-artifacts list' shows the names.\n"))
        }
    }

    /// The name is as short as the given one, and the extension doesn't make names alike.
    @Test func bundlesInTheWorkingDirectory() throws {
        let fixture = try Fixture()
        try fixture.ledger("other.zip")
        func error(_ name: String) throws -> String {
            try Program.tool("show", name, directory: fixture.directory).error
        }
        #expect(try error("othr.zip").hasSuffix(" The nearest name is 'other.zip'.\n"))
        #expect(try error("./othr.zip").hasSuffix(" The nearest name is './other.zip'.\n"))
        #expect(try !error("nowhere.zip").contains("nearest"))
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

    @Test func columnsOfAListHaveNamesOnATerminal() throws {
        let fixture = try Fixture()
        try fixture.ledger()
        let lines = run("list", fixture.directory, width: 140).output.split(separator: "\n")
        try #require(lines.count == 2)
        let heading = lines[0].filter { $0 != "\u{1B}" }
        for name in ["result", "time", "test", "message", "stores", "size", "bundle"] {
            #expect(heading.contains(name))
        }
        // Programs read the lines otherwise.
        #expect(!run("list", fixture.directory).output.contains("message"))
        try fixture.write([1], to: "none/file")
        #expect(!run("list", fixture.path("none"), width: 120).output.contains("message"))
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
