import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Changes whose values a failed assertion names.
@Suite struct MessageValuesTests {
    private static let create =
        "CREATE TABLE topic(id INTEGER PRIMARY KEY, title TEXT, height INTEGER, posts INTEGER)"
    private static let fill =
        "INSERT INTO topic VALUES (1, 'Lunch', 168, 30), (2, 'Walks', 170, 45), (3, 'Books', 180, 70)"
    private static let query = "SELECT * FROM topic"

    /// Returns the findings about a failure after transactions of one statement each.
    private func findings(
        _ statements: [String], message: String, query: String = Self.query
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let all = [Self.create, Self.fill] + statements
        let log = all.map { ($0, $0 == Self.fill ? 3 : $0.hasPrefix("CREATE") ? 0 : 1) }
        let path = try fixture.walBundle(
            all, log: log + [(query, 0)], message: message)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let evidence = FailureEvidence(bundle, scratch: fixture.directory)
        return Explanation(evidence, bundle: "b.zip").findings.filter { $0.code == .messageValues }
    }

    private func equal(_ first: String, _ second: String) -> String {
        "XCTAssertEqual failed: (\"\(first)\") is not equal to (\"\(second)\")"
    }

    private static let update = "UPDATE topic SET posts = 20 WHERE id = 2"

    /// The test may have asked for it, and expect the old value.
    @Test func aChangeFromTheExpectedToTheActualValueIsPossible() throws {
        let found = try findings([Self.update], message: equal("20", "45"))
        let first = try #require(found.first)
        #expect(first.title == "topic.posts changed from 45 to 20" && first.confidence == .possible)
        #expect(first.transaction == 3 && first.statement?.sql == Self.update)
        #expect(
            first.explanation
                == "The message names '45' and '20', the values in this row before and after.")
    }

    @Test(arguments: [
        "Expectation failed: (posts → 45) == 20", "Expectation failed: 20 == (posts → 45)",
    ])
    func aChangeFromTheActualToTheExpectedValueIsNoFinding(message: String) throws {
        let found = try findings([Self.update], message: message)
        #expect(!found.contains { $0.transaction == 3 }, "\(found.map(\.title))")
    }

    /// `XCTAssertEqual(expected, actual)` and Swift Testing's comparison of two expressions don't tell the order.
    @Test(arguments: [
        "XCTAssertEqual failed: (\"Optional(45)\") is not equal to (\"Optional(20)\")",
        "Expectation failed: (expected → 45) == (posts → 20)",
    ])
    func operandsInTheOtherOrderArePossible(message: String) throws {
        let found = try findings([Self.update], message: message)
        let first = try #require(found.first)
        #expect(first.title == "topic.posts changed from 45 to 20" && first.confidence == .possible)
        #expect(first.transaction == 3)
    }

    @Test func aChangeInTheOtherOrderIsNoFindingBesideOneInTheUsualOrder() throws {
        let found = try findings(
            [Self.update, "UPDATE topic SET posts = 45 WHERE id = 3"], message: equal("45", "20"))
        #expect(found.first?.title == "topic.posts changed from 70 to 45")
        #expect(!found.contains { $0.transaction == 3 }, "\(found.map(\.title))")
    }

    @Test func aLiteralOnTheLeftIsTheExpectedValue() throws {
        let found = try findings(
            Self.overwrite, message: "Expectation failed: \"Meals\" == (title → \"Lunch\")")
        #expect(found.first?.transaction == 4 && found.first?.confidence == .likely)
    }

    private static let overwrite = [
        "UPDATE topic SET title = 'Meals' WHERE id = 1",
        "UPDATE topic SET title = 'Lunch', posts = 31 WHERE id = 1",
    ]

    /// Another column was to change, and a stale value was written along with it.
    @Test func aRowThatGotAnEarlierValueBackIsLikely() throws {
        let message = equal("Lunch", "Meals")
        let found = try findings(Self.overwrite, message: message)
        #expect(found.first?.title == "topic.title changed from 'Meals' to 'Lunch'")
        #expect(found.first?.confidence == .likely && found.first?.transaction == 4)
        // The value comes from another column.
        let moved = try findings(
            ["UPDATE topic SET height = posts, posts = height WHERE id = 2"],
            message: equal("45", "170"))
        #expect(moved.first?.confidence == .likely)
    }

    @Test(arguments: [
        // Nothing else changed.
        [overwrite[0], "UPDATE topic SET title = 'Lunch' WHERE id = 1"],
        // The same statement wrote both values.
        [
            "UPDATE topic SET title = iif(posts < 50, 'Meals', 'Lunch'), posts = posts + 40 WHERE id = 1",
            "UPDATE topic SET title = iif(posts < 50, 'Meals', 'Lunch'), posts = posts + 40 WHERE id = 1",
        ],
        // The row never had the value.
        [
            "UPDATE topic SET title = 'Meals' WHERE id = 2", overwrite[0],
            "UPDATE topic SET title = 'Food', posts = 1 WHERE id = 1",
        ],
    ])
    func aNewValueIsPossible(statements: [String]) throws {
        let isBack = statements.count == 2
        let found = try findings(statements, message: equal(isBack ? "Lunch" : "Food", "Meals"))
        #expect(found.first?.transaction == statements.count + 2)
        #expect(!found.isEmpty && found.allSatisfy { $0.confidence == .possible })
    }

    @Test func theColumnThatGotTheActualValueIsNamed() throws {
        let found = try findings(
            ["UPDATE topic SET height = 30, posts = 168 WHERE id = 1"], message: equal("30", "168"))
        #expect(found.first?.title == "topic.height changed from 168 to 30")
        #expect(!found.contains { $0.title.contains("posts changed") })
    }

    /// The table is not read, the numbers differ as little as counters do, or several rows fit.
    @Test(arguments: [
        ([Self.update], "20", "45", "SELECT count(*) FROM account"),
        (["UPDATE topic SET posts = 42 WHERE id = 2"], "42", "45", Self.query),
        (
            [
                "UPDATE topic SET posts = 45 WHERE id = 1", "UPDATE topic SET posts = 20 WHERE id = 1",
                Self.update,
            ], "20", "45", Self.query
        ),
    ])
    func valuesThatAgreeByChanceArePossible(
        statements: [String], actual: String, expected: String, query: String
    ) throws {
        let found = try findings(statements, message: equal(actual, expected), query: query)
        #expect(!found.isEmpty && found.allSatisfy { $0.confidence == .possible })
    }

    @Test(arguments: ["UPDATE topic SET title = NULL WHERE id = 2", "DELETE FROM topic WHERE id = 2"])
    func theChangeThatLostTheExpectedValueIsNamed(loss: String) throws {
        let found = try findings(
            ["UPDATE topic SET title = NULL WHERE id = 1", loss],
            message: equal("nil", "Optional(\"Walks\")"))
        try #require(found.map(\.transaction) == [4], "\(found.map(\.title))")
        #expect(found[0].statement?.sql == loss)
        #expect(
            found[0].explanation == "The message names 'Walks'"
                + (loss.hasPrefix("DELETE")
                    ? ", which this row had, and nil."
                    : " and nil, the values in this row before and after."))
        #expect(found[0].confidence == .possible)
    }

    @Test func valuesThatAreGoneOrCameBackAreNoFinding() throws {
        let gone = try findings(
            [
                "UPDATE topic SET title = 'Runs' WHERE id = 2",
                "UPDATE topic SET title = 'Rides' WHERE id = 2",
            ],
            message: equal("Runs", "Trips"))
        #expect(gone.isEmpty)
        let back = try findings(
            [
                "UPDATE topic SET title = NULL WHERE id = 2",
                "UPDATE topic SET title = 'Walks' WHERE id = 2",
            ],
            message: equal("nil", "Optional(\"Walks\")"))
        #expect(!back.contains { $0.transaction == 3 }, "\(back.map(\.title))")
        // The row has another key.
        let moved = try findings(
            ["UPDATE topic SET id = 9 WHERE id = 2"], message: equal("nil", "Optional(\"Walks\")"))
        #expect(!moved.contains { $0.rows.first?.change == .deleted }, "\(moved.map(\.title))")
    }

    @Test func theLastWriteOfAValueIsItsOrigin() throws {
        let last = "UPDATE topic SET title = 'Runs' WHERE id = 4"
        let found = try findings(
            [
                "INSERT INTO topic VALUES (4, 'Runs', 1, 1)",
                "UPDATE topic SET title = 'Rides' WHERE id = 4", last,
                "UPDATE topic SET posts = 9 WHERE id = 4",
            ],
            message: equal("Runs", "Trips"))
        #expect(found.map(\.statement?.sql) == [last])
    }

    private static let walk = "UPDATE topic SET posts = 9 WHERE id = 2"

    /// Topic 2 is in the store, and the test didn't find it.
    @Test(arguments: [
        ("[\"Books\"]", "[\"Books\", \"Walks\"]"), ("nil", "Optional(\"Walks\")"),
        ("Books", "Walks"),
    ])
    func aRowThatWasNotFoundIsExplainedByItsLastChange(actual: String, expected: String) throws {
        let found = try findings(
            ["UPDATE topic SET posts = 8 WHERE id = 2", Self.walk], message: equal(actual, expected))
        let first = try #require(found.first { $0.statement?.sql != Self.fill })
        #expect(first.statement?.sql == Self.walk && first.transaction == 4)
        #expect(first.title == "topic.posts changed from 8 to 9" && first.confidence == .possible)
        #expect(
            first.explanation
                == "The message names 'Walks', which is the row's title. This later change may have taken the row "
                + "out of the result.")
        #expect(!found.contains { $0.title == "topic.title was inserted as 'Walks'" })
    }

    /// A change of a column that the query doesn't name can't have taken the row out of its result.
    @Test func aChangeOfAnotherColumnExplainsNoMissingRow() throws {
        let found = try findings(
            [Self.walk], message: equal("[\"Books\"]", "[\"Books\", \"Walks\"]"),
            query: "SELECT title FROM topic WHERE height > ?")
        #expect(found.map(\.title) == ["topic.title was inserted as 'Walks'"])
    }

    @Test func anElementThatAListLostIsNamed() throws {
        let loss = "UPDATE topic SET title = 'Hikes' WHERE id = 2"
        let found = try findings(
            [loss], message: equal("[\"Books\", \"Lunch\"]", "[\"Books\", \"Lunch\", \"Walks\"]"))
        #expect(found.map(\.statement?.sql) == [loss] && found[0].confidence == .possible)
        #expect(found[0].explanation == "The message names 'Walks', which this row had before.")
        #expect(found[0].relevance == 48, "as much as a change that wrote an actual value")
    }

    @Test func valuesThatACounterLeftBehindAreNoFinding() throws {
        let found = try findings(
            ["UPDATE topic SET posts = posts + 1 WHERE id = 2"], message: equal("99", "45"))
        #expect(found.isEmpty, "\(found.map(\.title))")
    }

    // MARK: - Sums

    /// Each transfer has two postings.
    private func unbalanced(
        _ values: String, message: String, query: String = "SELECT * FROM posting"
    ) throws -> Finding? {
        try findings(
            [
                "CREATE TABLE posting(id INTEGER PRIMARY KEY, transferID INTEGER, cents INTEGER)",
                "INSERT INTO posting(transferID, cents) VALUES \(values)",
            ], message: message, query: query
        ).first { $0.title.hasPrefix("The sum") }
    }

    private static let balanced =
        "(1, -900), (1, 900), (2, -50), (2, 50), (3, -7), (3, 7), "
        + (5...10).map { "(\($0), -\($0)), (\($0), \($0)), " }.joined()

    @Test func aSumIsLikelyIfTheFailingQueryReadsIt() throws {
        let values = Self.balanced + "(4, -600), (4, 650), (4, 0)"
        let found = try #require(try unbalanced(values, message: equal("150", "100")))
        #expect(found.confidence == .likely)
        #expect(
            found.rows.map(\.title) == ["posting id = 19", "posting id = 20"],
            "a row with 0 adds nothing")
        let other = try unbalanced(
            values, message: equal("150", "100"), query: "SELECT count(*) FROM topic")
        #expect(other?.confidence == .possible)
    }

    @Test func equalSumsOfAFewGroupsAreNoEvidence() throws {
        let few = "(1, -900), (1, 900), (2, -50), (2, 50), (3, -7), (3, 7), (4, -600), (4, 650)"
        let found = try unbalanced(few, message: equal("150", "100"))
        #expect(found?.confidence == .possible)
    }

    @Test func equalSumsOfFlagsAreNoRule() throws {
        let flags = "(1, 1), (1, 1), (2, 1), (2, 1), (3, 1), (3, 1), "
        #expect(
            try unbalanced(flags + "(4, 1), (4, 1), (4, 1), (4, 1)", message: equal("10", "12")) == nil)
        let large = "(1, 5), (1, 5), (2, 5), (2, 5), (3, 5), (3, 5), "
        #expect(try unbalanced(large + "(4, 5), (4, 7)", message: equal("10", "12")) != nil)
    }

    // MARK: - Crashes

    @Test func aValueInTheMessageOfACrashIsSearched() throws {
        let message = "Fatal error: Unknown currency 34900"
        let found = try findings(["UPDATE topic SET title = '34900' WHERE id = 3"], message: message)
        #expect(found.map(\.title) == ["topic.title changed from 'Books' to '34900'"])
        #expect(found.first?.confidence == .possible && found.first?.transaction == 3)
    }

    /// One finding is kept for a row, and the value in the message says more than an odd text.
    @Test func aNamedValueComesBeforeAnOddTextInItsRow() throws {
        let fixture = try Fixture()
        let store = """
            CREATE TABLE product(id INTEGER PRIMARY KEY, category TEXT, currency TEXT);
            INSERT INTO product VALUES (1, 'Desks', 'EUR'), (2, 'Lamps', 'USD'), (3, 'Sofas', 'EUR'), (4, ' oak', '34900')
            """
        let metadata = Metadata.store("ledger").replacing(
            "\"m\"", with: "\"Fatal error: Unknown currency 34900\"")
        let path = try fixture.zip(
            "LedgerTests.test-1a2b3c4d.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/ledger.sqlite", try fixture.store(store)),
            ])
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        #expect(found.findings.first?.title == "product.currency is '34900'")
    }

    @Test(arguments: [
        ("Fatal error: Unknown currency 34900", ["34900"]),
        ("Apps/Prices.swift:1200: Fatal error: No price \"of 5\" (1234.)\n5678", ["of 5", "1234"]),
        ("Fatal error: Index out of range: 12", []), ("caught error: 34900", []),
    ])
    func crashMessages(text: String, values: [String]) {
        #expect(FailureMessage(text).actual.map(\.text) == values)
        #expect(FailureMessage(text).expected.isEmpty)
    }

    // MARK: - Passing runs

    /// Returns the comparison of two runs whose first transaction fills `profile`.
    private func comparison(_ failed: String, passed: String, query: String) throws -> [Finding] {
        let fixture = try Fixture()
        let create =
            "CREATE TABLE profile(id INTEGER PRIMARY KEY, name TEXT, height INTEGER, token TEXT)"
        let sql = [failed, passed].map { create + "; INSERT INTO profile VALUES \($0)" }
        let path = try fixture.walBundle(
            [sql[0]], log: [(sql[0], 2), (query, 0)], message: equal("410.2", "22.7"))
        let other = try Fixture()
        let passing = try other.walBundle([sql[1]], log: [(sql[1], 2)], passed: true)
        let evidence = FailureEvidence(
            try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory),
            scratch: fixture.directory)
        evidence.passing = FailureEvidence(
            try BundleReader(BundleLocation(path: passing), scratchDirectory: other.directory),
            scratch: other.directory)
        return Explanation(evidence, bundle: "b.zip").findings.filter { $0.code == .differenceFromPass }
    }

    private static let passed = "(1, 'Ann', 168, 'x9Kd0QpL2v'), (2, 'Bob', 180, 'q2Wm8ZtR4c')"
    private static let swapped = "(1, 'Ann', 64, 'm5Rt7UiP1a'), (2, 'Bob', 81, 'k8Vb3NxE6s')"

    @Test func aColumnThatDiffersInAllRowsIsPossible() throws {
        let found = try comparison(
            Self.swapped, passed: Self.passed, query: "SELECT height FROM profile WHERE id = ?")
        let finding = try #require(found.first)
        #expect(found.count == 1 && finding.confidence == .possible)
        #expect(finding.title == "All 2 rows that both runs have in profile differ in height")
        #expect(finding.rows.map(\.columns.count) == [1, 1] && finding.transaction == 1)
    }

    @Test func columnsOfTablesThatAreNotReadAndGeneratedValuesAreIgnored() throws {
        #expect(
            try comparison(
                Self.swapped, passed: Self.passed, query: "SELECT name FROM account"
            ).isEmpty)
        #expect(
            try comparison(
                Self.swapped.replacing("64", with: "168").replacing("81", with: "180"),
                passed: Self.passed, query: "SELECT height FROM profile"
            ).isEmpty)
    }
}
