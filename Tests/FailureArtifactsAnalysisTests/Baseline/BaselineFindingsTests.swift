import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The findings about the differences from a passing run, among the others.
@Suite struct BaselineFindingsTests {
    private static let query = "SELECT balance FROM account WHERE id = 1"
    private static let message = #"XCTAssertEqual failed: ("16") is not equal to ("15")"#

    private func explanation(
        _ own: [String], passing: [String], changes: [Int]? = nil, common: Set<String> = [],
        query: String = query, facts: [Int: String] = [:], tests: String? = nil,
        ownChanges: [Int]? = nil,
        isOfSameBuild: Bool = false, passingQuery: String? = nil, message: String = message,
        passingFacts: [Int: String] = [:], commonValues: [String] = []
    ) throws -> Explanation {
        func evidence(
            _ fixture: borrowing Fixture, _ transactions: [String], _ changes: [Int]?, passed: Bool
        ) throws -> FailureEvidence {
            let query = passed ? passingQuery ?? query : query
            let path = try fixture.walBundle(
                transactions,
                log: transactions.enumerated().map { ($1, changes?[$0] ?? 1) } + [(query, nil)],
                facts: passed ? passingFacts : facts, passed: passed, message: message, tests: tests)
            return FailureEvidence(
                try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory),
                scratch: fixture.directory)
        }
        let fixture = try Fixture()
        let other = try Fixture()
        let failure = try evidence(fixture, own, ownChanges, passed: false)
        failure.passing = try evidence(other, passing, changes, passed: true)
        failure.baselines[0].common =
            common.map { CommonDifference(shape: $0) }
            + commonValues.map { CommonDifference(shape: $0, parameter: 0) }
        failure.baselines[0].isOfSameBuild = isOfSameBuild
        return Explanation(failure, bundle: "b.zip")
    }

    private static let insert = "INSERT INTO account VALUES (3, 'c', 30)"
    private static let right = "UPDATE account SET balance = 15 WHERE id = 1"
    private static let wrong = "UPDATE account SET balance = 16 WHERE id = 1"

    /// An experiment on the statement of the difference becomes a part of it.
    @Test func aDifferenceComesFirst() throws {
        let found = try explanation([Self.insert, Self.wrong], passing: [Self.insert, Self.right])
        let first = try #require(found.findings.first)
        #expect(first.code == .differenceFromPass && first.confidence == .likely)
        #expect(first.statement?.sql == Self.wrong && first.transaction == 2)
        #expect(first.rows.map(\.title) == ["account id = 1"])
        #expect(first.explanation.contains("Without transaction 2"), "\(first.explanation)")
        #expect(!found.findings.dropFirst().contains { $0.transaction == 2 && $0.isExperiment })
        #expect(found.differences?.count == 1)
    }

    @Test func aMissingStatementHasTheLineOfAnother() throws {
        let found = try explanation(
            [Self.insert], passing: [Self.insert, Self.right],
            facts: [1: #""source": {"file": "Sources/Bank.swift", "line": 7}"#])
        let first = try #require(found.findings.first)
        #expect(first.title == "UPDATE account is missing, which ran when this test passed")
        #expect(first.source?.line == 7)
        let place = "In this run, its place is beside the statement at Sources/Bank.swift:7."
        #expect(first.explanation.contains(place), "\(first.explanation)")
    }

    @Test func whatTheQuestionDoesNotReadIsPossible() throws {
        let found = try explanation(
            ["CREATE TABLE note(id, text)", Self.wrong], passing: ["CREATE TABLE note(id)", Self.wrong])
        #expect(
            found.findings[0].code == .differenceFromPass && found.findings[0].confidence == .possible)
    }

    @Test func withoutADifferenceNothingIsMoreThanPossible() throws {
        // An orphan is likely to be the cause, unless the passing run had it, too.
        let transactions = [
            "CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID INTEGER, amount INTEGER); "
                + "INSERT INTO entry VALUES (1, 1, 5), (2, 2, 7), (3, 1, 9)",
            "DELETE FROM account WHERE id = 2",
        ]
        let found = try explanation(transactions, passing: transactions, query: "SELECT * FROM entry")
        #expect(found.findings[0].code == .noDifference)
        #expect(found.findings.contains { $0.code == .orphan })
        #expect(found.findings.allSatisfy { $0.confidence == .possible })
        #expect(found.differences?.isEmpty == true)
    }

    /// A wrong migration is in every test, and an unrelated edit may be in some of them.
    @Test func aDifferenceOfPassingTestsIsPossible() throws {
        let found = try explanation(
            [Self.insert, Self.wrong], passing: [Self.insert, Self.right],
            common: [StatementShape(Self.right).shape])
        #expect(!found.findings.contains { $0.code == .noDifference })
        let first = try #require(found.findings.first)
        #expect(first.code == .differenceFromPass && first.confidence == .possible)
        #expect(
            first.explanation.contains(
                "Tests that passed have this difference, too, where it may have no effect."))
    }

    /// After several edits, a difference that only this test has need not be the cause, unless an experiment confirms it.
    @Test func afterSeveralEditsADifferenceIsPossible() throws {
        func found(_ common: Int) throws -> Finding {
            let other = "UPDATE account SET balance = 16 WHERE name = 'a'"
            return try explanation(
                [Self.insert, other], passing: [Self.insert, Self.wrong],
                common: Set((0..<common).map { "SELECT \($0)" }), query: "SELECT count(*) FROM account"
            ).findings[0]
        }
        #expect(try found(8).confidence == .likely)
        let possible = try found(9)
        #expect(possible.code == .differenceFromPass && possible.confidence == .possible)
        #expect(possible.explanation.contains("it may be one of several edits"))
    }

    /// Another number of rows is a consequence, so an edit that other tests have, too, comes first.
    @Test func theFailingQueryComesFirstOfTheCommonDifferences() throws {
        let wide = Self.query
        let found = try explanation(
            ["CREATE TABLE note(id, text)", Self.wrong], passing: ["CREATE TABLE note(id)", Self.wrong],
            common: [
                StatementShape("CREATE TABLE note(id)").shape, StatementShape(wide).shape,
            ], query: wide, passingQuery: wide + " AND name <> 'a'")
        let first = found.findings[0]
        #expect(first.code == .differenceFromPass && first.statement?.sql == wide)
        #expect(first.confidence == .likely && found.verdict == nil)
        // Each difference is listed once.
        #expect(Set(found.findings.map(\.title)).count == found.findings.count)
    }

    /// An edit that has an effect only in this test.
    @Test func anotherTextComesBeforeItsConsequences() throws {
        let edit = Self.right + " AND balance >= 0"
        let extra = "DELETE FROM account WHERE id = 3"
        let found = try explanation(
            [edit, extra], passing: [Self.right], common: [StatementShape(edit).shape])
        #expect(found.findings.prefix(2).map(\.statement?.sql) == [edit, extra])
        #expect(found.findings[0].confidence == .likely)
        // What ran before it is no consequence.
        let other = try explanation(
            [extra, edit], passing: [Self.right], common: [StatementShape(edit).shape])
        #expect(other.findings[0].statement?.sql == extra)
    }

    @Test func aTriggerThatChangedTheResult() throws {
        func trigger(_ balance: Int) -> String {
            "CREATE TRIGGER grant AFTER INSERT ON account BEGIN UPDATE account SET balance = \(balance) WHERE id = 1; END"
        }
        let found = try explanation(
            [trigger(16), Self.insert], passing: [trigger(15), Self.insert],
            common: [StatementShape(trigger(16)).shape])
        #expect(found.findings[0].statement?.sql == trigger(16))
        #expect(found.findings[0].confidence == .likely)
        let unused = try explanation(
            [trigger(16), Self.wrong], passing: [trigger(15), Self.wrong],
            common: [StatementShape(trigger(16)).shape])
        #expect(
            unused.findings.allSatisfy { $0.code != .differenceFromPass || $0.confidence == .possible })
    }

    /// A trigger may write what the question reads.
    @Test(arguments: [true, false]) func aDifferenceWithAnEffectByATrigger(hasTrigger: Bool) throws {
        let start =
            ["CREATE TABLE posting(cents)"]
            + (hasTrigger
                ? [
                    "CREATE TRIGGER post AFTER INSERT ON posting BEGIN UPDATE account SET balance = NEW.cents; END"
                ] : [])
        let found = try explanation(
            start + ["INSERT INTO posting VALUES (16)"],
            passing: start + ["INSERT INTO posting VALUES (15)"])
        #expect(found.findings[0].statement?.sql == "INSERT INTO posting VALUES (16)")
        #expect(found.findings[0].confidence == (hasTrigger ? .likely : .possible))
    }

    /// Passing tests run another text as well, but it is all that differs in the failing one.
    @Test(arguments: [(0, true), (1, true), (0, false)])
    func theOnlyEdit(others: Int, hasEffect: Bool) throws {
        let condition = hasEffect ? "balance < 10000" : "balance > 10000"
        let edit = "UPDATE account SET balance = 16 WHERE name = 'a' AND \(condition)"
        let more = (0..<others).map { _ in "DELETE FROM account WHERE id = 77 AND name = 'a'" }
        let found = try explanation(
            [Self.insert, edit] + more,
            passing: [Self.insert, Self.wrong] + more.map { _ in "DELETE FROM account WHERE id = 77" },
            changes: [1, hasEffect ? 1 : 0] + more.map { _ in 1 },
            common: Set(([edit] + more).map { StatementShape($0).shape }),
            ownChanges: [1, hasEffect ? 1 : 0] + more.map { _ in 1 })
        let first = found.findings[0]
        #expect(first.code == .differenceFromPass, "\(found.findings.map(\.title))")
        #expect(
            first.confidence == (others == 0 && hasEffect ? .likely : .possible),
            "\(first.title) \(first.explanation)")
    }

    /// The first of several executions changed no row.
    @Test func theExecutionOfAnEditThatHasAnEffect() throws {
        let edit = "UPDATE account SET balance = 16 WHERE id = 1 AND balance < 10000"
        let start = ["DELETE FROM account WHERE id = 77", Self.insert]
        let found = try explanation(
            [edit] + start + [edit], passing: [Self.wrong] + start + [Self.wrong],
            changes: [0, 1, 1, 1],
            common: [StatementShape(edit).shape], ownChanges: [0, 1, 1, 1])
        let first = found.findings[0]
        #expect(first.statement?.sql == edit && first.statement?.changes == 1, "\(first)")
        #expect(first.confidence == .likely)
    }

    /// In this test, another text of a query has the same result.
    @Test(arguments: [true, false]) func anotherTextOfAQueryWithoutEffect(hasEffect: Bool) throws {
        let read = "SELECT count(*) FROM account WHERE name = 'a'"
        let edit = read + (hasEffect ? " AND balance > 10000" : " AND balance < 10000")
        let found = try explanation(
            [Self.wrong], passing: [Self.wrong], common: [StatementShape(edit).shape], query: edit,
            passingQuery: read)
        #expect((found.findings[0].code == .differenceFromPass) == hasEffect)
        #expect(found.findings[0].confidence == (hasEffect ? .likely : .possible))
    }

    /// Code may have used what the first query returned, although no other one reads its table.
    @Test(arguments: [false, true]) func theFirstQueryThatIsMissing(isLast: Bool) throws {
        let (start, read) = ("CREATE TABLE rate(points)", "SELECT count(*) FROM rate")
        let found = try explanation(
            [start, Self.insert, Self.wrong],
            passing: [start] + (isLast ? [] : [read]) + [Self.insert, Self.right]
                + (isLast ? [read] : []))
        #expect(
            (found.findings[0].title == "SELECT FROM rate is missing, which ran when this test passed")
                == !isLast, "\(found.findings.map(\.title))")
        #expect(found.findings[0].confidence == .likely)
    }

    /// The query is the one that gave the right value before.
    @Test(arguments: [false, true]) func anotherQueryThanThePassingOne(isChanged: Bool) throws {
        let query = "SELECT sum(balance) FROM account WHERE balance < 20"
        let found = try explanation(
            [Self.insert, Self.wrong], passing: [Self.insert, isChanged ? Self.wrong : Self.right],
            query: query, passingQuery: isChanged ? query.replacing("<", with: "<=") : query,
            message: #"XCTAssertEqual failed: ("16") is not equal to ("36")"#)
        let variant = try #require(
            found.findings.first { $0.code == .wrongQuery }, "\(found.findings.map(\.title))")
        #expect(variant.confidence == (isChanged ? .likely : .possible), "\(variant.title)")
    }

    /// A value that passing tests write, too, comes before its consequences in this test.
    @Test(arguments: [false, true]) func theOriginOfADifference(isLater: Bool) throws {
        let (rate, read) = ("INSERT INTO rate VALUES (?)", "SELECT count(*) FROM rate")
        func run(_ write: String) -> [String] {
            ["CREATE TABLE rate(points)"] + (isLater ? [write, rate] : [rate, read, write])
        }
        let place = isLater ? 2 : 1
        let found = try explanation(
            run(Self.wrong), passing: run(Self.right),
            query: isLater ? Self.query : read, facts: [place: #""values": [10]"#],
            passingFacts: [place: #""values": [1000]"#], commonValues: [StatementShape(rate).shape])
        #expect((found.findings[0].statement?.sql == rate) == !isLater, "\(found.findings.map(\.title))")
        #expect(found.findings[0].confidence == .likely && found.findings[1].confidence == .possible)
    }

    @Test func aDifferenceOfPassingTestsThatTheTestDoesNotReadComesLast() throws {
        let found = try explanation(
            ["CREATE TABLE note(id, text)", Self.wrong], passing: ["CREATE TABLE note(id)", Self.wrong],
            common: [StatementShape("CREATE TABLE note(id)").shape])
        #expect(found.findings[0].code == .noDifference)
        let last = try #require(found.findings.last)
        #expect(last.code == .differenceFromPass && last.confidence == .possible)
        #expect(
            last.explanation.hasSuffix(
                "Tests that passed have this difference, too, where it may have no effect."))
    }

    /// A text that other tests run without harm has another effect in this test.
    @Test func anotherTextWithAnotherEffectIsOfThisTest() throws {
        let wide = "UPDATE account SET balance = 16 WHERE id = 1 OR name = 'a'"
        let found = try explanation(
            ["INSERT INTO account VALUES (9, 'z', 1)", wide], passing: [Self.insert, Self.wrong],
            changes: [1, 0],
            common: [StatementShape(wide).shape])
        #expect(found.findings[0].confidence == .likely && found.findings[0].statement?.sql == wide)
    }

    @Test func otherTestsAreNamedWithoutADifference() throws {
        let found = try explanation(
            [Self.insert, Self.wrong], passing: [Self.wrong],
            facts: [0: #""phase": "earlier", "test": 2"#, 1: #""test": 1"#], tests: Self.tests)
        #expect(found.findings[0].code == .noDifference)
        #expect(
            found.findings[0].explanation.hasSuffix(
                "\nOther tests wrote to a table that its query reads: BTests.testOther."),
            "\(found.findings[0].explanation)")
    }

    @Test func anotherResultOfTheSameStatements() throws {
        let found = try explanation([Self.wrong], passing: [Self.wrong], changes: [0])
        #expect(found.findings[0].title == "UPDATE account changed 1 row, and 0 when this test passed")
        #expect(found.findings[0].explanation.contains("so the content differed when the test began"))
        #expect(found.findings[0].comparison?.then.text == "«0 rows»")
        #expect(!found.findings[0].explanation.contains("Other tests"))
    }

    private static let tests = """
        [{"id": 1, "framework": "XCTest", "suite": "PlainTests", "name": "testStore"},
        {"id": 2, "framework": "XCTest", "suite": "BTests", "name": "testOther"},
        {"id": 3, "framework": "XCTest", "suite": "CTests", "name": "testReader"}]
        """

    /// Later differences may follow from other content, and earlier ones may have led to it.
    @Test func otherContentIsToldFromTheFirstDifference() throws {
        let log = [Self.insert, Self.right, Self.wrong]
        let earlier = [0: #""phase": "earlier", "test": 2"#, 1: #""test": 1"#, 2: #""test": 1"#]
        let found = try explanation(
            log, passing: [Self.right, "UPDATE account SET balance = 17 WHERE id = 1"], changes: [0, 1],
            facts: earlier, tests: Self.tests)
        let first = found.findings[0]
        #expect(found.differences?.count == 2)
        #expect(first.title.hasPrefix("UPDATE account changed 1 row, and 0"))
        #expect(first.explanation.contains("so the content differed when the test began."))
        #expect(first.explanation.contains("\nOther tests wrote to this table: BTests.testOther.\n"))
        let second = try #require(found.differences?.last)
        #expect(!second.explanation.contains("content"))
        let changed = try explanation(
            [Self.insert, Self.right],
            passing: ["UPDATE account SET balance = 14 WHERE id = 2", Self.right],
            changes: [1, 0])
        #expect(changed.differences?.contains { $0.explanation.contains("content") } == false)
    }

    @Test func aTestThatRanAtTheSameTime() throws {
        let source = #""source": {"file": "Tests/B.swift", "line": 9}"#
        func found(
            other sql: String, _ passing: [Int], isOfSameBuild: Bool
        ) throws -> Explanation {
            let facts = [
                0: #""test": 1"#, 1: #""test": 2, "connection": 4, "thread": "9a", "# + source,
                2: #""test": 1"#,
            ]
            return try explanation(
                [Self.insert, sql, Self.wrong], passing: [Self.insert, Self.wrong], changes: passing,
                facts: facts, tests: Self.tests, isOfSameBuild: isOfSameBuild)
        }
        let delete = "DELETE FROM account WHERE id = 2"
        let meanwhile =
            "Meanwhile, BTests.testOther wrote to this table: \(delete) (connection 4, Tests/B.swift:9)."
        for isOfSameBuild in [false, true] {
            let first = try found(other: delete, [1, 2], isOfSameBuild: isOfSameBuild).findings[0]
            #expect(first.confidence == .likely)
            let place =
                "Both runs are of the same code. This is their first difference: statement 2 of the test, on connection 1.\n"
            let sentences =
                "All statements before it are the same, so the content differed.\n" + meanwhile
            #expect(
                first.explanation.contains(" UTC.\n" + (isOfSameBuild ? place : "") + sentences),
                "\(first.explanation)")
        }
        // A store without the question's tables.
        let table = "CREATE TABLE other(a)"
        let same = try found(other: table, [1, 2], isOfSameBuild: true).findings[0]
        #expect(same.explanation.contains("Meanwhile, BTests.testOther "), "\(same.explanation)")
        #expect(
            try !found(other: table, [1, 2], isOfSameBuild: false).findings[0].explanation.contains(
                "Meanwhile"))
        let none = try found(other: delete, [1, 1], isOfSameBuild: true).findings[0]
        #expect(
            none.code == .noDifference && none.explanation.hasPrefix("Both runs are of the same code."))
        // What follows from the first difference is no other one.
        let both = try found(other: delete, [0, 2], isOfSameBuild: true)
        #expect(both.findings.filter { $0.code == .differenceFromPass }.count == 1)
        #expect(both.differences?.map(\.confidence) == [.likely, .possible])
    }
}
