import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Rows that a test deleted from a table before an assertion read it.
@Suite struct DeletionTests {
    private static let create = "CREATE TABLE entry(id INTEGER PRIMARY KEY, name TEXT)"
    private static let fill =
        "INSERT INTO entry VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, NULL), (5, 'five'), (6, 'six'), "
        + "(7, 'seven'), (8, 'eight')"
    private static let query = "SELECT count(*) FROM entry"

    /// Returns the findings about a failure after some transactions of one statement each.
    private func findings(
        _ statements: [(sql: String, changes: Int)], message: String, query: String = Self.query
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let all = [(Self.create, 0), (Self.fill, 8)] + statements.map { ($0.sql, $0.changes) }
        let path = try fixture.walBundle(
            all.map(\.0), log: all + [(query, 0)], message: message)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip").findings
    }

    private func equal(_ first: String, _ second: String) -> String {
        "XCTAssertEqual failed: (\"\(first)\") is not equal to (\"\(second)\")"
    }

    @Test func aDeleteOfAsManyRowsAsTheAssertionMissedIsLikely() throws {
        let delete = "DELETE FROM entry WHERE id % 2 = 1"
        let found = try findings([(delete, 4)], message: equal("4", "8"))
        let first = try #require(found.first)
        #expect(first.code == .broadWrite && first.confidence == .likely && first.transaction == 3)
        #expect(first.title == "Transaction 3 deleted 4 of 8 rows of entry")
        #expect(first.statement?.sql == delete)
        #expect(
            first.rows.map(\.title) == ["entry id = 1", "entry id = 3", "entry id = 5", "entry id = 7"])
        #expect(first.rows.allSatisfy { $0.change == .deleted })
    }

    /// Neither the number of rows nor a missing one proves anything, but it comes before unrelated outliers.
    @Test func otherDeletesArePossible() throws {
        let delete = "DELETE FROM entry WHERE id < 4"
        let counted = try findings([(delete, 3)], message: equal("5", "7"))
        #expect(counted.map(\.code).prefix(2) == [.broadWrite, .nullOutlier])
        #expect(counted.allSatisfy { $0.confidence == .possible })
        let missing = try findings(
            [(delete, 3)], message: "XCTUnwrap failed: expected non-nil value of type \"Entry\"",
            query: "SELECT * FROM entry WHERE id = ?")
        #expect(missing.map(\.code).prefix(2) == [.broadWrite, .nullOutlier])
        #expect(missing.allSatisfy { $0.confidence == .possible })
    }

    @Test func aMissingValueThatWasDeletedIsLikely() throws {
        let found = try findings(
            [("DELETE FROM entry WHERE id < 4", 3)], message: equal("nil", "Optional(\"three\")"),
            query: "SELECT * FROM entry WHERE id = ?")
        #expect(found.first?.title == "Transaction 3 deleted 3 of 8 rows of entry")
        #expect(found.first?.confidence == .likely)
        #expect(found.filter { $0.code == .nullOutlier }.map(\.confidence) == [.possible])
    }

    @Test func aNullThatTheMessageMeansIsLikelyIfNoOtherRowWasWrittenLikeIt() throws {
        func confidence(_ insert: String?, _ query: String) throws -> Finding.Confidence? {
            try findings(
                insert.map { [("UPDATE entry SET name = 'four' WHERE id = 4", 1), ($0, 1)] } ?? [],
                message: equal("nil", "Optional(\"three\")"), query: query
            ).first { $0.code == .nullOutlier }?.confidence
        }
        let insert = "INSERT INTO entry VALUES (9, NULL)"
        #expect(try confidence(insert, "SELECT * FROM entry") == .likely)
        #expect(try confidence(insert, Self.query) == .possible, "it doesn't read the column")
        #expect(try confidence(nil, "SELECT * FROM entry") == .possible)
    }

    @Test func earlierDeletesComeAfterLaterOnes() throws {
        let found = try findings(
            [("DELETE FROM entry WHERE id < 3", 2), ("DELETE FROM entry WHERE id > 5", 3)],
            message: equal("a", "b"))
        #expect(found.filter { $0.code == .broadWrite }.map(\.transaction) == [4, 3])
        #expect(found.first?.explanation.contains("No later transaction") == true)
    }

    @Test(arguments: [
        // One row, few rows, rows that come back, and a table that no query reads.
        [("DELETE FROM entry WHERE id = 1", 1)],
        [
            ("DELETE FROM entry WHERE id < 4", 3),
            ("INSERT INTO entry VALUES (1, 'a'), (2, 'b'), (3, 'c')", 3),
        ],
    ])
    func otherDeletesAreNoFinding(statements: [(String, Int)]) throws {
        let found = try findings(statements.map { (sql: $0.0, changes: $0.1) }, message: equal("a", "b"))
        #expect(!found.contains { $0.code == .broadWrite })
    }

    @Test func aTableThatIsNotReadIsNoFinding() throws {
        let found = try findings(
            [("DELETE FROM entry WHERE id < 4", 3)], message: equal("a", "b"),
            query: "SELECT * FROM account")
        #expect(!found.contains { $0.code == .broadWrite })
    }
}
