@testable import FailureArtifactsTestRun
import Testing

@Suite struct FailureFilterTests {
    /// Returns what a filter passes on at once, the failing tests and the other lines.
    private func filtered(
        _ text: String, hasFailed: Bool = true, passesTotals: Bool = false, pieces: Int = 7
    ) -> (passed: String, failures: [FailureFilter.Failure], others: String) {
        let filter = FailureFilter(passesTotals: passesTotals)
        var passed: [UInt8] = []
        let bytes = Array(text.utf8)
        // The output comes in pieces that don't end with lines.
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
            passed += piece.withUnsafeBytes { filter.passed($0, of: 0) }
        }
        passed += filter.end(of: 0)
        let (failures, others) = filter.finish(hasFailed: hasFailed)
        return (String(decoding: passed, as: UTF8.self), failures, others)
    }

    private static let build = """
        [0/1] Planning build
        Building for debugging...
        [3/7] Compiling Ledger Ledger.swift
        /home/ada/Ledger.swift:3:9: warning: variable 'x' was never used
        Build complete! (3.21s)

        """

    private static let xctest = """
        Test Suite 'All tests' started at 2026-11-29 11:04:24.101
        Test Suite 'LedgerTests' started at 2026-11-29 11:04:24.112
        Test Case 'LedgerTests.testBad' started at 2026-11-29 11:04:24.112
        noise of bad
        /home/ada/A.swift:4: error: LedgerTests.testBad : XCTAssertEqual failed: ("1") is not equal to ("2") - two
        lines
        Test Case 'LedgerTests.testBad' failed (0.008 seconds)
        Test Case 'LedgerTests.testGood' started at 2026-11-29 11:04:24.119
        noise of good
        Test Case 'LedgerTests.testGood' passed (0.0 seconds)
        Test Case 'LedgerTests.testSkipped' started at 2026-11-29 11:04:24.120
        /home/ada/A.swift:5: LedgerTests.testSkipped : Test skipped - not now
        Test Case 'LedgerTests.testSkipped' skipped (0.0 seconds)
        Test Case 'LedgerTests.testThrows' started at 2026-11-29 11:04:24.120
        open line<EXPR>:0: error: LedgerTests.testThrows : threw error "CancellationError()"
        failure-artifacts: LedgerTests.testThrows failed. To find out why: failure-artifacts explain 9bf3f248
        Test Case 'LedgerTests.testThrows' failed (0.001 seconds)
        Test Suite 'LedgerTests' failed at 2026-11-29 11:04:24.121
        \t Executed 4 tests, with 1 test skipped and 3 failures (1 unexpected) in 0.009 (0.009) seconds
        Test Suite 'All tests' failed at 2026-11-29 11:04:24.121
        \t Executed 4 tests, with 1 test skipped and 3 failures (1 unexpected) in 0.009 (0.009) seconds

        """

    private static let swiftTesting = """
        ◇ Test run started.
        ↳ Testing Library Version: 6.3.1 (937120cbc281cf2)
        ◇ Suite NewTests started.
        ◇ Test known() started.
        ◇ Test "A "display" name" started.
        ➜ Test off() skipped: "later"
        ◇ Test good() started.
        ◇ Test many(x:) started.
        ✘ Test "A "display" name" recorded an issue at B.swift:4:73: Expectation failed: [1, 2] == [1, 3]
        ± inserted [2], removed [3]
        ↳ a comment
          of two lines
        ⚠︎ Test warns() recorded a warning at B.swift:8:38: Issue recorded
        ↳ only a warning
        noise of one of them
        ◇ Test case passing 1 argument x → 2 to many(x:) started.
        ✘ Test many(x:) recorded an issue with 1 argument x → 2 at B.swift:5:82: Expectation failed: (x → 2) != 2
        ✔ Test good() passed after 0.011 seconds.
        ✘ Test "A "display" name" failed after 0.014 seconds with 1 issue.
        ✘ Test many(x:) with 3 test cases failed after 0.011 seconds with 1 issue.
        ━ Test known() recorded a known issue at B.swift:7:55: Issue recorded
        ↳ known
        ━ Test known() passed after 0.015 seconds with 1 known issue.
        ✘ Suite NewTests failed after 0.016 seconds with 5 issues (including 1 warning and 1 known issue).
        ✘ Test run with 7 tests in 1 suite failed after 0.025 seconds with 5 issues.
        late noise

        """

    @Test(arguments: [1, 7, 100_000])
    func failingTestsAreKeptWithWhatTheyPrint(_ pieces: Int) {
        let (passed, failures, others) = filtered(
            Self.build + Self.xctest + Self.swiftTesting, pieces: pieces)
        #expect(passed == "/home/ada/Ledger.swift:3:9: warning: variable 'x' was never used\n")
        #expect(others == "noise of one of them\nlate noise")
        #expect(
            failures.map(\.name) == [
                "LedgerTests.testBad", "LedgerTests.testThrows", "\"A \"display\"", "many(x:)",
            ])
        #expect(
            failures.map(\.text) == [
                """
                noise of bad
                /home/ada/A.swift:4: error: LedgerTests.testBad : XCTAssertEqual failed: ("1") is not equal to ("2") - two
                lines
                Test Case 'LedgerTests.testBad' failed (0.008 seconds)
                """,
                """
                open line<EXPR>:0: error: LedgerTests.testThrows : threw error "CancellationError()"
                Test Case 'LedgerTests.testThrows' failed (0.001 seconds)
                """,
                """
                ✘ Test "A "display" name" recorded an issue at B.swift:4:73: Expectation failed: [1, 2] == [1, 3]
                ± inserted [2], removed [3]
                ↳ a comment
                  of two lines
                ✘ Test "A "display" name" failed after 0.014 seconds with 1 issue.
                """,
                """
                ✘ Test many(x:) recorded an issue with 1 argument x → 2 at B.swift:5:82: Expectation failed: (x → 2) != 2
                ✘ Test many(x:) with 3 test cases failed after 0.011 seconds with 1 issue.
                """,
            ])
    }

    @Test func ofPassingTestsNothingIsKept() {
        let lines = Self.swiftTesting.split(separator: "\n").filter { !$0.hasPrefix("✘") }
        let (passed, failures, others) = filtered(lines.joined(separator: "\n"), hasFailed: false)
        #expect(passed.isEmpty && failures.isEmpty && others.isEmpty)
    }

    @Test func linesMayHaveColors() {
        let plain = filtered(Self.swiftTesting).failures.map(\.name)
        let lines = Self.swiftTesting.split(separator: "\n").map {
            "\u{1B}[91m\($0.prefix(1))\u{1B}[0m\($0.dropFirst())"
        }
        #expect(filtered(lines.joined(separator: "\n")).failures.map(\.name) == plain)
    }

    @Test func otherOutputIsPassedOn() {
        let build = """
            Building for debugging...
            /home/ada/Ledger.swift:3:9: error: cannot find 'x' in scope
            error: fatalError
            """
        let text = "\u{FFFD}\r\n\n" + build
        #expect(
            filtered(text).passed
                == text.replacing("Building for debugging...\n", with: ""))
        // A script can build again after tests.
        #expect(filtered(Self.xctest + build).passed.hasSuffix("error: fatalError"))
        #expect(filtered(Self.xctest + build).passed.hasPrefix("/home/ada/Ledger.swift:3:9: error:"))
    }

    @Test func whatIsNotUnderstoodIsKeptIfTheCommandFails() {
        let lines = (1...100).map { "line \($0)\n" }.joined()
        let start = "◇ Test run started.\n"
        #expect(filtered(start + lines).others == lines.dropLast())
        #expect(filtered(start + lines, hasFailed: false).others.isEmpty)
        // If the failing test is known, only the last lines may be of interest.
        #expect(filtered(Self.xctest + lines).others.split(separator: "\n").count == 30)
        let totals = "✔ Test run with 7 tests in 1 suite passed after 0.025 seconds.\n"
        #expect(filtered(start + totals, passesTotals: true).passed == totals)
        #expect(filtered(start + totals).passed.isEmpty)
    }

    @Test func aTestWhoseProcessCrashes() {
        let start = "Test Case 'LedgerTests.testCrash' started at 2026-11-29 11:04:24.112\n"
        let crash = "noise\nLedger.swift:3: Fatal error: the end\n"
        let failures = filtered(start + crash + Self.swiftTesting).failures
        #expect(failures.first?.name == "LedgerTests.testCrash")
        #expect(failures.first?.text == String(crash.dropLast()))
        #expect(failures.count == 3)
    }
}
