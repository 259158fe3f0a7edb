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
        _ own: [String], passing: [String], changes: Int? = 1, common: Set<String> = [],
        query: String = query
    ) throws -> Explanation {
        func evidence(
            _ fixture: borrowing Fixture, _ transactions: [String], _ changes: Int?, passed: Bool
        ) throws -> FailureEvidence {
            let path = try fixture.walBundle(
                transactions, log: transactions.map { ($0, changes) } + [(query, nil)],
                passed: passed,
                message: Self.message)
            return FailureEvidence(
                try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory),
                scratch: fixture.directory)
        }
        let fixture = try Fixture()
        let other = try Fixture()
        let failure = try evidence(fixture, own, 1, passed: false)
        failure.passing = try evidence(other, passing, changes, passed: true)
        failure.baselines[0].common = Array(common)
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

    @Test func aDifferenceOfPassingTestsComesLast() throws {
        let found = try explanation(
            [Self.insert, Self.wrong], passing: [Self.insert, Self.right],
            common: [StatementShape(Self.right).shape])
        #expect(found.findings[0].code == .noDifference)
        let last = try #require(found.findings.last)
        #expect(last.code == .differenceFromPass && last.confidence == .possible)
        #expect(last.explanation.hasSuffix("Passing tests have this difference, too."))
    }

    @Test func anotherResultOfTheSameStatements() throws {
        let found = try explanation([Self.wrong], passing: [Self.wrong], changes: 0)
        #expect(found.findings[0].title == "UPDATE account changed 1 row, and 0 when this test passed")
        #expect(found.findings[0].explanation.contains("so the content differed when the test began"))
    }
}
