import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsTestRun

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
