import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

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
