import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The statements of other tests in the test's process.
@Suite struct TestStatementsTests {
    private static let query = "SELECT count(*) FROM task"
    private static let opener = #""openedBy": {"suite": "ReaderTests", "name": "testRead"}"#

    private func explanation(
        _ log: [(sql: String, changes: Int?)], _ facts: [Int: String], store: String?
    ) throws -> Explanation {
        let fixture = try Fixture()
        let path = try fixture.bundleWithoutHistory(
            "CREATE TABLE task(id INTEGER PRIMARY KEY); INSERT INTO task VALUES (1), (2)", log: log,
            facts: facts, store: store, message: "XCTAssertEqual failed: (\"2\") is not equal to (\"3\")"
        )
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
    }

    /// The recorder attributes all statements to the only running test.
    @Test func aReaderThatAnEarlierTestLeftBehindIsNotTheTests() throws {
        let line = #""source": {"file": "Sources/A.swift", "line": 1}"#
        let facts = [0: #""phase": "earlier", "thread": "9a", "# + line, 1: #""thread": "9a", "# + line]
        let log: [(sql: String, changes: Int?)] = [(Self.query, 0), (Self.query, 0)]
        let found = try explanation(log, facts, store: Self.opener)
        #expect(found.question == nil && found.findings.isEmpty)
        #expect(
            found.notes == [
                "Store 'ledger' is left out: ReaderTests.testRead opened it, and this test isn't known to have used it."
            ])
        #expect(found.noFindings == "The test used no store.")
        func called(by function: String) -> [Int: String] {
            facts.mapValues {
                $0
                    + #","callers":[{"file":"Tests/A.swift","line":9,"function":"closure #1 in \#(function)"}]"#
            }
        }
        let other = try explanation(log, called(by: "ReaderTests.testRead()"), store: Self.opener)
        #expect(other.question == nil)
        let own = try explanation(log, called(by: "ATests.testStore()"), store: Self.opener)
        #expect(own.question != nil)
        // The test's own store, its thread, or a statement of its own.
        #expect(try explanation(log, facts, store: nil).question != nil)
        let main = facts.mapValues { $0.replacing("9a", with: "2a") }
        #expect(try explanation(log, main, store: Self.opener).question != nil)
        let longer = log + [("SELECT id FROM task", 0)]
        var more = facts
        more[2] = #""thread": "9a", "# + line
        #expect(try explanation(longer, more, store: Self.opener).question != nil)
    }
}
