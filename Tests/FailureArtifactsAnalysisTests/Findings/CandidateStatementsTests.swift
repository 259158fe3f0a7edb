import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// The statements of findings whose transactions wrote to a table in several ways.
@Suite struct CandidateStatementsTests {
    private static let insert = "INSERT INTO account VALUES (3, 'c', 45)"
    private static let update = "UPDATE account SET name = 'x' WHERE id = 1"

    /// Returns the finding about the value 45, which the transaction wrote.
    private func finding(_ writes: [String], copies: [String] = []) throws -> Finding {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            [writes.joined(separator: "; ")],
            log: [("PRAGMA journal_mode = wal", 0), ("BEGIN", 0)] + writes.map { ($0, 1) }
                + [("COMMIT", 0)],
            message: "XCTAssertEqual failed: (\"45\") is not equal to (\"46\") - ", copies: copies)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(
            FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        return try #require(found.findings.first { $0.code == .messageValues })
    }

    @Test func theOnlyStatementThatFitsTheChange() throws {
        let found = try finding([Self.insert, Self.update])
        #expect(found.statement?.sql == Self.insert && found.statements.isEmpty)
    }

    @Test func anUpdateOfOtherColumnsDoesNotFit() throws {
        let set = "UPDATE account SET balance = 45 WHERE id = 1"
        #expect(try finding([Self.update, set]).statement?.sql == set)
        // A trigger may set any column.
        let trigger =
            "CREATE TRIGGER t AFTER UPDATE OF name ON account BEGIN UPDATE account SET balance = 45 WHERE id = new.id; END"
        #expect(try finding([trigger, Self.update, set]).statement == nil)
    }

    @Test func severalStatementsThatFit() throws {
        let other = "INSERT INTO account VALUES (4, 'd', 1)"
        let found = try finding([Self.insert, other, Self.update])
        #expect(found.statement == nil && found.statements.map(\.sql) == [Self.insert, other])
        let json = try #require(
            JSONSerialization.jsonObject(with: Data(JSONText.line(found).utf8)) as? [String: Any])
        #expect(json["statement"] == nil && json["source"] == nil)
        let statements = try #require(json["statements"] as? [[String: Any]])
        #expect(statements.map { $0["sql"] as? String } == [Self.insert, other])
        #expect(statements.allSatisfy { $0["connection"] as? Int == 1 && $0["at"] is String })
    }

    @Test func aPlaceNamesOneOfSeveralStores() throws {
        #expect(try finding([Self.insert]).place == "transaction 1")
        #expect(try finding([Self.insert], copies: ["mirror"]).place == "transaction 1 of ledger")
    }
}
