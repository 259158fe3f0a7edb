import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// Lists of which an output has only the first entries say how many there are.
@Suite struct CutListTests {
    private static let fill = """
        CREATE TABLE entry(id INTEGER PRIMARY KEY, n);
        WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 120)
        INSERT INTO entry SELECT x, x FROM i
        """

    private func json(_ words: String...) throws -> [String: Any] {
        let outcome = run(words + ["--json"])
        return try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any],
            "\(outcome.error)")
    }

    @Test func rowsOfABisectedQueryAreCounted() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle([Self.fill, "UPDATE entry SET n = -n WHERE id <= 20"])
        let sql = "SELECT id FROM entry WHERE n < 0"
        let text = run("bisect", bundle, sql).output
        #expect(
            text.contains("\n  id 5\n  and 15 more rows\n  entry id = 1 updated: n 1 → -1\n"), "\(text)")
        let found = try json("bisect", bundle, sql)
        let query = try #require(found["query"] as? [String: Any])
        #expect((query["after"] as? [Any])?.count == 5)
        #expect(query["afterCount"] as? Int == 20)
        #expect(query["beforeCount"] as? Int == 0)
    }

    @Test func rowsOfAComparedResultAreCounted() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle([Self.fill, "DELETE FROM entry WHERE id > 7"])
        let sql = "SELECT id FROM entry"
        let text = run("bisect", bundle, sql, "--changed").output
        #expect(
            text.contains("\n  before: id 5\n  before: and 115 more rows\n  after: id 1\n"), "\(text)")
        #expect(text.contains("\n  after: id 5\n  after: and 2 more rows\n"))
        let query = try #require(try json("bisect", bundle, sql, "--changed")["query"] as? [String: Any])
        #expect(query["beforeCount"] as? Int == 120 && query["afterCount"] as? Int == 7)
    }

    @Test func changedRowsOfATransactionAreCounted() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle([Self.fill, "UPDATE entry SET n = -n"])
        let found = try json("bisect", bundle, "SELECT id FROM entry WHERE n < 0")
        #expect((found["rows"] as? [Any])?.count == 100)
        #expect(found["rowCount"] as? Int == 120)
    }

    @Test(arguments: [(5, 12), (60, 120)]) func rowsOfAFindingAreCounted(_ deleted: Int, _ total: Int)
        throws
    {
        let fixture = try Fixture()
        let delete = "DELETE FROM entry WHERE id <= \(deleted)"
        let bundle = try fixture.walBundle(
            [Self.fill.replacing("120", with: "\(total)"), delete],
            log: [
                ("BEGIN", nil), ("CREATE TABLE entry(id INTEGER PRIMARY KEY, n)", 0),
                ("INSERT INTO entry SELECT x, x FROM i", total), ("COMMIT", nil),
                ("BEGIN", nil), (delete, deleted), ("COMMIT", nil), ("SELECT count(*) FROM entry", 0),
            ],
            message: "XCTAssertEqual failed: (\"\(total - deleted)\") is not equal to (\"\(total)\")")
        let findings = try #require(try json("explain", bundle)["findings"] as? [[String: Any]])
        let finding = try #require(findings.first { $0["code"] as? String == "unexpected-delete" })
        let count = try #require(finding["rows"] as? [Any]).count
        #expect(finding["rowsOfTransaction"] as? Int == (count < deleted ? deleted : nil))
        #expect((count < deleted) == (deleted == 60))
        let undone = try #require(finding["undone"] as? [String: Any])
        #expect(undone["result"] as? String == "\(total)" && undone["isExpected"] as? Bool == true)
    }
}
