import FailureArtifactsBundle
@testable import FailureArtifactsCommands
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@Suite("junit") struct JUnitTests {
    @Test func ofBundles() throws {
        let fixture = try Fixture()
        try fixture.ledger("failure-artifacts/LedgerTests.testTransfer-1a2b3c4d.zip")
        let outcome = try Program.tool(
            "junit", "-o", "j.xml", environment: ["CI_PROJECT_DIR": ""], directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "", error: ""))
        let text = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("j.xml")), as: UTF8.self)
        #expect(
            text.contains("<failure message=\"XCTAssertEqual failed: (&quot;90&quot;) is"))
        #expect(
            text.contains(
                "[[ATTACHMENT|failure-artifacts/LedgerTests.testTransfer-1a2b3c4d.zip]]</system-out>"))
        // GitLab resolves paths from the project's directory, independent of the tool's working directory.
        let elsewhere = try Program.tool(
            "junit", fixture.path("failure-artifacts"),
            environment: ["CI_PROJECT_DIR": fixture.directory], directory: "/")
        #expect(elsewhere.output.contains("[[ATTACHMENT|failure-artifacts/LedgerTests"))
        #expect(elsewhere.output.contains("tests=\"1\" failures=\"1\""))
        #expect(run("junit", fixture.path("missing")).status == 66)
    }

    /// Output replaces only regular files.
    ///
    /// A link is followed to its file.
    @Test func whereFilesAreWritten() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        try fixture.write(Array("old".utf8), to: "there/j.xml")
        let made = try Program.run(
            "/bin/sh", ["-c", "ln -s there/j.xml link; mkfifo pipe"], directory: fixture.directory)
        #expect(made.status == 0)
        #expect(run("junit", bundle, "-o", fixture.path("link")).status == 0)
        #expect(
            try FileSystem.contents(ofFile: fixture.path("there/j.xml")).starts(
                with: Array("<?xml".utf8)))
        #expect(try FileSystem.contents(ofDirectory: fixture.path("there")) == ["j.xml"])
        for command in [["junit"], ["summary"], ["report"]] {
            for place in ["pipe", "there"] {
                let outcome = run(command + [bundle, "-o", fixture.path(place)])
                #expect(outcome.status == 74)
                let problem =
                    place == "pipe"
                    ? "is a pipe or a device, so no file is written there. Give the path of a file."
                    : "is a directory, so no file is written there. Give the path of a file."
                #expect(outcome.error == "error: '\(fixture.path(place))' \(problem)\n")
            }
        }
        let ran = try Program.tool(
            "run", "--junit", "pipe", "--", "true", directory: fixture.directory)
        #expect(ran.status == 0)
        #expect(ran.error.contains("'pipe' is a pipe or a device, so no file is written there."))
    }
}

@Suite("summary") struct SummaryCommandTests {
    @Test func aFailureInFull() throws {
        let fixture = try Fixture()
        try fixture.ledger("failure-artifacts/LedgerTests.testTransfer-1a2b3c4d.zip")
        let outcome = try Program.tool(
            "summary", "failure-artifacts", environment: ["GITHUB_STEP_SUMMARY": ""],
            directory: fixture.directory)
        #expect(
            outcome
                == Outcome(
                    status: 0,
                    output: """
                        ## 1 failed test

                        To get the bundles: `gh run download 7 --dir failure-artifacts`, or unpack the artifact from the \
                        run's page, into the directory `failure-artifacts`.

                        ### `LedgerTests.testTransfer` failed

                        `Tests/LedgerTests.swift:42`

                        ```text
                        ("90") is not equal to ("100") - the money is gone
                        ```

                        Weak hint (possible): `\(Metadata.ledgerFinding), store ledger`

                        - Store `ledger: account (3 rows), in an open transaction`
                        - Store `vanished: described only`

                        ```text
                        failure-artifacts explain failure-artifacts/1a2b3c4d
                        ```

                        """, error: ""))
    }

    @Test func theFileOfTheStep() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        let step = try fixture.write(Array("before\n".utf8), to: "step.md")
        let environment = [
            "GITHUB_STEP_SUMMARY": step, "GITHUB_WORKSPACE": "/w", "PATH": "/usr/bin:/bin",
        ]
        let outcome = run("summary", bundle, environment: environment)
        #expect(outcome == Outcome(status: 0, output: "", error: ""))
        let text = String(decoding: try FileSystem.contents(ofFile: step), as: UTF8.self)
        #expect(text.hasPrefix("before\n## 1 failed test\n"))
        #expect(run("summary", bundle, "-o", "-", environment: environment).output.hasPrefix("## 1"))
        #expect(
            run("summary", bundle, "-o", fixture.path("s.md"), environment: environment).output.isEmpty)
        #expect(try FileSystem.contents(ofFile: fixture.path("s.md")).starts(with: Array("## 1".utf8)))
        #expect(run("summary", fixture.path("missing")).status == 66)
        let unusable = run(
            "summary", bundle, environment: ["GITHUB_STEP_SUMMARY": fixture.directory])
        #expect(
            unusable
                == Outcome(
                    status: 74, output: "",
                    error:
                        "error: GITHUB_STEP_SUMMARY is '\(fixture.directory)', which cannot be written: "
                        + "Is a directory. Give another file with -o.\n"))
    }
}
