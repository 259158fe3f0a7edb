import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsSQLite

@Suite struct StatementRedactionTests {
    /// Returns a statement without its values; the schema has some names.
    private func redacted(_ sql: String) -> String {
        var redaction = StatementRedaction(
            names: [
                "users", "a b", "token", "t", "t1", "c2", "a", "b", "main", "table_info", "foreign_keys",
                "é", "果物",
            ])
        return redaction.redacted(sql)
    }

    @Test(arguments: [
        ("SELECT 1", "SELECT ?"),
        (
            "INSERT INTO users VALUES ('it''s', 1.5e-3, x'00FF', X'', -0x1F, .5, NULL)",
            "INSERT INTO users VALUES (?, ?, ?, ?, -?, ?, NULL)"
        ),
        (
            "SELECT \"token\", \"a b\", `users`, [Token] FROM \"Users\"",
            "SELECT \"token\", \"a b\", `users`, [Token] FROM \"Users\""
        ),
        ("SELECT \"a string\", `x`, [y]", "SELECT ?, ?, ?"), ("SELECT [x]] + 1", "SELECT ?? + ?"),
        (
            "SELECT ?, ?1, :token, @token, $token, t1.c2 FROM t1",
            "SELECT ?, ?, :token, @token, $token, t1.c2 FROM t1"
        ),
        ("SELECT a -- it is 'x'\n, b /* or 7 */ FROM t", "SELECT a \n, b  FROM t"),
        ("INSERT INTO t VALUES ('cut off", "INSERT INTO t VALUES (?"),
        ("INSERT INTO t VALUES (\"cut off", "INSERT INTO t VALUES (?"),
        ("SELECT /* cut off", "SELECT "),
        ("PRAGMA key = secret", "PRAGMA key = ?"), ("PRAGMA key=\"secret\"", "PRAGMA key= ?"),
        ("PRAGMA main.table_info(users)", "PRAGMA main.table_info= ?"),
        ("PRAGMA foreign_keys; ", "PRAGMA foreign_keys; "),
        ("pragma key 'secret'", "pragma key = ?"),
        ("SELECT 1e+5, 1e, 12abc, 1.2.3", "SELECT ?, ?, ?, ?"),
        ("SELECT é FROM 果物 WHERE a='果物'", "SELECT é FROM 果物 WHERE a=?"),
        ("SELECT 'a'\"d\"x'00'", "SELECT ???"), ("", ""), ("'", "?"), ("-", "-"), ("/", "/"),
        ("x'", "?"),
    ])
    func valuesAreTakenOut(_ sql: String, _ expected: String) {
        #expect(redacted(sql) == expected)
    }

    /// A text that SQLite can't parse may have a value anywhere; the name of an alias or of a savepoint may be one.
    @Test(arguments: [
        ("INSERT INTO users VALUES(secret)", "INSERT INTO users VALUES(name1)"),
        ("INSERT INTO users VALUES('it's secret')", "INSERT INTO users VALUES(?name1 name2?"),
        (
            "SELECT * FROM users WHERE token = me@secret.com",
            "SELECT * FROM users WHERE token = name1?.name2"
        ),
        ("secret\" folder')", "name1?"), ("{secret: 7}\\#secret$secret", "?name1? ????"),
        (
            "SELECT u.token AS secret FROM users AS u ORDER BY Secret",
            "SELECT name1.token AS name2 FROM users AS name1 ORDER BY name2"
        ),
        ("SAVEPOINT secret", "SAVEPOINT name1"), ("ATTACH secret AS other", "ATTACH name1 AS name2"),
        ("SELECT :secret, @secret, $secret, ?7", "SELECT ?, ?, ?, ?"),
        ("EXPLAIN PRAGMA key = secret", "EXPLAIN PRAGMA key = name1"),
    ])
    func onlyKnownNamesStay(_ sql: String, _ expected: String) {
        #expect(redacted(sql) == expected)
    }

    /// A statement that is cut off anywhere contains no part of a value.
    @Test func whereverItIsCut() {
        let sql =
            "INSERT INTO users(token) SELECT 'QQ''QQ', x'FFFF', 7777, \"QQ\" -- QQ\n WHERE /* QQ */ token = 'QQ'"
        for count in 0...sql.utf8.count {
            let redacted = redacted(String(decoding: Array(sql.utf8)[..<count], as: UTF8.self))
            #expect(
                !redacted.contains("Q") && !redacted.contains("7") && !redacted.contains("FFFF"),
                "\(count)")
        }
    }

    /// SQLite parses the redacted statement like the original.
    @Test func whatIsLeftIsStillSQL() throws {
        try withTemporaryDirectory { directory in
            let connection = try Connection(path: directory + "/a", mode: .create)
            try connection.execute("CREATE TABLE users(token, \"a b\")")
            for sql in [
                "INSERT INTO users VALUES ('x', 2), (x'00', \"token\") -- done",
                "SELECT \"a b\" || 'x' FROM users WHERE token IN (1, 2.5) /* or */ AND token LIKE 'a%' LIMIT 3",
                "UPDATE users SET token = CASE WHEN token > -7 THEN 'a' ELSE NULL END",
            ] {
                _ = try connection.prepare(redacted(sql))
            }
        }
    }
}
