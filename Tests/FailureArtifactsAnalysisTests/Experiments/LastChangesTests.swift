import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The last changes of stores that the test didn't query, as far as the log tells.
@Suite struct LastChangesTests {
    private func findings(in path: String, _ fixture: borrowing Fixture) throws -> [Finding] {
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let explanation = Explanation(
            FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        #expect(explanation.question == nil)
        return explanation.findings
    }

    private static let transactions = [
        "UPDATE account SET balance = 77 WHERE id = 1", "DELETE FROM account WHERE id = 2",
        "INSERT INTO account VALUES (3, 'c', 30)", "UPDATE account SET name = 'd' WHERE id = 3",
    ]

    private static let log: [(sql: String, changes: Int?)] =
        [("PRAGMA journal_mode = wal", 0)] + transactions.map { ($0, 1) }

    @Test func theLastTransactionsComeFirst() throws {
        let fixture = try Fixture()
        let found = try findings(in: fixture.walBundle(Self.transactions), fixture)
        #expect(found.map(\.transaction) == [4, 3, 2])
        #expect(found.map(\.code) == [.resultChanged, .resultChanged, .unexpectedDelete])
        #expect(found.map(\.title).first == "Transaction 4 changed account")
        #expect(found.first?.rows.map(\.text) == ["account id = 3 updated: name 'c' → 'd'"])
        #expect(found.allSatisfy { $0.confidence == .possible && $0.undone == nil })
    }

    /// A transaction that wrote the tested value, or removed the expected one, comes before newer ones.
    @Test(arguments: [("77", "10", 1), ("30", "99", 3), ("nil", "20", 2)])
    func aTransactionWithAValueOfTheAssertion(tested: String, expected: String, transaction: Int) throws
    {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            Self.transactions, log: Self.log,
            message: "XCTAssertEqual failed: (\"\(tested)\") is not equal to (\"\(expected)\")")
        let found = try findings(in: path, fixture)
        #expect(found.map(\.transaction) == [transaction])
        #expect(
            found.first?.title
                == "Transaction \(transaction) changed a value that the message names, in account")
        #expect(found.first?.statement?.sql == Self.transactions[transaction - 1])
    }

    /// A number is that of rows, and a key by chance.
    @Test(arguments: [("37", "36"), ("3", "2"), ("1", "30")])
    func aNumberThatIsTheSameByChance(tested: String, expected: String) throws {
        let fixture = try Fixture()
        let rows = (3...37).map { "(\($0), 'r', 30)" }.joined(separator: ", ")
        let transactions = [
            "INSERT INTO account VALUES \(rows)", "DELETE FROM account WHERE id IN (36, 37)",
            "UPDATE account SET balance = 1 WHERE id = 5; DELETE FROM account WHERE id BETWEEN 6 AND 10",
        ]
        let path = try fixture.walBundle(
            transactions, log: transactions.map { ($0, 30) },
            message: "XCTAssertEqual failed: (\"\(tested)\") is not equal to (\"\(expected)\")")
        #expect(try findings(in: path, fixture).allSatisfy { !$0.title.contains("names") })
    }

    @Test func aMigratorsOwnTableIsNoFinding() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle([
            "UPDATE account SET balance = 77 WHERE id = 1",
            "CREATE TABLE grdb_migrations(identifier TEXT)",
            "INSERT INTO grdb_migrations VALUES ('v2')",
        ])
        #expect(try findings(in: path, fixture).map(\.title) == ["Transaction 1 changed account"])
    }

    @Test func transactionsOfEarlierTestsAreLeftOut() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            Self.transactions, log: Self.log,
            facts: Dictionary(uniqueKeysWithValues: (0...3).map { ($0, "\"phase\":\"earlier\"") }))
        #expect(try findings(in: path, fixture).map(\.transaction) == [4])
    }

    @Test func withoutAHistoryTheLastWritingStatementsAreNamed() throws {
        let fixture = try Fixture()
        let path = try fixture.bundleWithoutHistory(
            "CREATE TABLE Account(id INTEGER PRIMARY KEY, balance)",
            log: [
                ("INSERT INTO account VALUES (?, ?)", 1), ("UPDATE account SET balance = ?", 1),
                ("DELETE FROM account", 0),
            ], message: "m")
        let found = try findings(in: path, fixture)
        #expect(found.map { $0.source?.line } == [2, 1])
        #expect(found.allSatisfy { $0.title == "A statement changed Account" && $0.transaction == nil })
    }
}
