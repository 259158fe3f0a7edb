import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// The transactions before the failure in `show`, `history` and `diff`.
@Suite struct StoryTests {
    /// The statement log of ``Fixture/transactions``.
    static let log: [(sql: String, changes: Int?)] = [
        ("PRAGMA journal_mode = wal", 0), ("BEGIN", 0),
        ("UPDATE account SET balance = 5 WHERE id = 1", 1),
        ("INSERT INTO account VALUES (3, 'c', 30)", 1),
        ("COMMIT", 0), ("SELECT * FROM account", 0), ("BEGIN", 0),
        ("CREATE TABLE entry(account, amount)", 0), ("INSERT INTO entry VALUES (1, -5), (2, 5)", 2),
        ("PRAGMA user_version = 4", 0), ("COMMIT", 0), ("BEGIN", 0),
        ("INSERT INTO account VALUES (9, 9, 9)", 1),
        ("ROLLBACK", 0), ("BEGIN", 0), ("DELETE FROM account WHERE id > 1", 2), ("DROP TABLE entry", 0),
        ("COMMIT", 0), ("SELECT count(*) FROM account", 0),
    ]

    /// The failure of an assertion about the last query of ``log``: the last transaction deleted two of three rows.
    static let message = "XCTAssertEqual failed: (\"1\") is not equal to (\"3\")"

    // MARK: show

    @Test func showHasTheLastStatements() throws {
        let fixture = try Fixture()
        let outcome = run("show", try fixture.walBundle(log: Self.log, message: Self.message))
        #expect(outcome.error.isEmpty && outcome.status == 0)
        #expect(
            outcome.output.contains(
                """

                Last statements, 5 of 19 (all with --statements)
                  07:08:09.112  INSERT INTO account VALUES (9, 9, 9)  (1 row)
                  07:08:09.113  ROLLBACK
                  07:08:09.115  DELETE FROM account WHERE id > 1  (2 rows)
                  07:08:09.116  DROP TABLE entry
                  07:08:09.118  SELECT count(*) FROM account

                """), "\(outcome.output)")
        let all = run("show", fixture.directory, "--statements").output
        #expect(all.contains("\nLast statements\n  07:08:09.100  PRAGMA journal_mode = wal\n"))
        let facts = try Program.python(
            """
            import json, sys
            print(len(json.load(open(sys.argv[1]))["statements"]["ledger"]))
            """, run("show", fixture.directory, "--json").output)
        #expect(facts == "19\n")
    }

    @Test func aDamagedLogDoesNotHideTheRest() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(log: [("\u{1}", 0)])
        let outcome = run("show", path)
        #expect(outcome.status == 0 && outcome.output.contains("Store ledger"))
        #expect(
            outcome.error
                == "warning: The statements of store 'ledger' are not shown: The statements "
                + "'statements/ledger.jsonl' of '\(path)' cannot be read: a line is not a statement.\n"
        )
        #expect(run("history", path).status == 0)
        let verified = run("verify", path)
        #expect(verified.status == 1 && verified.output.contains("a line is not a statement."))
    }

    @Test func whatStatementsSayIsSafeForATerminal() throws {
        let fixture = try Fixture()
        let output = run("show", try fixture.walBundle(log: [("SELECT\\n  '\\u001b[31m'", 0)])).output
        #expect(output.contains("  SELECT '\\u{1b}[31m'\n"))
    }

    // MARK: history

    @Test func historyHasTheStatements() throws {
        let fixture = try Fixture()
        let outcome = run("history", try fixture.walBundle(log: Self.log))
        #expect(
            outcome.output == """
                History of store ledger, 3 transactions
                1  1 page written, the store has 8 KB
                   account: 1 row inserted, 1 updated
                     UPDATE account SET balance = 5 WHERE id = 1  (1 row)
                     INSERT INTO account VALUES (3, 'c', 30)  (1 row)
                2  2 pages written, the store has 12 KB
                   table entry created
                   user_version 4
                   entry: 2 rows inserted
                     CREATE TABLE entry(account, amount)
                     INSERT INTO entry VALUES (1, -5), (2, 5)  (2 rows)
                     PRAGMA user_version = 4
                3  3 pages written, the store has 12 KB
                   table entry dropped
                   account: 2 rows deleted
                   entry: 2 rows deleted
                     DELETE FROM account WHERE id > 1  (2 rows)
                     DROP TABLE entry

                """)
        let facts = try Program.python(
            """
            import json, sys
            print([len(t["statements"]) for t in json.load(open(sys.argv[1]))["transactions"]])
            """, run("history", fixture.directory, "--json").output)
        #expect(facts == "[2, 3, 2]\n")
    }

    /// Other tests of the process may have used the store before.
    @Test func historyBeginsWithTheTestsOwnTransactions() throws {
        let fixture = try Fixture()
        let facts = Dictionary(uniqueKeysWithValues: (0...4).map { ($0, "\"phase\":\"earlier\"") })
        let lines = run("history", try fixture.walBundle(log: Self.log, facts: facts)).output
            .split(separator: "\n")
        #expect(lines[1] == "1 to 1 are from before the test (listed with --all)")
        #expect(lines[2].hasPrefix("2  2 pages written"))
        #expect(run("history", fixture.directory, "--all").output.contains("\n1  1 page written"))
    }

    @Test func whereStatementsAreMissingNoneIsATransactions() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(log: Self.log, missing: true)
        #expect(!run("history", path).output.contains("DELETE FROM"))
        let shown = run("show", path).output
        #expect(
            shown.contains(
                "\n\nLast statements in the log, 5 of 19 (all with --statements)\n"))
        #expect(shown.contains("\nStatements: Some are missing.\n"))
    }

    // MARK: diff

    @Test func diffComparesTwoStates() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        for arguments in [["--at", "0", "--at", "1"], ["--at=-4", "--at=-3"]] {
            let outcome = try Program.tool(["diff", path] + arguments)
            #expect(
                outcome
                    == Outcome(
                        status: 1,
                        output: """
                            --- \(path), store ledger, before the first of 3 transactions
                            +++ \(path), store ledger, after transaction 1 of 3

                            account: 1 inserted, 1 updated
                              ~ 1: balance 10 → 5
                              + 3: name 'c', balance 30

                            """, error: ""))
        }
        let toEnd = run("diff", path, "--at", "-2")
        #expect(toEnd.output.contains("+++ \(path), store ledger, after transaction 3 of 3\n"))
        #expect(toEnd.output.contains("account: 2 deleted\n"))
        #expect(run("diff", path, "--at", "2", "--at", "2").status == 0)
        let facts = try Program.python(
            """
            import json, sys
            d = json.load(open(sys.argv[1]))
            print(d["a"]["at"], d["b"]["at"])
            """, run("diff", path, "--at", "1", "--json").output)
        #expect(facts == "1 3\n")
    }

    @Test func diffComparesStatesOfBundlesAndFiles() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        let file = try fixture.write(try fixture.store(Fixture.base), to: "plain.sqlite")
        #expect(run("diff", path, file, "--at", "0").status == 0)
        #expect(run("diff", file, path, "--at", "0").status == 0)
        #expect(run("diff", file, path).status == 1)
        #expect(run("diff", path, path, "--at", "1", "--at", "1").status == 0)
        let later = run("diff", path, path, "--at", "1")
        #expect(later.status == 1 && later.output.contains("+++ \(path), store ledger\n"))
    }

    @Test func whatMakesNoSenseIsSaid() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        let file = try fixture.write(try fixture.store(Fixture.base), to: "plain.sqlite")
        #expect(run("diff", path, "--at", "x").status == 64)
        #expect(run("diff", path, "--at", "9").status == 66)
        #expect(run("diff", path, "--at", "0", "--at", "1", "--at", "2").status == 64)
        #expect(run("diff", path, file, "--at", "0", "--at", "1").status == 64)
        #expect(run("diff", file, file, "--at", "0").status == 64)
    }
}
