import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

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
