import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The terms and tables of queries, and their variants.
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
    }

    // MARK: - Variants

    private static let schema = """
        CREATE TABLE task(id INTEGER PRIMARY KEY, owner TEXT, list INTEGER, minutes INTEGER, due TEXT, done INTEGER);
        CREATE TABLE list(id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO list VALUES (1, 'home'), (2, 'Work');
        INSERT INTO task VALUES (1, 'ann', 1, 30, '2026-03-01 08:00', 0), (2, 'Ann', 1, 45, '2026-03-02 09:00', 1),
            (3, 'ben', NULL, NULL, '2026-03-03 10:00', 0), (4, 'cleo', 2, 60, '2026-03-03 11:00', 1)
        """

    /// Each query gives the expected result only in another form.
    @Test(arguments: [
        ("SELECT count(*) FROM task WHERE minutes > 45", "2", "with >= in place of >"),
        ("SELECT 45 / 2", "22.5", "with * 1.0 / in place of /"),
        ("SELECT count(*) FROM task WHERE owner = 'ann'", "2", "without regard to case"),
        ("SELECT count(*) FROM task WHERE list <> 1", "2", "with IS NOT in place of <>"),
        (
            "SELECT count(*) FROM task JOIN list ON list.id = task.list", "4",
            "with LEFT JOIN in place of JOIN"
        ),
        (
            "SELECT count(*) FROM task WHERE due BETWEEN '2026-03-01' AND '2026-03-03'", "4",
            "with the day of due"
        ),
        (
            "SELECT count(*) FROM list WHERE id NOT IN (SELECT list FROM task WHERE done = 0)", "1",
            "without NULL in the list of NOT IN"
        ),
        (
            "SELECT count(*) FROM (SELECT list FROM task UNION SELECT 9)", "5",
            "with UNION ALL in place of UNION"
        ),
        ("SELECT count(*) FROM task WHERE done = 0 AND list = 1 OR list = 2", "1", "with parentheses"),
    ])
    func aVariantGivesTheExpectedResult(sql: String, expected: String, text: String) throws {
        let fixture = try Fixture()
        let connection = try Connection(path: fixture.directory + "/v.sqlite", mode: .create)
        try connection.execute(Self.schema)
        let operand = FailureMessage.Operand(expected)
        let found = QueryVariants(of: sql).all.filter { variant in
            // Some variants have no meaning.
            guard let result = try? QueryResult.of(variant.sql, [], on: connection) else { return false }
            return ResultPart.cell(0, prefix: "", suffix: "").gives(operand, in: result)
        }
        #expect(found.contains { $0.text.contains(text) }, "\(found.map(\.text))")
        let own = try #require(try QueryResult.of(sql, [], on: connection))
        #expect(!ResultPart.cell(0, prefix: "", suffix: "").gives(operand, in: own))
    }

    @Test func variantsKeepTheParameters() throws {
        let fixture = try Fixture()
        let connection = try Connection(path: fixture.directory + "/v.sqlite", mode: .create)
        try connection.execute(Self.schema)
        let sql =
            "SELECT owner FROM task JOIN list ON list.id = task.list WHERE owner = ? AND minutes > ? AND done IN (?, 1) "
            + "ORDER BY owner LIMIT ?"
        let variants = QueryVariants(of: sql).all
        #expect(variants.count > 5)
        for variant in variants {
            #expect(try connection.prepare(variant.sql).parameterCount == 4, "\(variant.sql)")
        }
    }
}
