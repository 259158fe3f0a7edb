import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

// Queries in another form.
extension ExperimentTests {
    @Test func aQueryInAnotherFormGivesTheExpectedResult() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET title = 'x' WHERE id = 1"),
                query("SELECT sum(minutes) FROM task WHERE minutes > 20"),
            ],
            equal("140", "160"))
        let first = try #require(found.first)
        #expect(first.code == .wrongQuery && first.confidence == .likely && first.source?.line == 90)
        #expect(first.title == "The query returns the expected 160 with >= in place of >")
        #expect(
            first.explanation.wholeMatch(
                of:
                    /.* Of \d+ variants of the query that were tried, only this one returns the expected result\./
            )
                != nil,
            "\(first.explanation)")
    }

    /// The tested value is a common one, so the assertion may have compared another result.
    @Test func aVariantOfAQueryThatMayBeAnother() throws {
        let found = try findings(
            [query("SELECT sum(minutes) - 135 FROM task WHERE minutes > 20")], equal("5", "25"))
        let variant = try #require(
            found.first { $0.code == .wrongQuery }, "\(found.map(\.title))")
        #expect(variant.evidence == .commonVariant && variant.confidence == .possible)
    }

    /// Undoing has more ways to give the expected result by chance.
    @Test func aVariantComesBeforeAnUndoneTransaction() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET done = 1 WHERE id = 3"),
                query("SELECT sum(minutes) FROM task WHERE done < 1 OR id > 3"),
            ], equal("115", "160"))
        #expect(found.map(\.evidence).prefix(2) == [.variant, .variant], "\(found.map(\.title))")
        #expect(found.contains { $0.evidence == .fix && $0.confidence == .possible })
    }

    /// Which of them is right is unknown.
    @Test func severalVariantsWithTheExpectedResult() throws {
        let found = try findings(
            [query("SELECT sum(minutes) FROM task WHERE minutes < 45 OR id > 3")], equal("115", "160"))
        let variants = found.filter { $0.code == .wrongQuery }
        #expect(variants.map(\.evidence) == [.variant, .variant], "\(variants.map(\.title))")
        #expect(variants.allSatisfy { $0.confidence == .possible })
    }

    @Test func aTermOfAnotherQuery() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET done = 1 WHERE id = 1"),
                query(
                    "SELECT t.title FROM task t WHERE (t.done = 0) AND t.owner = ?", values: "[\"ben\"]"),
                query("SELECT sum(minutes) FROM task"),
            ], equal("160", "125"))
        let first = try #require(found.first)
        #expect(
            first.title
                == "The query returns the expected 125 with done = 0 for task, as another query of the test has it"
        )
        #expect(first.confidence == .likely)
    }

    @Test func anotherOrderHasTheSameRows() throws {
        let (right, wrong) = (#"["Book dentist", "Pay rent"]"#, #"["Pay rent", "Book dentist"]"#)
        func variants(_ sql: String, _ message: String) throws -> [Finding] {
            try findings([query(sql)], message).filter { $0.code == .wrongQuery }
        }
        let found = try variants(
            "SELECT title FROM task WHERE owner = 'ben' ORDER BY minutes", equal(wrong, right))
        #expect(
            found.first?.title
                == "The query returns the expected \(right) with minutes DESC in place of minutes")
        #expect(found.allSatisfy { $0.confidence == .possible } && found.count == 3)
        // The order of a subquery changes the rows.
        #expect(
            try variants(
                "SELECT title FROM (SELECT title, row_number() OVER (ORDER BY minutes) AS n FROM task) WHERE n = 1",
                equal("Pay rent", "Call")
            ).isEmpty)
    }

    /// The message has the expression alone, on several lines.
    @Test func theExpectedStructures() throws {
        let expression = """
            try tasks.all() == [
                        Task(title: "Sweep", minutes: 35, state: .open),
                        Task(title: "Book dentist", minutes: 45, state: .open),
                        Task(title: "Pay rent", minutes: 20, state: .open),
                    ]
            the tasks of a day
            """
        func finding(_ order: String) throws -> Finding? {
            let fixture = try Fixture()
            let asked = Step(
                sql: "SELECT title, minutes, 'open' AS state FROM task WHERE minutes < 45\(order)",
                changes: 0, lines: ["Sources/Tasks.swift:90:all"], isTransaction: false)
            return try explanation(
                [asked], "Expectation failed: \(expression)", in: fixture, file: "Tests/ATests.swift"
            ).findings.first { $0.code == .wrongQuery }
        }
        let found = try #require(try finding(""))
        #expect(found.title.hasSuffix("in another order with <= in place of <"), "\(found.title)")
        #expect(found.confidence == .likely)
        // The query has another order than the assertion.
        #expect(try finding(" ORDER BY title") == nil)
    }

    @Test func aNullInTheListOfNotIn() throws {
        let found = try findings(
            [
                Step(sql: "INSERT INTO task VALUES (5, NULL, 'Read', 30, 1)"),
                query(
                    "SELECT title FROM task WHERE owner NOT IN (SELECT owner FROM task WHERE done = 1)"),
            ], #"XCTUnwrap failed: expected non-nil value of type "Task""#)
        let variant = try #require(found.first { $0.code == .wrongQuery })
        #expect(
            variant.title
                == "The query returns 'Sweep' in column title of the first of 5 rows without NULL in the list of NOT IN"
        )
        #expect(variant.evidence == .variant && variant.confidence == .possible)
    }

    @Test func aDayThatIsComparedWithATime() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET owner = '2026-05-04' WHERE id = 1"),
                query("SELECT count(*) FROM task WHERE owner < ?", values: "[\"2026-05-04 10:00:00\"]"),
            ], equal("1", "0"))
        #expect(found.contains { $0.title == "The query returns the expected 0 with the day of ?" })
    }

    @Test(arguments: [("25", nil), ("?", "[25]")])
    func aNumberIsNoDay(value: String, values: String?) throws {
        let sql = "SELECT EXISTS (SELECT 1 FROM task WHERE minutes < \(value))"
        let found = try findings([query(sql, values: values)], "XCTAssertFalse failed")
        #expect(found.contains { $0.title == "The query returned 1" })
        #expect(!found.contains { $0.title.contains("day of") })
    }

    /// The store alone would give another result.
    @Test(arguments: [
        "SELECT title FROM main.task UNION ALL SELECT title FROM old.task",
        "SELECT title FROM task WHERE id NOT IN (SELECT id FROM old.task)",
    ])
    func aQueryOfSeveralDatabasesHasNoKnownResult(sql: String) throws {
        let found = try findings([query(sql)], equal(#"["Sweep"]"#, #"["Call"]"#))
        let last = try #require(found.first { $0.code.isOfQuery })
        #expect(last.title == "The result of the query is unknown")
        #expect(
            last.explanation.hasSuffix("It reads another database of its connection."),
            "\(last.explanation)")
        let others = try findings(
            [query("SELECT title FROM old.task")], equal(#"["Sweep"]"#, #"["Call"]"#))
        #expect(!others.contains { $0.code.isOfQuery })
    }

    @Test func theDataIsRightIfTheQueryGivesTheExpectedResult() throws {
        let found = try findings([query(Self.sum)], "Expectation failed: try tasks.total() == 160")
        let first = try #require(found.first { $0.code.isOfQuery })
        #expect(first.title == "The query returns the expected 160" && first.confidence == .possible)
        #expect(found.allSatisfy { $0.confidence == .possible })
    }

    @Test func anUpdateWithoutEffectOnTheRowInQuestion() throws {
        let found = try findings(
            [
                Step(
                    sql: "UPDATE task SET minutes = 5 WHERE id = ? AND owner = 'x'", changes: 0,
                    values: "[2]",
                    lines: ["Sources/Tasks.swift:33"]),
                query("SELECT minutes FROM task WHERE id = ?", values: "[2]"),
            ], equal("20", "5"))
        let first = try #require(found.first)
        #expect(
            first.code == .noEffect && first.title == "An UPDATE of task changed no row"
                && first.source?.line == 33)
    }

    /// Undoing a change that outdated the expectation gives the expected result, too.
    @Test func nothingIsMoreThanPossibleIfTheExpectationMayBeOutOfDate() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET title = 'Clean' WHERE id = 1"),
                query("SELECT title FROM task WHERE id = 1"),
            ],
            equal("Clean", "Sweep"))
        #expect(found.first?.undone?.isExpected == true)
        #expect(found.allSatisfy { $0.confidence == .possible })
    }
}
