internal import FailureArtifactsReading
import FailureArtifactsBundle
import FailureArtifactsReport
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestRun
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsCommands

@Suite struct SummaryTests {
    /// Returns the last lines of a run whose bundles are in a directory of its working directory.
    private func summary(
        _ bundles: [(path: String, metadata: BundleMetadata?)], recovered: Int, _ directory: String,
        of workingDirectory: String, findings: [String: Finding] = [:], terminal: Terminal? = nil
    ) -> [String] {
        let output = Memory().output(terminal: terminal)
        return RunOutputs(
            console: Console(output: output, error: output, environment: [:]), bundles: bundles,
            directory: directory.isEmpty ? workingDirectory : workingDirectory + "/" + directory,
            workingDirectory: workingDirectory, findings: findings
        ).summary(recovered: recovered)
    }

    @Test func newBundlesAreCountedAndNamed() throws {
        let fixture = try Fixture()
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        try fixture.plain("failure-artifacts/Old.old-00000000.zip")
        let outcome = try Program.tool(
            "run", "--", "sh", "-c", "cp made/* failure-artifacts; exit 1",
            environment: ["FAILURE_ARTIFACTS_DIR": ""], directory: fixture.directory)
        #expect(
            outcome
                == Outcome(
                    status: 1, output: "",
                    error: """
                        failure-artifacts: 1 bundle in failure-artifacts
                          To get the bundles: gh run download 7 --dir failure-artifacts, or unpack the artifact from the run's page, into the directory failure-artifacts.
                          failed LedgerTests.testTransfer: 90 ≠ 100 - the money is gone
                            Weak hint (possible): \(Metadata.ledgerFinding), store ledger
                            failure-artifacts explain failure-artifacts/1a2b3c4d

                        """))
    }

    @Test func nothingIsSaidOfBundlesThatWereThere() throws {
        let fixture = try Fixture()
        try fixture.plain("failure-artifacts/Old.old-00000000.zip")
        try fixture.plain("made/failure-artifacts/new-00000000.zip")
        let outcome = try Program.tool(
            "run", "--", "touch", "failure-artifacts/.new.zip", "failure-artifacts/log.txt",
            environment: ["FAILURE_ARTIFACTS_DIR": ""], directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "", error: ""))
    }

    @Test func manyBundlesTakeTenLinesAtMost() throws {
        let fixture = try Fixture()
        let before = NewBundles(in: fixture.path("new"))
        // The order of the failures differs from the order of the names.
        for number in 0..<12 {
            try fixture.zip(
                "new/\(20 - number).zip",
                [
                    (
                        "metadata.json",
                        Array(
                            Metadata.plain(test: "test\(number)", message: "m\\n\\nmore\\u001b[2J")
                                .replacing(
                                    "\"fingerprint\": \"0\"", with: "\"fingerprint\": \"\(number)\""
                                )
                                .replacing("GITHUB_RUN_ID", with: "GITHUB_SHA")
                                .replacing("08:09.120Z", with: "08:\(10 + number).120Z").utf8)
                    )
                ])
        }
        try fixture.write([1, 2, 3], to: "new/0.zip")
        let lines = summary(before.bundles(), recovered: 2, "new", of: fixture.directory)
        #expect(
            lines == [
                "failure-artifacts: 13 bundles in new",
                "  2 bundles were recovered from tests whose processes died",
                "  To get the bundles, download the directory new that the job uploaded.",
                "  failed PlainTests.test0: m more\\u{1b}[2J",
                "    It used no store.",
                "  failed PlainTests.test1: m more\\u{1b}[2J",
                "    It used no store.",
                "  failed PlainTests.test2: m more\\u{1b}[2J",
                "    It used no store.",
                "  and 10 more: failure-artifacts list new",
            ])
    }

    private func metadata(
        _ name: String, _ outcome: BundleMetadata.Outcome, file: String? = nil
    ) throws -> BundleMetadata {
        var metadata = try BundleMetadata(
            json: Array(Metadata.plain(test: name, message: "m").utf8), of: "sample")
        metadata.outcome = outcome
        metadata.fingerprint = name
        metadata.failures[0].file = file
        metadata.failures[0].line = 3
        metadata.environment.ci = nil
        return metadata
    }

    @Test func crashesComeFirstAndThenTheBestFindings() throws {
        func finding(_ title: String, _ confidence: Finding.Confidence) -> Finding {
            Finding(code: .orphan, title: title, confidence: confidence, transaction: 6, explanation: "")
        }
        let lines = summary(
            [
                ("/w/new/weak-0000000a.zip", try metadata("weak", .failed)),
                ("/w/new/a-0000000b.zip", try metadata("a", .failed)),
                ("/w/new/b-0000000c.zip", try metadata("b", .crashed)),
                ("/w/new/passed.zip", try metadata("p", .passed)),
                ("/w/new/none.zip", try metadata("none", .failed)),
                ("/w/new/c-0000000d.zip", try metadata("c", .failed)),
            ],
            recovered: 1, "new", of: "/w",
            findings: [
                "/w/new/weak-0000000a.zip": finding("weak", .possible),
                "/w/new/a-0000000b.zip": finding("posting 31\u{1B}[2J", .likely),
                // The same cause, in which numbers may differ.
                "/w/new/c-0000000d.zip": finding("posting 32\u{1B}[2J", .certain),
            ])
        #expect(
            lines == [
                "failure-artifacts: 5 bundles with 4 causes in new, besides 1 of tests that passed",
                "  1 bundle was recovered from a test whose process died", "  crashed PlainTests.b: m",
                "    failure-artifacts explain new/0000000c", "  failed PlainTests.c and 1 more: m",
                "    Cause (certain): posting 32\\u{1b}[2J, transaction 6",
                "    failure-artifacts explain new/0000000d",
                "  failed PlainTests.weak: m", "    Weak hint (possible): weak, transaction 6",
                "    failure-artifacts explain new/0000000a",
                "  and 1 more: failure-artifacts list new",
            ])
    }

    /// The test that crashed comes before the tests that its crash ended.
    @Test func theTestThatCrashedComesFirst() throws {
        func metadata(_ name: String, _ suspects: BundleMetadata.Suspects?) throws -> BundleMetadata {
            var metadata = try BundleMetadata(
                json: Array(Metadata.plain(test: name, message: "m").utf8), of: "sample")
            metadata.outcome = .crashed
            metadata.fingerprint = name
            metadata.failures = [
                .init(
                    message: "Fatal error: Index out of range\nThe process was ended.",
                    file: "/p/Cart.swift",
                    line: 42, kind: .termination, at: .now)
            ]
            metadata.failures[0].suspects = suspects
            return metadata
        }
        let other = BundleMetadata.Suspects(count: 1, tests: ["PlainTests.z"], includesTest: false)
        let lines = summary(
            [("/w/a.zip", try metadata("a", other)), ("/w/z.zip", try metadata("z", nil))],
            recovered: 2, "", of: "/w")
        #expect(
            lines.filter { $0.contains("Index") } == [
                "  crashed PlainTests.z: Index out of range, Cart.swift:42",
                "  crashed PlainTests.a: PlainTests.z crashed: Index out of range, Cart.swift:42",
            ])
        #expect(lines.last == "    failure-artifacts explain a.zip")
    }

    @Test func unreadableBundlesAreNamedToo() throws {
        let fixture = try Fixture()
        let before = NewBundles(in: fixture.directory)
        try fixture.write([1, 2, 3], to: "a\u{1B}b.zip")
        let lines = summary(before.bundles(), recovered: 0, "", of: fixture.directory)
        #expect(lines.dropFirst() == ["  a\\u{1b}b.zip (not readable)"])
    }

    @Test(arguments: [20, 40, 80]) func linesFitTheTerminal(_ width: Int) throws {
        let fixture = try Fixture()
        let before = NewBundles(in: fixture.directory)
        try fixture.plain(
            "a.zip", test: "test果物を更新できる", message: String(repeating: "果物 ", count: 100))
        let lines = summary(
            before.bundles(), recovered: 0, "", of: fixture.directory,
            terminal: Terminal(width: width, hasColour: false))
        let failed = try #require(lines.first { $0.contains("failed") })
        #expect([width, width - 1].contains(TextWidth.columns(of: failed)) && failed.contains("…"))
    }

    /// The printed command works in a shell.
    @Test func theCommandThatIsPrintedWorks() throws {
        let fixture = try Fixture()
        let folder = "it's $HOME; \"a\" *"
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        let environment = [
            "FAILURE_ARTIFACTS_DIR": folder, "PATH": Path.directory(of: Program.tool) + ":/usr/bin:/bin",
        ]
        let ran = try Program.tool(
            "run", "--", "sh", "-c",
            "mkdir \"$FAILURE_ARTIFACTS_DIR\"; cp made/* \"$FAILURE_ARTIFACTS_DIR\"",
            environment: environment, directory: fixture.directory)
        let line = try #require(ran.error.split(separator: "\n").last)
        let command = try #require(line.split(separator: "    ").last)
        let opened = try Program.run(
            "/bin/sh", ["-c", String(command)], environment: environment, directory: fixture.directory)
        #expect(opened.status == 0)
        #expect(opened.output.hasPrefix("LedgerTests.testTransfer failed\n"))
    }
}
