import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// `run --junit`, `run --report` and `run` on GitHub.
@Suite struct RecorderTests {
    private static let log = """
        print("Test Case 'A.a' started at now")
        print("/p/A.swift:3: error: A.a : XCTAssertTrue failed - <why>")
        print("Test Case 'A.a' failed (0.25 seconds)", flush=True)
        print("Test Case '-[M.B b]' started.", file=sys.stderr)
        print("Test Case '-[M.B b]' passed (0.5 seconds).", file=sys.stderr, flush=True)
        """

    private static let expected = """
        <testcase classname="A" name="a" time="0.250">
              <failure message="XCTAssertTrue failed - &lt;why&gt;" type="XCTAssertTrue">
        """

    /// The tool reads the log from both outputs and passes it on unchanged.
    @Test func aLogAtPipes() throws {
        let fixture = try Fixture()
        try fixture.write(Array(("import sys\n" + Self.log).utf8), to: "log.py")
        let direct = try Program.run(
            "/usr/bin/env", ["python3", "log.py"], directory: fixture.directory)
        let outcome = try Program.tool(
            "run", "--junit", "new/j.xml", "--", "python3", "log.py",
            environment: ["FAILURE_ARTIFACTS_DIR": ""], directory: fixture.directory)
        #expect(outcome == direct)
        let text = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("new/j.xml")), as: UTF8.self)
        #expect(text.contains(Self.expected))
        #expect(text.contains("<testcase classname=\"B\" name=\"b\" time=\"0.500\"/>"))
        #expect(text.contains("<testsuites tests=\"2\" failures=\"1\" errors=\"0\" time=\"0.750\">"))
    }

    @Test func whatMakesNoSense() {
        #expect(run("run", "--junit", "", "--", "true").status == 64)
    }

    @Test func resultsOfAnEarlierRunDoNotStay() throws {
        let fixture = try Fixture()
        try fixture.write(Array("old".utf8), to: "j.xml")
        let outcome = try Program.tool(
            "run", "--junit", "j.xml", "--", "/no/such/program", directory: fixture.directory)
        #expect(outcome.status == 127)
        #expect(try FileSystem.status(of: fixture.path("j.xml")) == nil)
    }

    @Test func aFileThatCannotBeWritten() throws {
        let fixture = try Fixture()
        try fixture.write([], to: "file")
        let outcome = try Program.tool(
            "run", "--junit", "file/j.xml", "--", "sh", "-c", "exit 3", directory: fixture.directory)
        #expect(outcome.status == 3)
        #expect(outcome.error.hasPrefix("warning: The results could not be written to 'file/j.xml'."))
    }

    // MARK: - The report

    @Test func thePageIsBesideTheBundles() throws {
        let fixture = try Fixture()
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        try fixture.plain("failure-artifacts/Old.old-00000000.zip", test: "testOld")
        let environment = ["FAILURE_ARTIFACTS_DIR": ""]
        let outcome = try Program.tool(
            "run", "--report", "--", "sh", "-c", "cp made/* failure-artifacts; exit 1",
            environment: environment, directory: fixture.directory)
        #expect(outcome.status == 1)
        #expect(outcome.error.hasSuffix("To see all of them: failure-artifacts/report.html\n"))
        let page = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("failure-artifacts/report.html")),
            as: UTF8.self)
        #expect(page.hasSuffix("</html>\n"))
        #expect(!page.contains("testOld"))
        #expect(
            try FileSystem.contents(ofDirectory: fixture.path("failure-artifacts")).sorted() == [
                "LedgerTests.testTransfer-1a2b3c4d.zip", "Old.old-00000000.zip", "report.html",
            ])
    }

    @Test func withoutBundlesThereIsNoPage() throws {
        let fixture = try Fixture()
        let outcome = try Program.tool(
            "run", "--report", "--", "true", environment: ["FAILURE_ARTIFACTS_DIR": ""],
            directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "", error: ""))
        #expect(try FileSystem.contents(ofDirectory: fixture.directory).isEmpty)
    }

    // MARK: - GitHub

    @Test func onGitHub() throws {
        let fixture = try Fixture()
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        let environment = [
            "FAILURE_ARTIFACTS_DIR": "", "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": fixture.path("step.md"), "GITHUB_WORKSPACE": fixture.directory,
        ]
        let script = "echo ::error::stolen; mkdir failure-artifacts; cp made/* failure-artifacts; exit 1"
        let outcome = try Program.tool(
            "run", "--", "sh", "-c", script, environment: environment, directory: fixture.directory)
        #expect(outcome.status == 1)
        #expect(outcome.output == "::error::stolen\n")
        var lines = outcome.error.split(separator: "\n").map(String.init)
        let annotation =
            "::error file=Tests/LedgerTests.swift,line=42,title=LedgerTests.testTransfer failed::"
            + "(\"90\") is not equal to (\"100\") - the money is gone"
            + "%0AWeak hint (possible): \(Metadata.ledgerFinding), store ledger"
        try #require(lines.count == 8)
        #expect(lines[0].hasPrefix("::stop-commands::"))
        #expect(lines[6] == "::" + lines[0].dropFirst("::stop-commands::".count) + "::")
        #expect(lines[7] == annotation)
        let text = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("step.md")), as: UTF8.self)
        #expect(text.hasPrefix("## 1 failed test\n"))
        #expect(
            text.contains("failure-artifacts explain failure-artifacts/1a2b3c4d"))

        // With the option, all output of the command is between the two lines too.
        try FileSystem.remove(fixture.path("failure-artifacts"))
        let stopped = try Program.run(
            "/bin/sh", ["-c", "\"$0\" run --stop-commands -- sh -c \"$1\" 2>&1", Program.tool, script],
            environment: environment, directory: fixture.directory)
        lines = stopped.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 9)
        #expect(lines[0].hasPrefix("::stop-commands::"))
        #expect(lines[1] == "::error::stolen")
        #expect(lines[7] == "::" + lines[0].dropFirst("::stop-commands::".count) + "::")
        #expect(lines[8] == annotation)
    }

    /// GitHub recognises a command only at the start of a line, but the tests' last output may lack a line ending.
    @Test(arguments: [false, true]) func anOpenLineOnGitHub(_ stops: Bool) throws {
        let fixture = try Fixture()
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        let script = "printf open; mkdir failure-artifacts; cp made/* failure-artifacts"
        let outcome = try Program.run(
            "/bin/sh",
            [
                "-c", "\"$0\" run $2 -- sh -c \"$1\" 2>&1", Program.tool, script,
                stops ? "--stop-commands" : "",
            ],
            environment: [
                "FAILURE_ARTIFACTS_DIR": "", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "",
            ],
            directory: fixture.directory)
        let lines = outcome.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 9)
        let start = try #require(lines.firstIndex { $0.hasPrefix("::stop-commands::") })
        #expect(lines[stops ? 1 : 0] == "open")
        #expect(start == (stops ? 0 : 1))
        #expect(lines[7] == "::" + lines[start].dropFirst("::stop-commands::".count) + "::")
    }

    /// Commands are enabled again afterwards, even if the program couldn't be started.
    @Test func aCommandThatIsNotThereOnGitHub() throws {
        let outcome = try Program.tool(
            "run", "--stop-commands", "--", "/no/such/program", environment: ["GITHUB_ACTIONS": "true"])
        #expect(outcome.status == 127)
        let lines = outcome.error.split(separator: "\n")
        try #require(lines.count == 3)
        #expect(lines[1] == "::" + lines[0].dropFirst("::stop-commands::".count) + "::")
    }
}
