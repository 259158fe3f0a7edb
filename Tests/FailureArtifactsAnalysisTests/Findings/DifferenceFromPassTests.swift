import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Comparisons of two runs whose histories may lack their first transactions.
@Suite struct DifferenceFromPassTests {
    private struct Run {
        var transactions: [String]
        var base = Fixture.base
        var isClosed = false
        var log: [(sql: String, changes: Int?)]?
        var facts: [Int: String] = [:]
    }

    private func evidence(
        _ fixture: borrowing Fixture, _ run: Run, passed: Bool
    ) throws -> FailureEvidence {
        let path = try fixture.walBundle(
            run.transactions, base: run.base, log: run.log, facts: run.facts, passed: passed,
            isClosed: run.isClosed)
        return FailureEvidence(
            try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory),
            scratch: fixture.directory)
    }

    /// Returns the difference that a comparison of both runs finds.
    private func difference(_ failed: Run, passing: Run) throws -> Finding? {
        let fixture = try Fixture()
        let other = try Fixture()
        let failure = try evidence(fixture, failed, passed: false)
        failure.passing = try evidence(other, passing, passed: true)
        let found = Explanation(failure, bundle: "b.zip").findings
            .filter { $0.code == .differenceFromPass }
        #expect(found.count <= 1)
        return found.first
    }

    private static let right = [
        "INSERT INTO account VALUES (3, 'c', 30)", "INSERT INTO account VALUES (4, 'd', 40)",
        "UPDATE account SET balance = 15 WHERE id = 1", "UPDATE account SET balance = 5 WHERE id = 4",
    ]
    private static let wrong: [String] =
        right.prefix(2) + ["UPDATE account SET balance = 16 WHERE id = 1"] + right.suffix(1)

    @Test func theFirstTransactionThatDiffers() throws {
        let finding = try #require(
            try difference(Run(transactions: Self.wrong), passing: Run(transactions: Self.right)))
        #expect(finding.title == "Transaction 3 is the first one that differs from the passing run")
        #expect(
            finding.explanation
                == "Both runs had the same rows before transaction 1 and changed the same ones until then. There, the "
                + "passing run changed 1 row differently or in addition: account id = 1 updated: balance 10 → 15."
        )
        #expect(finding.transaction == 3 && finding.confidence == .likely)
        #expect(finding.rows.map(\.title) == ["account id = 1"])
    }

    /// Without the first transactions, because a checkpoint overwrote what the database held before them.
    @Test func closedStoresOfBothRuns() throws {
        let finding = try #require(
            try difference(
                Run(transactions: Self.wrong, isClosed: true),
                passing: Run(transactions: Self.right, isClosed: true)))
        #expect(finding.title == "Transaction 2 is the first one that differs from the passing run")
    }

    @Test func theFirstComparedTransactionDiffers() throws {
        var failed = Run(transactions: Self.right)
        failed.transactions[0] = "INSERT INTO account VALUES (3, 'c', 31)"
        let open = try #require(try difference(failed, passing: Run(transactions: Self.right)))
        #expect(open.transaction == 1)
        #expect(open.explanation.hasPrefix("Both runs had the same rows before it. There, "))
    }

    @Test func runsThatBeginWithDifferentRowsAreComparedByTheirStores() throws {
        let failed = ["INSERT INTO account VALUES (3, 'c', 31)"] + Self.right.dropFirst()
        let finding = try #require(
            try difference(
                Run(transactions: failed), passing: Run(transactions: Self.right, isClosed: true)))
        #expect(finding.title == "1 row differs from the passing run" && finding.confidence == .possible)
        #expect(
            finding.explanation
                == "Before is the passing run, after the failed one. Their transactions can't be compared: the histories "
                + "don't begin with the same rows. The oldest of the WAL's 4 transactions is left out: a checkpoint has written over what the database held before. "
                + "Transaction 1 of the failed run changed the row last.")
    }

    @Test func completeHistoriesThatBeginWithDifferentRows() throws {
        let failed = Run(
            transactions: Array(Self.right.dropFirst()),
            base: Fixture.base + ", (3, 'c', 31)")
        let finding = try #require(try difference(failed, passing: Run(transactions: Self.right)))
        #expect(finding.title == "1 row differs from the passing run" && finding.confidence == .possible)
        #expect(finding.explanation.hasSuffix("the histories don't begin with the same rows."))
    }

    @Test func runsOfDifferentLengths() throws {
        let passing = Run(transactions: Self.right)
        for count in 1...4 {
            let shorter = Run(transactions: Array(Self.right.prefix(count)))
            #expect(try difference(shorter, passing: passing) == nil)
        }
        let longer = Run(transactions: Self.right + ["DELETE FROM account WHERE id = 2"])
        let finding = try #require(try difference(longer, passing: passing))
        #expect(finding.transaction == 5)
        #expect(finding.explanation.hasSuffix("The passing run made no further changes."))
    }

    @Test func rowsThatTheFailedRunInsertedLaterAreNotMissing() throws {
        let swapped = [Self.right[1], Self.right[0]]
        let failed = Run(transactions: swapped + [Self.right[2]])
        let finding = try #require(try difference(failed, passing: Run(transactions: Self.right)))
        #expect(finding.transaction == 1 && finding.confidence == .likely)
        #expect(finding.rows.map(\.title) == ["account id = 4"])
    }

    @Test func generatedValuesDontMakeStatesDifferent() throws {
        func run(_ seed: Int, _ cents: Int) -> Run {
            Run(
                transactions: [
                    """
                    CREATE TABLE note(id TEXT PRIMARY KEY, at, cents);
                    INSERT INTO note VALUES ('6F9619FF-8B86-D011-B42D-00CF4FC964\(seed)', '2026-11-21 03:04:\(seed)', 1)
                    """,
                    "INSERT INTO note VALUES ('7F9619FF-8B86-D011-B42D-00CF4FC964\(seed)', 17952\(seed)000, 2)",
                    "INSERT INTO note VALUES ('8F9619FF-8B86-D011-B42D-00CF4FC964\(seed)', 17952\(seed)001, \(cents))",
                ], base: "CREATE TABLE account(id)")
        }
        #expect(try difference(run(10, 3), passing: run(20, 3)) == nil)
        let finding = try #require(try difference(run(10, 4), passing: run(20, 3)))
        #expect(finding.transaction == 3)
    }

    @Test func rowsThatOnlyThePassingRunInsertedAreMissing() throws {
        let create = "CREATE TABLE import(id INTEGER PRIMARY KEY, accounts)"
        let account = "INSERT INTO account VALUES (3, 'c', 30)"
        let finding = try #require(
            try difference(
                Run(transactions: [create, account + "; INSERT INTO import VALUES (1, 1)"]),
                passing: Run(transactions: [
                    create, account + ", (4, 'd', 40); INSERT INTO import VALUES (1, 2)",
                ])))
        #expect(finding.rows.map(\.title) == ["import id = 1", "account id = 4"])
        #expect(finding.rows.map(\.change) == [.inserted, .missing])
    }

    /// They may be generated, but they may also be the cause.
    @Test func columnsThatDifferInAllRowsAreNamed() throws {
        func run(_ cents: Int, _ balance: Int) -> Run {
            Run(transactions: [
                "CREATE TABLE item(id INTEGER PRIMARY KEY, name, cents)",
                "INSERT INTO item VALUES (1, 'a', \(cents)), (2, 'b', \(cents + 1))",
                "UPDATE account SET balance = \(balance) WHERE id = 1",
            ])
        }
        let finding = try #require(try difference(run(100, 16), passing: run(200, 15)))
        #expect(finding.transaction == 3)
        #expect(
            finding.explanation.hasSuffix(". Columns that differ in all rows are left out: item.cents."))
    }

    @Test func transactionsWithManyRowsAreComparedByTheStatesAfterThem() throws {
        func run(_ first: Int, _ last: Int) -> Run {
            Run(
                transactions: [
                    "CREATE TABLE item(id INTEGER PRIMARY KEY, n); INSERT INTO account VALUES (3, 'c', 30)",
                    """
                    WITH RECURSIVE i(n) AS (SELECT \(first) UNION ALL SELECT n + 1 FROM i WHERE n < 2200)
                    INSERT INTO item(n) SELECT n FROM i
                    """,
                    "UPDATE account SET balance = \(last) WHERE id = 1",
                ])
        }
        #expect(try difference(run(1, 16), passing: run(1, 15))?.transaction == 3)
        let unknown = try #require(try difference(run(2, 16), passing: run(1, 15)))
        #expect(unknown.explanation.contains("a transaction changed too many rows."))
        #expect(unknown.title == "At least 2001 rows differ from the passing run", "\(unknown.title)")
    }

    /// In a shared store, the test's own transactions follow those of earlier tests.
    @Test func theComparisonBeginsWithTheTest() throws {
        func run(_ balance: Int, earlier: [String]) -> Run {
            let own = ["UPDATE account SET balance = \(balance) WHERE id = 1"]
            let facts = earlier.indices.map { ($0, "\"phase\":\"earlier\"") }
            return Run(
                transactions: earlier + own, log: (earlier + own).map { ($0, 1) },
                facts: Dictionary(facts) { first, _ in first })
        }
        let insert = "INSERT INTO account VALUES (3, 'c', 30)"
        let steps = [
            "INSERT INTO account VALUES (3, 'c', 0)", "UPDATE account SET balance = 30 WHERE id = 3",
        ]
        let finding = try #require(
            try difference(run(16, earlier: steps), passing: run(15, earlier: [insert])))
        #expect(finding.title == "Transaction 3 is the first one that differs from the passing run")
        #expect(finding.explanation.hasPrefix("Both runs had the same rows before it."))
        let different = try #require(
            try difference(
                run(16, earlier: steps), passing: run(15, earlier: [insert.replacing("30", with: "31")]))
        )
        #expect(different.title == "2 rows differ from the passing run")
    }
}
