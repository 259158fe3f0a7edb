import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The results of the failing query in the states of a history.
@Suite struct ResultChangedTests {
    private static let create =
        "CREATE TABLE task(id INTEGER PRIMARY KEY, owner TEXT, title TEXT, minutes INTEGER, done)"
    private static let fill =
        "INSERT INTO task VALUES (1, 'ann', 'Sweep', 35, 0), (2, 'ben', 'Pay rent', 20, 0), "
        + "(3, 'ben', 'Book dentist', 45, 0), (4, 'cleo', 'Sweep', 60, 0)"

    /// Reads a failure after transactions of one statement each, and a last query.
    private func evidence(
        _ statements: [String], query: String, message: String, uncommitted: String? = nil,
        in fixture: borrowing Fixture
    ) throws -> FailureEvidence {
        let all = [Self.create, Self.fill] + statements
        let log = all.map { ($0, $0 == Self.fill ? 4 : $0.hasPrefix("CREATE") ? 0 : 1) } + [(query, 0)]
        let path = try fixture.walBundle(all, uncommitted: uncommitted, log: log, message: message)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return FailureEvidence(bundle, scratch: fixture.directory)
    }

    private func findings(
        _ statements: [String], query: String, message: String, uncommitted: String? = nil
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let evidence = try evidence(
            statements, query: query, message: message, uncommitted: uncommitted, in: fixture)
        return try ResultChanged.findings(in: evidence.stores[0], of: evidence)
    }

    private func equal(_ first: String, _ second: String) -> String {
        "XCTAssertEqual failed: (\"\(first)\") is not equal to (\"\(second)\")"
    }

    private static let update = "UPDATE task SET minutes = 5 WHERE title = 'Pay rent'"
    private static let sum = "SELECT sum(minutes) FROM task"

    @Test(arguments: [true, false]) func theTransactionThatChangedASumIsNamed(isUsual: Bool) throws {
        let message = isUsual ? equal("145", "160") : equal("160", "145")
        let found = try findings([Self.update], query: Self.sum, message: message)
        let finding = try #require(found.first)
        #expect(finding.title == "Transaction 3 changed the failing query's result from 160 to 145")
        #expect(finding.explanation == "The failing query returned the expected value until then.")
        #expect(finding.confidence == .possible && finding.transaction == 3)
        #expect(finding.statement?.sql == Self.update)
        #expect(finding.rows.map(\.text) == ["task id = 2 updated: minutes 20 → 5"])
    }

    @Test(arguments: ["owner = ?", "owner IS :owner", "task.owner = @owner AND @owner NOT NULL"])
    func theValueOfAParameterIsTheOneThatGivesTheActualValue(condition: String) throws {
        let found = try findings(
            [Self.update], query: Self.sum + " WHERE " + condition, message: equal("50", "65"))
        #expect(
            found.first?.title == "Transaction 3 changed the failing query's result from 65 to 50")
        #expect(
            found.first?.explanation
                == "The failing query returned the expected value until then, with owner = 'ben'.")
    }

    @Test func twoParameters() throws {
        let found = try findings(
            [Self.update],
            query: "SELECT minutes FROM task WHERE owner = ? AND title = ?", message: equal("5", "20"))
        #expect(
            found.first?.explanation
                == "The failing query returned the expected value until then, with owner = 'ben' and title = 'Pay rent'."
        )
    }

    /// Two rows have the title, and only one of them had the expected value.
    @Test func aRareExpectedValueTellsTheParameter() throws {
        let update = "UPDATE task SET title = 'Sweep' WHERE id = 3"
        let query = "SELECT title FROM task WHERE id = ?"
        let found = try findings([update], query: query, message: equal("Sweep", "Book dentist"))
        #expect(
            found.first?.explanation
                == "The failing query returned the expected value until then, with id = 3.")
        #expect(try findings([update], query: query, message: equal("Sweep", "Dust")).isEmpty)
    }

    /// Two owners have the actual number of tasks, and one of them had the expected number before by chance.
    @Test func aSmallExpectedNumberDoesNotTellTheParameter() throws {
        let found = try findings(
            ["DELETE FROM task WHERE id = 2"], query: "SELECT count(*) FROM task WHERE owner = ?",
            message: equal("1", "2"))
        #expect(found.isEmpty)
    }

    @Test func parametersThatAreNotComparedWithAColumnAreUnknown() throws {
        for query in [
            "SELECT sum(minutes) FROM task WHERE owner LIKE ?",
            "SELECT sum(minutes) FROM task WHERE minutes <= ?",
            "SELECT sum(minutes) FROM task WHERE owner = ?1", "SELECT minutes FROM task LIMIT ?",
            "SELECT sum(minutes) FROM task WHERE owner IN (?, ?)",
        ] {
            #expect(try findings([Self.update], query: query, message: equal("50", "65")).isEmpty)
        }
    }

    /// The actual value of one owner is the expected one of another.
    @Test func ifBothOperandsCanBeResultsTheOrderIsUnknown() throws {
        let query = Self.sum + " WHERE owner = ?"
        let statements = ["UPDATE task SET minutes = 65 WHERE owner = 'cleo'", Self.update]
        #expect(try findings(statements, query: query, message: equal("50", "65")).isEmpty)
        let literal = "Expectation failed: (minutes → 50) == 65"
        #expect(try findings(statements, query: query, message: literal).count == 1)
    }

    @Test func elementsThatWereRemovedOrAddedAreNamed() throws {
        let query = "SELECT id, title FROM task WHERE done = 0 AND owner = 'ben' ORDER BY id"
        let both = "[\\\"Pay rent\\\", \\\"Book dentist\\\"]"
        for (statement, actual, expected, title) in [
            (
                "UPDATE task SET done = 1 WHERE minutes < 30", "[\\\"Book dentist\\\"]", both,
                "removed 'Pay rent' from the failing query's result"
            ),
            (
                "INSERT INTO task VALUES (5, 'ben', 'Cook', 10, 0)",
                "[\\\"Cook\\\", \\\"Book dentist\\\", \\\"Pay rent\\\"]", both,
                "added 'Cook' to the failing query's result"
            ),
            (
                "UPDATE task SET title = 'Sell' WHERE id = 2", "[\\\"Sell\\\", \\\"Book dentist\\\"]",
                both,
                "replaced 'Pay rent' with 'Sell' in the failing query's result"
            ),
            (
                "UPDATE task SET owner = 'ann' WHERE id > 1", "[]", both,
                "changed the failing query's result from 'Pay rent', 'Book dentist' to no row"
            ),
        ] {
            let message = equal(actual, expected).replacing("\\\"", with: "\"")
            let found = try findings([statement], query: query, message: message)
            #expect(found.first?.title == "Transaction 3 " + title, "\(statement)")
        }
    }

    @Test func propertiesAndNumbersOfRowsAreCompared() throws {
        let query = "SELECT * FROM task WHERE owner = ? ORDER BY id"
        let task = "Task(id: 2, title: \"Pay rent\", minutes: "
        let found = try findings(
            ["DELETE FROM task WHERE id = 3", Self.update], query: query,
            message: equal("[\(task)5)]", "[\(task)20)]"))
        #expect(
            found.first?.title
                == "Transaction 4 changed the failing query's result from (id 2, title 'Pay rent', minutes 20) "
                + "to (id 2, title 'Pay rent', minutes 5)")
        let counted = try findings(
            ["INSERT INTO task VALUES (5, 'ben', 'Cook', 10, 0)"], query: query,
            message: equal("3", "2"))
        #expect(
            counted.first?.title
                == "Transaction 3 changed the failing query's result from 2 rows to 3 rows")
    }

    @Test func aMissingRow() throws {
        let delete = "DELETE FROM task WHERE id = 3"
        let all = "SELECT title FROM task WHERE minutes = 45"
        for message in [
            "XCTUnwrap failed: expected non-nil value of type \"String\"", equal("nil", "Book dentist"),
            "Expectation failed: (title → nil)",
        ] {
            let found = try findings([delete], query: all, message: message)
            #expect(
                found.first?.title
                    == "Transaction 3 changed the failing query's result from 'Book dentist' to no row",
                "\(message)")
        }
        // The test may have asked for a row that never was there.
        let one = "SELECT title FROM task WHERE id = ?"
        let unknown = "XCTAssertNotNil failed"
        #expect(try findings([delete], query: one, message: unknown).isEmpty)
        #expect(try findings([delete], query: one, message: equal("nil", "Book dentist")).count == 1)
    }

    /// The sum passes the expected value on its way.
    @Test func anEarlierExpectedValueIsChance() throws {
        let more = "UPDATE task SET minutes = minutes + 1 WHERE id = 1"
        let found = try findings([more, more + " "], query: Self.sum, message: equal("162", "160"))
        #expect(found.isEmpty)
    }

    @Test(arguments: [
        ("SELECT sum(minutes) + 0 * random() FROM task", "(\"145\") is not equal to (\"160\")"),
        (Self.sum, "XCTAssertLessThan failed: (\"145\") is not less than (\"160\")"),
        (Self.sum, "XCTAssertTrue failed"),
        (Self.sum + "; DELETE FROM task", "(\"145\") is not equal to (\"160\")"),
    ])
    func otherQueriesAndAssertionsHaveNoFinding(query: String, message: String) throws {
        #expect(try findings([Self.update], query: query, message: message).isEmpty)
    }

    @Test func theOpenTransactionIsNamed() throws {
        let found = try findings(
            [], query: Self.sum, message: equal("145", "160"), uncommitted: Self.update)
        #expect(
            found.first?.title
                == "The open transaction changed the failing query's result from 160 to 145")
        #expect(found.first?.transaction == nil)
    }

    /// A query that names a table before it exists has no result there.
    @Test func theResultsAreListedWithoutAFinding() throws {
        let fixture = try Fixture()
        let evidence = try evidence(
            ["UPDATE task SET minutes = 30 WHERE id = 1"], query: Self.sum + " WHERE owner = 'ann'",
            message: equal("30", "31"), in: fixture)
        let last = try #require(LastActivity(evidence))
        #expect(last.transaction == 3)
        #expect(
            last.result?.sentence
                == "It returned NULL after transaction 1, 35 after transaction 2, 30 after transaction 3."
        )
    }
}
