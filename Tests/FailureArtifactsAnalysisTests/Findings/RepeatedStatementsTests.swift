import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Findings about statements that ran several times.
@Suite struct RepeatedStatementsTests {
    private static let create = "CREATE TABLE event(id INTEGER PRIMARY KEY, key TEXT UNIQUE, name TEXT)"

    /// Returns the findings about a log on one connection.
    private func findings(
        _ code: Finding.Code, _ log: [(sql: String, changes: Int?)], facts: [Int: String] = [:],
        message: String = "Expectation failed: try points(\"Bea\") == 70"
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let path = try fixture.walBundle([Self.create], log: log, facts: facts, message: message)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip").findings
            .filter { $0.code == code }
    }

    // MARK: - no-effect

    @Test func theFirstOfSeveralExecutionsWithoutEffectIsShown() throws {
        let insert = "INSERT OR IGNORE INTO event (key, name) VALUES (?, ?)"
        let changes = [1, 1, 0, 1, 0, 1, 1, 0]
        let found = try findings(.noEffect, changes.map { (insert, $0) })
        #expect(found.map(\.statement?.order) == [3])
        #expect(
            found.first?.explanation.hasSuffix(
                " The test ran the statement 8 times, and 3 of these had no effect. This is the first of them."
            )
                == true)
        let never = try findings(.noEffect, [(insert, 0), (insert, 0)])
        #expect(
            never.first?.explanation.hasSuffix(
                " The test ran the statement 2 times, always without effect. This is the first of them.")
                == true)
        let once = try findings(.noEffect, [(insert, 1), (insert, 0)])
        #expect(once.first?.explanation.contains("times") == false)
    }

    @Test(arguments: [
        "Expectation failed: try points(\"Bea\") == 70",
        "XCTAssertEqual failed: (\"nil\") is not equal to (\"Optional(\"Bea\")\")",
    ])
    func theExecutionWithAValueOfTheMessageIsShown(message: String) throws {
        let log = ["Ann", "Bea", "Cy"].map { name in
            (sql: "INSERT OR IGNORE INTO event (key, name) VALUES ('k', '\(name)')", changes: 0 as Int?)
        }
        let found = try findings(.noEffect, log, message: message)
        #expect(found.map(\.statement?.order) == [2])
        #expect(
            found.first?.explanation.hasSuffix(
                "always without effect. This is the last one with 'bea', which the message names.")
                == true,
            "\(found.map(\.explanation))")
    }

    /// A name in double quotes isn't a value.
    @Test func statementsOfOtherLinesAreOthers() throws {
        let update = "UPDATE event SET name = ? WHERE id = ?"
        func source(_ line: Int) -> String {
            "\"source\":{\"file\":\"A.swift\",\"function\":\"f()\",\"line\":\(line)}"
        }
        let found = try findings(
            .noEffect, [(update, 0), (update, 0), (update, 0)],
            facts: [0: source(1), 1: source(2), 2: source(2)])
        #expect(Set(found.map(\.statement?.order)) == [1, 2])
    }

    // MARK: - full-scan

    /// SQLite counts the steps from a row to the next: 1,999 in a table of 2,000 rows.
    @Test func eachScanReadsOneRowMoreThanSteps() throws {
        let query = "SELECT * FROM event WHERE name = ?"
        let steps = "\"fullScanSteps\":1999"
        let one = try findings(.fullScan, [(query, 0)], facts: [0: steps])
        #expect(one.map(\.title) == ["A statement scanned at least 2,000 rows"])
        #expect(one.first?.explanation == "It read tables row by row.")
        let two = try findings(.fullScan, [(query, 0), (query, 0)], facts: [0: steps, 1: steps])
        #expect(two.map(\.title) == ["A statement scanned at least 4,000 rows"])
        // Other runs may not have been measured.
        #expect(two.first?.explanation == "At least 2 runs of it read tables row by row.")
        let most = "\"fullScanSteps\":\(Int.max)"
        let many = try findings(.fullScan, [(query, 0), (query, 0)], facts: [0: most, 1: most])
        #expect(many.map(\.title) == ["A statement scanned at least 9,223,372,036,854,775,807 rows"])
    }
}
