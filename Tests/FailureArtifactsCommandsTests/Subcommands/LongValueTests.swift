import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct LongValueTests {
    /// The second difference is beyond the width of a value.
    @Test func blameAndDiffShowAllDifferences() throws {
        let fixture = try Fixture()
        func settings(_ language: String, _ theme: String) -> String {
            "UPDATE account SET name = '{''fontSize'':12,''language'':''\(language)'',''newsletter'':true,''theme'':''\(theme)''}'"
                + " WHERE id = 1"
        }
        let bundle = try fixture.walBundle([settings("en", "dark"), settings("de", "light")])
        for command in [["blame", bundle, "account", "1"], ["diff", bundle, "--at", "1", "--at", "2"]] {
            let outcome = run(command)
            let line = try #require(outcome.output.split(separator: "\n").last { $0.contains("→") })
            #expect(line.contains(#/'en'.*'dark'.* → .*'de'.*'light'/#), "\(outcome.output)")
        }
        let last = try #require(run("blame", bundle, "account", "1").output.split(separator: "\n").last)
        #expect(last.hasPrefix("at the failure: id = 1: name '{'fontSize':12,'language':'de',"))
        #expect(last.contains("'theme':'light'}'"))
    }
}
