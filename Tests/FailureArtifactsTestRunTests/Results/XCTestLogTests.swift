import FailureArtifactsAnalysis
import FailureArtifactsTestFixtures
@testable import FailureArtifactsTestRun
import Testing

@Suite struct XCTestLogTests {
    private func log(_ text: String) -> XCTestLog {
        var log = XCTestLog()
        // Split bytes, not characters: in Swift, "\r\n" is one character.
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            log.read(bytes: Array(line))
        }
        return log
    }

    @Test func theLogOfLinux() {
        let attempts = log(
            """
            Test Suite 'All tests' started at 2026-11-21 13:11:38.580
            Test Suite 'ATests' started at 2026-11-21 13:11:38.608
            Test Case 'ATests.testAsync' started at 2026-11-21 13:11:38.608
            /p/A.swift:8: error: ATests.testAsync : failed - x
            Test Case 'ATests.testAsync' failed (0.015 seconds)
            Test Case 'ATests.testFail' started at 2026-11-21 13:11:38.623
            /p/A: B.swift:5: error: ATests.testFail : XCTAssertEqual failed: ("1") is not equal to ("2") - multi
            line : of it

            failure-artifacts: A bundle.
            /p/A.swift:6: error: ATests.testFail : XCTAssertTrue failed -\u{20}
            Test Case 'ATests.testFail' failed (0.0 seconds)
            Test Case 'ATests.testPass' started at 2026-11-21 13:11:38.623
            helloTest Case 'ATests.testPass' passed (1.5 seconds)
            Test Case 'ATests.testSkip' started at 2026-11-21 13:11:38.624
            /p/A.swift:6: ATests.testSkip : Test skipped - not here
            Test Case 'ATests.testSkip' skipped (0.0 seconds)
            Test Case 'ATests.testThrows' started at 2026-11-21 13:11:38.624
            <EXPR>:0: error: ATests.testThrows : threw error "E()"
            Test Case 'ATests.testThrows' failed (0.0 seconds)
            Test Suite 'ATests' failed at 2026-11-21 13:11:38.624
            \t Executed 5 tests, with 1 test skipped and 4 failures (1 unexpected) in 0.016 (0.016) seconds
            """
        ).attempts
        #expect(
            attempts.map(\.test.name) == ["testAsync", "testFail", "testPass", "testSkip", "testThrows"])
        #expect(attempts.allSatisfy { $0.test.suite == "ATests" && $0.test.module == nil })
        #expect(attempts.map(\.outcome) == [.failed, .failed, .passed, .skipped, .failed])
        #expect(attempts.map(\.seconds) == [0.015, 0, 1.5, 0, 0])
        #expect(
            attempts[1].failures == [
                TestAttempt.Failure(
                    message:
                        "XCTAssertEqual failed: (\"1\") is not equal to (\"2\") - multi\nline : of it\n",
                    file: "/p/A: B.swift", line: 5),
                TestAttempt.Failure(message: "XCTAssertTrue failed - ", file: "/p/A.swift", line: 6),
            ])
        #expect(attempts[3].reason == "not here")
        #expect(attempts[4].failures == [TestAttempt.Failure(message: "threw error \"E()\"")])
    }

    @Test func theLogOfApple() {
        let attempts = log(
            """
            Test Case '-[Shop.CartTests testAdd]' started.\r
            /p/C.swift:3: error: -[Shop.CartTests testAdd] : XCTAssertTrue failed\r
            Test Case '-[Shop.CartTests testAdd]' failed (0.2 seconds).\r
            Test Case '-[Shop.CartTests testAdd]' started (Iteration 2 of 3).
            Test Case '-[Shop.CartTests testAdd]' passed (0.1 seconds).
            Test Case '-[CTests testC]' started.
            Test Case '-[CTests testC]' skipped (0.1 seconds).
            """
        ).attempts
        #expect(attempts.map(\.test.module) == ["Shop", "Shop", nil])
        #expect(attempts.map(\.test.suite) == ["CartTests", "CartTests", "CTests"])
        #expect(attempts.map(\.outcome) == [.failed, .passed, .skipped])
        #expect(
            attempts[0].failures == [.init(message: "XCTAssertTrue failed", file: "/p/C.swift", line: 3)]
        )
    }

    @Test func whatHasNotEnded() {
        let log = log(
            """
            [1/3] Testing Shop.ATests/testA
            [2/3] Testing Shop.Outer.BTests/testB
            Test Case 'ATests.testA' started at now
            ATests.testB : no failure of a test that runs
            Fatal error: gone
            """)
        #expect(log.attempts.map(\.outcome) == [.unfinished])
        #expect(log.attempts[0].failures.isEmpty)
        #expect(log.passed.map(\.test.module) == ["Shop", "Shop"])
        #expect(log.passed.map(\.test.suite) == ["ATests", "Outer.BTests"])
    }

    /// Two processes write to one pipe.
    @Test func testsAtTheSameTime() {
        let attempts = log(
            """
            Test Case 'A.a' started at now
            Test Case 'B.b' started at now
            x.swift:1: error: A.a : of a
            x.swift:2: error: B.b : of b
            Test Case 'A.a' failed (0.1 seconds)
            Test Case 'B.b' failed (0.2 seconds)
            """
        ).attempts
        #expect(attempts.map { $0.failures.map(\.message) } == [["of a"], ["of b"]])
    }

    @Test(arguments: [
        "Test Case 'A.a", "Test Case '", "Test Case '.a' started", "Test Case 'A.' started",
        "[x] Testing A",
        "Test Case 'A.a' passed (", "Test Case 'A.a' exploded", "[1/2] Testing ", "[1/2] Testing A/b",
        "Test Case '-[A]' started.", ": error: A.a : x", "\u{0}\u{FFFF}",
    ])
    func linesThatMeanNothing(_ line: String) {
        let log = log(line)
        #expect(log.attempts.isEmpty)
        #expect(log.passed.isEmpty)
    }

    @Test func aTestThatPrintsWithoutEnd() {
        var log = XCTestLog()
        log.read("Test Case 'A.a' started at now")
        for number in 0..<200 { log.read("x.swift:1: error: A.a : \(number)") }
        log.read("x.swift:2: error: A.a : last")
        #expect(log.attempts[0].failures.count == TestAttempt.failureLimit)
        log = XCTestLog()
        log.read("Test Case 'A.a' started at now")
        log.read("x.swift:1: error: A.a : start")
        for _ in 0..<100 { log.read(bytes: Array(repeating: UInt8(ascii: "x"), count: 10_000)) }
        #expect(log.attempts[0].failures[0].message.utf8.count < 2 * TestAttempt.messageLimit)
    }
}

@Suite struct FailurePlacesTests {
    @Test func placesOfAllKindsOfFailures() throws {
        let fixture = try Fixture()
        let output = """
            Test Case 'LedgerTests.testMarch' started at 2026-11-21 07:08:09.123
            /home/ci/Tests/LedgerTests/LedgerTests.swift:82: error: LedgerTests.testMarch : XCTAssertEqual failed: ("1")
            ✘ Test march() recorded an issue at Ledger March.swift:12:9: Expectation failed
            ✘ Test april() recorded an issue at LedgerTests.swift:13:9: Expectation failed: a == b
            Ledger/Ledger.swift:42: Fatal error: Index out of range
            <EXPR>:0: error: LedgerTests.testThrow : threw error
            warning: nothing.swift:7
            LedgerTests.swift:x: error: no line
            """
        let path = try fixture.write(Array(output.utf8) + [0xFF, 0x0A], to: "output")
        #expect(
            try FailurePlaces.places(inOutput: path) == [
                "LedgerTests.swift:82", "LedgerTests.swift:13", "Ledger.swift:42",
            ])
    }
}
