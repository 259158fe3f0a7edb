import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct BisectTests {
    @Test func theFirstTransactionAfterWhichAQueryReturnsARow() throws {
        let fixture = try Fixture()
        try fixture.walBundle(
            log: StoryTests.log,
            facts: [8: "\"source\":{\"file\":\"Sources/Ledger/Ledger.swift\",\"line\":42}"])
        #expect(
            try Program.tool(
                "bisect", fixture.directory,
                "SELECT account FROM entry WHERE account NOT IN (SELECT id FROM account WHERE id > 1)")
                == Outcome(
                    status: 0,
                    output: """
                        Transaction 2 of 3 is the first after which the query returns a row
                          account 1
                          table entry created
                          user_version 4
                          entry rowid = 1 inserted: account 1, amount -5
                          entry rowid = 2 inserted: account 2, amount 5
                             CREATE TABLE entry(account, amount)
                             INSERT INTO entry VALUES (1, -5), (2, 5)  (2 rows)  Sources/Ledger/Ledger.swift:42
                             PRAGMA user_version = 4
                        It healed: from transaction 3 to the failure, the query returns no row.

                        """, error: ""))
    }

    /// The first and the last of several ranges of states.
    @Test func whatHealsAndComesBack() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle([
            "UPDATE account SET balance = -1 WHERE id = 1",
            "UPDATE account SET balance = 1 WHERE id = 1",
            "UPDATE account SET name = 'x' WHERE id = 2", "UPDATE account SET balance = -2 WHERE id = 2",
            "UPDATE account SET name = 'y' WHERE id = 2",
        ])
        #expect(
            run("bisect", path, "SELECT id FROM account WHERE balance < 0").output == """
                Transaction 1 of 5 is the first after which the query returns a row
                  id 1
                  account id = 1 updated: balance 10 → -1
                It healed in between: the query returns a row in the states 1, 4–5.

                """)
    }

    @Test func aDifferentResult() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle([
            "UPDATE account SET name = 'x'", "UPDATE account SET balance = 15 WHERE id = 1",
            "CREATE TABLE t(a)", "UPDATE account SET balance = 10 WHERE id = 1",
        ])
        #expect(
            run("bisect", path, "SELECT sum(balance) AS s FROM account", "--changed")
                == Outcome(
                    status: 0,
                    output: """
                        Transaction 2 of 4 is the first after which the result differs
                          before: s 30
                          after: s 35
                          account id = 1 updated: balance 10 → 15
                        It changes again after transaction 4.
                        It healed: from transaction 4 to the failure, the result is the first one again.

                        """, error: ""))
        // The type of a value counts, and so does the order of rows.
        for (sql, status) in [
            ("SELECT id FROM account", 1), ("SELECT count(*) FROM account", 1),
            ("SELECT id FROM account ORDER BY abs(balance - 16)", 0), ("SELECT name FROM account", 0),
        ] {
            #expect(run("bisect", path, sql, "--changed").status == Int32(status), "\(sql)")
        }
    }

    @Test func noTransaction() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(uncommitted: "SELECT 1")
        #expect(
            run("bisect", path, "SELECT 1 FROM account WHERE id = 9")
                == Outcome(
                    status: 1,
                    output:
                        "The query returns no row in any of the 5 states, from before the first of 3 transactions to "
                        + "the failure.\n", error: ""))
        #expect(
            run("bisect", path, "SELECT 1", "--changed", "--store", "ledger.committed").output
                == "The result is the same in all 4 states, from before the first of 3 transactions to the failure.\n"
        )
    }

    @Test func beforeTheFirstTransaction() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        #expect(
            run("bisect", path, "SELECT name FROM account WHERE id = 2")
                == Outcome(
                    status: 0,
                    output: """
                        Already before the first of 3 transactions the query returns a row
                          The history doesn't reach back further.
                          name 'b'
                        It healed: from transaction 3 to the failure, the query returns no row.

                        """, error: ""))
    }

    @Test func theOpenTransactionIsTheLastState() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            uncommitted: "UPDATE account SET balance = -4 WHERE id = 1",
            log: StoryTests.log + [("BEGIN", 0), ("UPDATE account SET balance = -4 WHERE id = 1", 1)])
        let sql = "SELECT id FROM account WHERE balance < 0"
        #expect(
            run("bisect", path, sql).output == """
                The uncommitted transaction, after 3 transactions in the history, is the first after which the query returns a row
                  id 1
                  account id = 1 updated: balance 5 → -4
                     UPDATE account SET balance = -4 WHERE id = 1  (1 row)

                """)
        #expect(run("bisect", path, sql, "--store", "ledger.committed").status == 1)
        #expect(
            run("bisect", path, "SELECT 1 FROM account WHERE balance = 5").output.hasSuffix(
                "\nIt healed: after the uncommitted transaction, the query returns no row.\n"))
    }

    @Test func asJSON() throws {
        let fixture = try Fixture()
        try fixture.walBundle(log: StoryTests.log)
        let program = """
            import json, sys
            d = json.load(open(sys.argv[1]))
            print(d["result"], d.get("transaction"), d["states"], d.get("healedBy"), d["transactionCount"])
            print(d.get("changedAfter"), d.get("query"), [s["sql"] for s in d.get("statements", [])])
            print([(r["table"], r["key"], r["change"]) for r in d.get("rows", [])])
            """
        func facts(_ arguments: String...) throws -> String {
            try Program.python(
                program, run(["bisect", fixture.directory, "--json"] + arguments).output)
        }
        #expect(
            try facts("SELECT amount FROM entry WHERE amount > 0") == """
                transaction 2 [[2, 2]] 3 3
                None {'after': [[5]], 'afterCount': 1, 'before': [], 'beforeCount': 0, 'columns': ['amount']} ['CREATE TABLE entry(account, amount)', \
                'INSERT INTO entry VALUES (1, -5), (2, 5)', 'PRAGMA user_version = 4']
                [('entry', {'rowid': 1}, 'inserted'), ('entry', {'rowid': 2}, 'inserted')]

                """)
        #expect(
            try facts("SELECT count(*) AS n FROM account", "--changed").hasPrefix(
                """
                transaction 1 [[1, 3]] None 3
                [1, 3] {'after': [[3]], 'afterCount': 1, 'before': [[2]], 'beforeCount': 1, 'columns': ['n']} ['UPDATE
                """))
        #expect(try facts("SELECT 1").hasPrefix("before-first-transaction None [[0, 3]] None 3\n"))
        #expect(try facts("SELECT 1 WHERE 0") == "none None [] None 3\nNone None []\n[]\n")
    }

    @Test func queriesThatFail() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        for (sql, reason) in [
            (
                "DELETE FROM account",
                "' is not run: it changes the store. Pass a query, such as a SELECT."
            ),
            (
                "SELECT * FROM acount",
                "' cannot be run on the store 'ledger': no such table: acount. The nearest name is 'account'."
            ),
            (
                "SELECT nam FROM account",
                "' cannot be run on the store 'ledger': no such column: nam. The nearest name is 'name'. The columns of account are id, name, balance."
            ),
            ("SELEC", "' cannot be run on the store 'ledger': near \"SELEC\": syntax error."),
        ] {
            #expect(
                run("bisect", path, sql)
                    == Outcome(status: 64, output: "", error: "error: '\(sql)\(reason)\n"))
        }
        let ledger = try fixture.ledger("other/a.zip")
        #expect(
            run("bisect", ledger, "SELECT 1")
                == Outcome(
                    status: 66, output: "",
                    error:
                        "error: '\(ledger)' has no history of the store 'ledger', so that only its last "
                        + "state can be looked at.\n"))
    }

    @Test func aQueryWithoutEnd() throws {
        let fixture = try Fixture()
        let outcome = run(
            "bisect", try fixture.walBundle(), "--time-limit", "1",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 1"
        )
        #expect(outcome.status == 74)
        #expect(
            outcome.error.contains(
                " was stopped on the store 'ledger': it takes longer than the time limit. '--time-limit SECONDS' sets "
                    + "another one. If you know"))
    }
}
