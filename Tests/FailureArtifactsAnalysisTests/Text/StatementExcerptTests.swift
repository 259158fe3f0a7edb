import Testing

@testable import FailureArtifactsAnalysis

/// Statements that are wider than a line.
@Suite struct StatementExcerptTests {
    @Test(arguments: [
        ("SELECT a, b FROM t WHERE id = 1", 40, "SELECT a, b FROM t WHERE id = 1"),
        (
            "SELECT id, name, balance, openedOn, closedOn FROM account WHERE name = 'x' ORDER BY id", 60,
            "SELECT id, name, … FROM account WHERE name = 'x' ORDER BY id"
        ),
        (
            "UPDATE account SET name = ?, balance = ?, openedOn = ? WHERE id = 31", 45,
            "UPDATE account SET name = ?, b… WHERE id = 31"
        ),
        (
            "INSERT INTO account (id, name, balance, openedOn) VALUES (31, 'Math', 4)", 52,
            "INSERT INTO account (id, na…) VALUES (31, 'Math', 4)"
        ),
        (
            "INSERT INTO account (id, name, balance, openedOn) VALUES (?, ?, ?, ?)", 52,
            "INSERT INTO account (id, name, balance, openedOn) V…"
        ),
        // The words of quotes and parentheses aren't those of the statement.
        (
            "SELECT \"a where b\", (SELECT x FROM u WHERE v), c, d, e, f FROM account WHERE id = 3", 46,
            "SELECT \"a where b\",… FROM account WHERE id = 3"
        ),
        // A long condition is cut at its end, and what is before it, too.
        (
            "DELETE FROM \"a table with a long name\" WHERE id IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", 40,
            "DELETE FROM … WHERE id IN (1, 2, 3, 4, …"
        ),
        ("CREATE TABLE account(id INTEGER PRIMARY KEY, name)", 20, "CREATE TABLE accoun…"),
    ]) func theStartAndTheConditionStay(sql: String, limit: Int, expected: String) {
        #expect(StatementExcerpt.text(of: sql, to: limit) == expected)
    }

    @Test(arguments: [
        "SELECT", "SELECT FROM WHERE", "SELECT ( FROM t WHERE 'x", "INSERT INTO t ) VALUES (", "[",
        "where where where",
        "SELECT 果物, 果物, 果物 FROM 果物 WHERE 果物 = '果物果物果物果物'",
    ]) func anyLimitIsKept(sql: String) {
        for limit in 1...60 {
            #expect(TextWidth.columns(of: StatementExcerpt.text(of: sql, to: limit)) <= limit)
        }
    }
}
