import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The terms and tables of queries.
@Suite struct SQLTextTests {
    @Test(arguments: [
        ("SELECT * FROM t WHERE a = 1 AND b = 'x AND y'", ["a = 1", "b = 'x AND y'"]),
        (
            "SELECT * FROM t WHERE a BETWEEN 1 AND 2 AND b = 3 ORDER BY a",
            ["a BETWEEN 1 AND 2", "b = 3"]
        ),
        ("SELECT * FROM t JOIN u ON t.a = u.a AND u.b WHERE c LIMIT 1", ["t.a = u.a", "u.b", "c"]),
        ("SELECT (SELECT max(a) FROM u WHERE u.b = t.b) FROM t -- WHERE x", ["u.b = t.b"]),
        ("SELECT a FROM t GROUP BY a HAVING count(*) > 1", ["count(*) > 1"]),
        (
            "SELECT a FROM t WHERE (a = 1 OR b = 2) AND \"where\" = ?",
            ["(a = 1 OR b = 2)", "\"where\" = ?"]
        ),
        ("SELECT 1", []),
    ])
    func terms(sql: String, terms: [String]) {
        let query = SQLText(sql)
        #expect(query.conditions.flatMap { $0.terms.map(query.text) } == terms)
    }

    @Test(arguments: [
        ("SELECT * FROM task AS t, \"Row\" JOIN other o ON 1", ["task", "row", "other"]),
        ("SELECT * FROM (SELECT * FROM inner1) x LEFT JOIN b USING (id)", ["inner1", "b"]),
    ])
    func tables(sql: String, tables: [String]) {
        #expect(SQLText(sql).tables == tables)
    }

    @Test func namesOfTables() {
        let sources = SQLText("SELECT * FROM a, main.b AS c JOIN d \"E\" ON 1 LEFT JOIN f ON 1 WHERE 1")
            .sources
        #expect(sources.map(\.table) == ["a", "b", "d", "f"])
        #expect(sources.map(\.alias) == [nil, "c", "e", nil])
        #expect(sources.map(\.schema) == [nil, "main", nil, nil])
    }

    @Test(arguments: [
        ("SELECT count(*) FROM task", true), ("SELECT max(a), b FROM t WHERE c = 1", true),
        ("SELECT count(*) FROM task GROUP BY owner", false), ("SELECT count FROM task", false),
        ("SELECT (SELECT max(a) FROM u) FROM t", false), ("SELECT a FROM t ORDER BY max(b, c)", false),
    ])
    func aQueryWithOneRowForAllRows(sql: String, isAggregate: Bool) {
        #expect(SQLText(sql).isAggregate == isAggregate)
    }

    @Test func theNameOfARowIsNotRelaxed() {
        let query = SQLText(
            "SELECT * FROM t JOIN u ON u.t = t.id WHERE t.id = ? AND t.owner = ? AND t.done = 0")
        let relaxed = query.relaxed(keys: ["id"])
        #expect(relaxed.map(\.term) == ["t.owner = ?", "t.done = 0", "JOIN u"])
        #expect(relaxed.map(\.isIdentity) == [true, false, false])
        #expect(relaxed.map(\.tables) == [["t", "u"], ["t", "u"], nil])
    }

    @Test func theTablesThatATriggerWrites() {
        let trigger =
            "CREATE TRIGGER t AFTER UPDATE OF a, b ON own WHEN NEW.a > 1 BEGIN UPDATE OR IGNORE x SET a = 1; "
            + "INSERT INTO \"y\" SELECT a FROM read ON CONFLICT (a) DO UPDATE SET a = 2; DELETE FROM z; END"
        #expect(SQLText(trigger).writtenTables == ["x", "y", "z"])
        let event = StatementOutline(trigger).triggerEvent
        #expect(event?.kind == .update && event?.table == "own")
        #expect(StatementOutline("CREATE TABLE t(a)").triggerEvent == nil)
    }
}
