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
                          failed LedgerTests.testTransfer: 90 ≠ 100 - the money is gone
                        To look at the first: failure-artifacts open failure-artifacts/LedgerTests.testTransfer-1a2b3c4d.zip

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
                                .replacing("08:09.120Z", with: "08:\(10 + number).120Z").utf8)
                    )
                ])
        }
        try fixture.write([1, 2, 3], to: "new/0.zip")
        let lines = RunSummary.lines(
            before.bundles(), recovered: 2, directory: fixture.path("new"),
            workingDirectory: fixture.directory, for: Memory().output())
        #expect(
            lines == [
                "failure-artifacts: 13 bundles in new, 2 of a test that could not leave one itself",
                "  failed PlainTests.test0: m more\\u{1b}[2J",
                "  failed PlainTests.test1: m more\\u{1b}[2J",
                "  failed PlainTests.test2: m more\\u{1b}[2J",
                "  and 10 more: failure-artifacts list new",
                "To look at the first: failure-artifacts open new/20.zip",
            ])
    }

    @Test func crashesComeFirstWithTheirFinding() throws {
        func metadata(_ name: String, _ outcome: BundleMetadata.Outcome) throws -> BundleMetadata {
            var metadata = try BundleMetadata(
                json: Array(Metadata.plain(test: name, message: "m").utf8), of: "sample")
            metadata.outcome = outcome
            return metadata
        }
        let finding = Finding(
            code: .orphan, title: "posting 31\u{1B}[2J", confidence: .likely, transaction: 6,
            explanation: "")
        let lines = RunSummary.lines(
            [
                ("/w/new/a.zip", try metadata("a", .failed)),
                ("/w/new/b.zip", try metadata("b", .crashed)),
            ],
            recovered: 0, directory: "/w/new", workingDirectory: "/w",
            findings: ["/w/new/a.zip": finding],
            for: Memory().output())
        #expect(
            lines == [
                "failure-artifacts: 2 bundles in new", "  crashed PlainTests.b: m",
                "  failed PlainTests.a: m",
                "    posting 31\\u{1b}[2J, transaction 6", "    failure-artifacts show new/a.zip",
                "To look at the first: failure-artifacts open new/b.zip",
            ])
    }

    /// The test that crashed comes before the tests that its crash ended.
    @Test func theTestThatCrashedComesFirst() throws {
        func metadata(_ name: String, _ suspects: BundleMetadata.Suspects?) throws -> BundleMetadata {
            var metadata = try BundleMetadata(
                json: Array(Metadata.plain(test: name, message: "m").utf8), of: "sample")
            metadata.outcome = .crashed
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
        let lines = RunSummary.lines(
            [("/w/a.zip", try metadata("a", other)), ("/w/z.zip", try metadata("z", nil))], recovered: 2,
            directory: "/w", workingDirectory: "/w", for: Memory().output())
        #expect(
            lines[1...2] == [
                "  crashed PlainTests.z: Index out of range, Cart.swift:42",
                "  crashed PlainTests.a: PlainTests.z crashed: Index out of range, Cart.swift:42",
            ])
        #expect(lines.last == "To look at the first: failure-artifacts open z.zip")
    }

    @Test func testsWithoutABundleAreNamed() throws {
        let tests = (0..<5).map { number in
            TestIdentity(
                framework: TestIdentity.swiftTesting, module: "M", suite: "S", name: "test\(number)")
        }
        let advice =
            "  For bundles, link FailureArtifacts to the test target; if that isn't enough, import "
            + "FailureArtifactsTesting and add the trait: @Suite(.failureArtifacts)"
        func lines(_ bundles: [(path: String, metadata: BundleMetadata?)], _ count: Int) -> [String] {
            RunSummary.lines(
                bundles, recovered: 1, hint: TraitHint(Array(tests.prefix(count))), directory: "/new",
                workingDirectory: "/", report: "report.html", for: Memory().output())
        }
        #expect(lines([], 0) == [])
        #expect(
            lines([], 5) == [
                "failure-artifacts: 5 failed tests of Swift Testing left no bundle: "
                    + "S.test0(), S.test1(), S.test2() and 2 more", advice,
            ])
        let all = lines((0..<9).map { (path: "/new/\($0).zip", metadata: nil) }, 1)
        #expect(all.count == 9)
        #expect(
            all[5...6] == ["  1 failed test of Swift Testing left no bundle: S.test0()", advice])
    }

    @Test func unreadableBundlesAreNamedToo() throws {
        let fixture = try Fixture()
        let before = NewBundles(in: fixture.directory)
        try fixture.write([1, 2, 3], to: "a\u{1B}b.zip")
        let lines = RunSummary.lines(
            before.bundles(), recovered: 0, directory: fixture.directory, workingDirectory: "/",
            for: Memory().output())
        #expect(lines.count == 3)
        #expect(lines[1] == "  a\\u{1b}b.zip (not readable)")
    }

    @Test(arguments: [20, 40, 80]) func linesFitTheTerminal(_ width: Int) throws {
        let fixture = try Fixture()
        let before = NewBundles(in: fixture.directory)
        try fixture.plain(
            "a.zip", test: "test果物を更新できる", message: String(repeating: "果物 ", count: 100))
        let lines = RunSummary.lines(
            before.bundles(), recovered: 0, directory: fixture.directory,
            workingDirectory: fixture.directory,
            for: Memory().output(terminal: Terminal(width: width, hasColour: false)))
        let test = TestIdentity(
            framework: TestIdentity.swiftTesting, module: nil, suite: "果物",
            name: String(repeating: "果物", count: 100))
        let hint = RunSummary.lines(
            [], recovered: 0, hint: TraitHint([test]), directory: fixture.directory,
            workingDirectory: fixture.directory,
            for: Memory().output(terminal: Terminal(width: width, hasColour: false)))
        for line in [lines[1], hint[0]] {
            #expect(TextWidth.columns(of: line) <= width)
            #expect(TextWidth.columns(of: line) >= width - 1)
            #expect(line.contains("…"))
        }
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
        let command = try #require(line.split(separator: ": ", maxSplits: 1).last)
        let opened = try Program.run(
            "/bin/sh", ["-c", String(command)], environment: environment, directory: fixture.directory)
        #expect(opened.status == 0)
        #expect(opened.error.hasPrefix("LedgerTests.testTransfer failed\n"))
    }
}
