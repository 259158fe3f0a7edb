import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// The earlier occurrences of a failure, in all outputs.
@Suite struct SeenBeforeTests {
    private static let line =
        "Seen 4 times before, first 2026-11-20 12:04 UTC (commit 3f2a9c1); passed on retry 1 time"

    private func bundle(
        _ fixture: borrowing Fixture, _ path: String = "made/PlainTests.test-0000000a.zip",
        commit: String = "3f2a9c1"
    ) throws {
        let metadata = Metadata.plain(test: "test", message: "m").replacing(
            "\"stores\": []",
            with: """
                "stores": [], "seenBefore": {"count": 4, "at": "2026-11-20T12:04:00.000000Z", "commit": "\(commit)",
                "passedOnRetry": 1}
                """)
        try fixture.zip(path, [("metadata.json", Array(metadata.utf8))])
    }

    @Test(arguments: [
        ["explain", "a.zip"], ["explain", "--markdown", "a.zip"], ["summary", "a.zip"],
        ["junit", "a.zip"],
    ])
    func commandsPrintIt(_ arguments: [String]) throws {
        let fixture = try Fixture()
        try bundle(fixture, "a.zip")
        let outcome = try Program.tool(arguments, directory: fixture.directory)
        #expect(outcome.status == 0 && outcome.output.contains(Self.line), "\(outcome)")
        try fixture.plain("b.zip")
        let other = try Program.tool(
            arguments.map { $0 == "a.zip" ? "b.zip" : $0 }, directory: fixture.directory)
        #expect(other.status == 0 && !other.output.contains("Seen"), "\(other)")
    }

    @Test func jsonHasIt() throws {
        let fixture = try Fixture()
        try bundle(fixture, "a.zip")
        let outcome = try Program.tool("explain", "--json", "a.zip", directory: fixture.directory)
        let text = outcome.output.split { $0.isWhitespace }.joined()
        let seen =
            #""seenBefore":{"at":"2026-11-20T12:04:00.000000Z","commit":"3f2a9c1","count":4,"passedOnRetry":1}"#
        #expect(text.contains(seen), "\(outcome)")
    }

    @Test func thePageHasIt() throws {
        let fixture = try Fixture()
        try bundle(fixture, "a.zip")
        _ = try Program.tool("report", "a.zip", "-o", "page.html", directory: fixture.directory)
        let page = try FileSystem.contents(ofFile: fixture.path("page.html"), limit: 10 << 20)
        #expect(String(decoding: page, as: UTF8.self).contains(">" + Self.line + " · "))
    }

    @Test func runPrintsIt() throws {
        let fixture = try Fixture()
        try bundle(fixture)
        let outcome = try Program.tool(
            "run", "--", "sh", "-c", "mkdir failure-artifacts; cp made/* failure-artifacts",
            environment: ["FAILURE_ARTIFACTS_DIR": ""], directory: fixture.directory)
        #expect(outcome.error.contains("\n    \(Self.line)\n"), "\(outcome)")
    }

    @Test func itsTextIsUntrusted() throws {
        let fixture = try Fixture()
        try bundle(fixture, "a.zip", commit: "\\u001b[2J<b>`")
        for command in ["explain", "summary", "junit"] {
            let outcome = try Program.tool(command, "a.zip", directory: fixture.directory)
            #expect(outcome.output.contains("Seen 4 times") && !outcome.output.contains("\u{1B}"))
        }
        _ = try Program.tool("report", "a.zip", "-o", "page.html", directory: fixture.directory)
        let page = try FileSystem.contents(ofFile: fixture.path("page.html"), limit: 10 << 20)
        #expect(String(decoding: page, as: UTF8.self).contains("2J&lt;b&gt;`"))
    }
}
