@testable import FailureArtifactsCommands
import FailureArtifactsTestFixtures
import Testing

@Suite struct BlameTests {
    private static let source =
        "\"source\":{\"file\":\"Sources/Ledger/Ledger.swift\",\"function\":\"Ledger.pay(_:)\",\"line\":42}"

    @Test func eachTransactionThatTouchedARow() throws {
        let fixture = try Fixture()
        try fixture.walBundle(log: StoryTests.log, facts: [2: Self.source])
        #expect(
            try Program.tool("blame", fixture.directory, "account", "1")
                == Outcome(
                    status: 0,
                    output: """
                        account 1 in store ledger: 1 transaction, of 3 in the history
                        1  id = 1 updated: balance 10 → 5
                             UPDATE account SET balance = 5 WHERE id = 1  (1 row)  Ledger.pay(_:) Sources/Ledger/Ledger.swift:42
                        at the failure: id = 1: name 'a', balance 5

                        """, error: ""))
        #expect(
            run("blame", fixture.directory, "account", "3")
                == Outcome(
                    status: 0,
                    output: """
                        account 3 in store ledger: 2 transactions, of 3 in the history
                        1  id = 3 inserted: name 'c', balance 30
                             INSERT INTO account VALUES (3, 'c', 30)  (1 row)
                        3  id = 3 deleted: name 'c', balance 30
                             DELETE FROM account WHERE id > 1  (2 rows)
                        at the failure: no row id = 3

                        """, error: ""))
    }

    @Test func severalRows() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            ["UPDATE account SET balance = 7 WHERE id = 2", "UPDATE account SET name = 'x'"])
        let expected = """
             in store ledger: 2 transactions, of 2 in the history
            1  id = 2 updated: balance 20 → 7
            2  id = 2 updated: name 'b' → 'x'
            at the failure: id = 2: name 'x', balance 7

            """
        // The row matches in the first state only, and is followed further.
        for words in [["account", "WHERE balance > 15"], ["account where balance > 15"]] {
            #expect(run(["blame", path] + words).output == words.joined(separator: " ") + expected)
        }
        #expect(
            run("blame", path, "account", "WHERE", "1").output == """
                account WHERE 1 in store ledger: 2 rows, 2 transactions, of 2 in the history
                1  id = 2 updated: balance 20 → 7
                2  id = 1 updated: name 'a' → 'x'
                   id = 2 updated: name 'b' → 'x'
                at the failure: id = 1: name 'x', balance 10
                at the failure: id = 2: name 'x', balance 7

                """)
    }

    /// A statement on another table can have changed a row only through a trigger, a foreign key or another name.
    @Test(arguments: [false, true]) func statementsThatCannotHaveChangedARow(hasTrigger: Bool) throws {
        let fixture = try Fixture()
        let copy = "INSERT INTO next SELECT id, name, 7 FROM account"
        let note = "INSERT INTO note VALUES (1)"
        let start = "CREATE TABLE note(id)"
        let trigger = "CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE account SET name = name; END"
        let rebuild =
            [
                "CREATE TABLE next(id INTEGER PRIMARY KEY, name, balance)", copy, "DROP TABLE account",
                "ALTER TABLE next RENAME TO account",
            ] + (hasTrigger ? [trigger] : []) + [note]
        let path = try fixture.walBundle(
            [start, rebuild.joined(separator: "; ")],
            log: [("PRAGMA journal_mode = wal", 0), (start, 0), ("BEGIN", 0)]
                + rebuild.map { ($0, $0 == copy ? 2 : $0 == note ? 1 : 0) } + [("COMMIT", 0)])
        #expect(
            run("blame", path, "account", "1").output == """
                account 1 in store ledger: 1 transaction, of 2 in the history
                2  id = 1 updated: balance 10 → 7
                     \(copy)  (2 rows)
                at the failure: id = 1: name 'a', balance 7

                """)
    }

    /// Account 3 is inserted as 'c' with 30, and other statements run in the same transaction.
    @Test(
        arguments: [
            // Without its values, the UPDATE may have changed the row.
            ("UPDATE account SET balance = ? WHERE id = ?", "balance = 31 WHERE id = 3", true),
            ("UPDATE account SET balance = 31 WHERE id = 3", "balance = 31 WHERE id = 3", true),
            ("UPDATE account SET name = 'C' WHERE id = 1 OR id = 3", "name = 'C' WHERE id <> 2", true),
            // It changes other rows.
            ("UPDATE account SET balance = 31 WHERE id = 2", "balance = 31 WHERE id = 2", false),
            ("UPDATE account SET balance = 3 WHERE name = 'b'", "balance = 3 WHERE id = 2", false),
            ("UPDATE account SET name = 'x' WHERE id < 3", "name = 'x' WHERE id < 3", false),
        ])
    func anInsertedRowAlsoDependsOnLaterUpdates(logged: String, done: String, isListed: Bool) throws {
        let fixture = try Fixture()
        let insert = "INSERT INTO account VALUES (3, 'c', 30)"
        let path = try fixture.walBundle(
            ["\(insert); UPDATE account SET \(done)"],
            log: [
                ("PRAGMA journal_mode = wal", 0), ("BEGIN", 0), (insert, 1), (logged, 1), ("COMMIT", 0),
            ])
        let output = run("blame", path, "account", "3").output
        let statements =
            "     \(insert)  (1 row)\n" + (isListed ? "     \(logged)  (1 row)\n" : "")
            + "at the failure"
        #expect(output.contains(statements), "\(output)")
    }

    @Test(arguments: [3, 4]) func theExecutionWithTheValuesOfTheRowIsListed(id: Int) throws {
        let fixture = try Fixture()
        let insert = "INSERT INTO account VALUES (?, ?, 30)"
        let path = try fixture.walBundle(
            ["INSERT INTO account VALUES (3, 'c', 30); INSERT INTO account VALUES (4, 'd', 30)"],
            log: [
                ("PRAGMA journal_mode = wal", 0), ("BEGIN", 0), (insert, 1), (insert, 1), ("COMMIT", 0),
            ], facts: [2: #""values":[3,"c"]"#, 3: #""values":[4,"d"]"#])
        let output = run("blame", path, "account", "\(id)").output
        #expect(output.contains("VALUES (\(id), '\(id == 3 ? "c" : "d")', 30)"), "\(output)")
        #expect(!output.contains("VALUES (\(7 - id),"))
    }

    /// The row doesn't exist yet when the UPDATE runs.
    @Test func anUpdateBeforeTheInsertIsNotListed() throws {
        let fixture = try Fixture()
        let insert = "INSERT INTO account VALUES (3, 'c', 30)"
        let update = "UPDATE account SET balance = 30"
        let path = try fixture.walBundle(
            ["\(update); \(insert)"],
            log: [
                ("PRAGMA journal_mode = wal", 0), ("BEGIN", 0), (update, 2), (insert, 1), ("COMMIT", 0),
            ])
        let output = run("blame", path, "account", "3").output
        #expect(output.contains(insert) && !output.contains("UPDATE"), "\(output)")
    }

    @Test func theOpenTransactionComesLast() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            ["UPDATE account SET balance = 7 WHERE id = 2"], uncommitted: "DELETE FROM account",
            log: [
                ("PRAGMA journal_mode = wal", 0), ("UPDATE account SET balance = 7 WHERE id = 2", 1),
                ("BEGIN", 0), ("DELETE FROM account", 2),
            ])
        #expect(
            run("blame", path, "account", "2").output == """
                account 2 in store ledger: 2 transactions, of 1 in the history
                1  id = 2 updated: balance 20 → 7
                     UPDATE account SET balance = 7 WHERE id = 2  (1 row)
                uncommitted transaction  id = 2 deleted: name 'b', balance 7
                     DELETE FROM account  (2 rows)
                at the failure: no row id = 2

                """)
        // The committed copy doesn't have it.
        #expect(
            run("blame", path, "account", "2", "--store", "ledger.committed").output.hasSuffix(
                "(1 row)\nat the failure: id = 2: name 'b', balance 7\n"))
    }

    @Test func asJSON() throws {
        let fixture = try Fixture()
        try fixture.walBundle(log: StoryTests.log, facts: [2: Self.source])
        let facts = try Program.python(
            """
            import json, sys
            d = json.load(open(sys.argv[1]))
            print(d["store"], d["table"], d["transactionCount"], d["rows"])
            for t in d["transactions"]:
                print(t["transaction"], t["rows"])
                print([(s["sql"], s.get("source", {}).get("line")) for s in t["statements"]])
            """, run("blame", fixture.directory, "account", "id=1", "--json").output)
        #expect(
            facts == """
                ledger account 3 [{'key': {'id': 1}, 'values': {'balance': 5, 'id': 1, 'name': 'a'}}]
                1 [{'change': 'updated', 'columns': {'balance': {'after': 5, 'before': 10}}, 'key': {'id': 1}, 'table': 'account'}]
                [('UPDATE account SET balance = 5 WHERE id = 1', 42)]

                """)
    }

    /// A key of any kind finds its row and no other.
    ///
    /// The number 5 and the text '5' are two keys, and 5 on the command line may mean both.
    @Test(arguments: [
        ("number", ["7"], ["id = 7"]), ("number", ["id=7"], ["id = 7"]), ("number", ["-3"], ["id = -3"]),
        ("word", ["'007'"], ["name = '007'"]), ("word", ["007"], ["name = '007'"]),
        ("word", ["name = a=b"], ["name = 'a=b'"]), ("word", ["a=b"], ["name = 'a=b'"]),
        ("word", ["'it''s'"], ["name = 'it's'"]), ("word", ["rowid=2"], ["name = 'a=b'"]),
        ("pair", ["1", "x"], ["a = 1, b = 'x'"]), ("pair", ["b=x", "a=1"], ["a = 1, b = 'x'"]),
        ("pair", ["a=1"], ["a = 1, b = 'x'", "a = 1, b = 'y'"]),
        ("token", ["X'00ff'"], ["id = X'00FF'"]), ("token", ["x'00FF'"], ["id = X'00FF'"]),
        ("plain", ["2"], ["rowid = 2"]), ("plain", ["v=two"], ["rowid = 2"]),
        ("plain", ["v=null"], ["rowid = 3"]),
        ("free", ["5"], ["k = 5", "k = '5'"]), ("free", ["'5'"], ["k = '5'"]),
        ("free", ["1.5"], ["k = 1.5"]), ("NUMBER", ["7"], ["id = 7"]), ("ab c", ["1"], ["id = 1"]),
    ])
    func keys(_ table: String, _ key: [String], _ expected: [String]) throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle([
            """
            CREATE TABLE number(id INTEGER PRIMARY KEY, v); INSERT INTO number VALUES (7, 0), (70, 0), (-3, 0);
            CREATE TABLE word(name TEXT PRIMARY KEY, v);
            INSERT INTO word VALUES ('007', 0), ('a=b', 0), ('7', 0), ('it''s', 0);
            CREATE TABLE pair(a INTEGER, b TEXT, v, PRIMARY KEY (a, b)) WITHOUT ROWID;
            INSERT INTO pair VALUES (1, 'x', 0), (1, 'y', 0), (2, 'x', 0);
            CREATE TABLE token(id BLOB PRIMARY KEY, v); INSERT INTO token VALUES (X'00FF', 0), (X'00', 0);
            CREATE TABLE plain(v); INSERT INTO plain VALUES ('one'), ('two'), (NULL);
            CREATE TABLE free(k PRIMARY KEY, v); INSERT INTO free VALUES (5, 0), ('5', 0), (1.5, 0);
            CREATE TABLE "ab c"(id INTEGER PRIMARY KEY, v); INSERT INTO "ab c" VALUES (1, 0)
            """
        ])
        let output = run(["blame", path, table] + key).output
        let touched = output.split(separator: "\n").filter { $0.contains(" inserted: ") }
        #expect(touched.count == expected.count, "\(output)")
        for (line, key) in zip(touched, expected) {
            #expect(line.dropFirst(3).hasPrefix(key + " inserted: "), "\(output)")
        }
    }

    @Test(arguments: [
        (
            ["acount", "1"],
            "The store has no table 'acount'; the nearest name is 'account'. Its tables are account."
        ),
        (["zzz", "1"], "The store has no table 'zzz'. Its tables are account."),
        (
            ["account", "nam=a"],
            "The table has no column 'nam'; the nearest name is 'name'."
        ),
        (
            ["account", "WHERE nam = 1"],
            "The rows cannot be selected: no such column: nam. The nearest name is 'name'."
        ),
        (
            ["account", "1", "2"],
            "The key of account is (id), but 2 values were given. Pass one argument for each column."
        ),
        (["account", "name=a", "2"], "'2' has no column. Give each value as COLUMN=VALUE."),
        (["account", "WHERE ("], "The rows cannot be selected: incomplete input."),
        (
            ["account"],
            "'blame' needs KEY, or WHERE and a condition. See 'failure-artifacts blame --help'."
        ),
    ])
    func mistakes(_ words: [String], _ sentence: String) throws {
        let fixture = try Fixture()
        #expect(
            run(["blame", try fixture.walBundle()] + words)
                == Outcome(status: 64, output: "", error: "error: \(sentence)\n"))
    }

    @Test func aRowThatNeverExisted() throws {
        let fixture = try Fixture()
        #expect(
            run("blame", try fixture.walBundle(), "account", "99").output
                == "account 99 in store ledger: no such row before or after any transaction, of 3 in the history\n"
        )
    }

    /// A table that is dropped, and a column that a migration removes.
    @Test func earlierSchemas() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle([
            "UPDATE account SET balance = 1 WHERE id = 2",
            "ALTER TABLE account DROP COLUMN balance",
            "UPDATE account SET name = 'z' WHERE id = 2",
        ])
        let output = run("blame", path, "account", "WHERE balance = 20").output
        #expect(output.contains("\n1  id = 2 updated: balance 20 → 1\n"), "\(output)")
        #expect(
            output.hasSuffix("\n3  id = 2 updated: name 'b' → 'z'\nat the failure: id = 2: name 'z'\n"),
            "\(output)")
        let other = try Fixture()
        let dropped = run("blame", try other.walBundle(), "entry", "1")
        #expect(dropped.output.contains("\n3  rowid = 1 deleted: account 1, amount -5\n"))
        #expect(dropped.output.hasSuffix("at the failure: no row rowid = 1\n"))
    }

    @Test func withoutAHistoryTheRowIsShown() throws {
        let fixture = try Fixture()
        let path = try fixture.ledger()
        #expect(
            run("blame", path, "account", "3")
                == Outcome(
                    status: 0,
                    output: """
                        account 3 in store ledger
                          '\(path)' has no history of the store 'ledger', so that only its last state can be looked at.
                        uncommitted transaction  id = 3 inserted: name '', balance -5
                        at the failure: id = 3: name '', balance -5

                        """, error: ""))
        #expect(run("blame", path, "acount", "3").status == 64)
    }
}

/// The statements that can have changed a row without naming its table.
@Suite struct BlamedStatementTests {
    /// Returns the output for account 1, after a transaction that begins with an INSERT into another table.
    private func output(_ statements: [(sql: String, changes: Int)], preparing setUp: [String] = [])
        throws
        -> String
    {
        let fixture = try Fixture()
        let first =
            ["CREATE TABLE applied(id TEXT)", "CREATE TABLE other(id INTEGER PRIMARY KEY, balance)"]
            + setUp
        let path = try fixture.walBundle(
            [first.joined(separator: "; "), statements.map(\.sql).joined(separator: "; ")],
            log: [("BEGIN", nil)] + first.map { ($0, 0) } + [("COMMIT", nil), ("BEGIN", nil)]
                + statements.map { ($0.sql, $0.changes) } + [("COMMIT", nil)])
        return run("blame", path, "account", "1").output
    }

    /// A migration records its name in a table that nothing refers to.
    @Test func aRebuiltTable() throws {
        let output = try output([
            ("CREATE TABLE fresh(id INTEGER PRIMARY KEY, name, balance)", 0),
            ("INSERT INTO fresh SELECT id, name, balance + 1 FROM account", 2),
            ("DROP TABLE account", 0),
            ("ALTER TABLE fresh RENAME TO account", 0), ("INSERT INTO applied VALUES ('v2')", 1),
        ])
        #expect(
            output.contains("2  id = 1 updated: balance 10 → 11\n     INSERT INTO fresh SELECT"),
            "\(output)")
        #expect(!output.contains("INSERT INTO applied"))
    }

    /// A table that existed before gets the name.
    @Test func aRenamedTable() throws {
        let output = try output([
            ("INSERT INTO other SELECT id, balance + 1 FROM account", 2), ("DROP TABLE account", 0),
            ("ALTER TABLE other RENAME TO account", 0), ("INSERT INTO applied VALUES ('v2')", 1),
        ])
        #expect(output.contains("INSERT INTO other"), "\(output)")
        #expect(!output.contains("INSERT INTO applied"))
    }

    @Test func aTrigger() throws {
        let output = try output(
            [("INSERT INTO other VALUES (1, 2)", 2), ("INSERT INTO applied VALUES ('v2')", 1)],
            preparing: [
                "CREATE TRIGGER t AFTER INSERT ON other BEGIN UPDATE account SET balance = NEW.balance WHERE id = NEW.id; END"
            ]
        )
        #expect(
            output.contains("2  id = 1 updated: balance 10 → 2\n     INSERT INTO other"), "\(output)")
        #expect(!output.contains("INSERT INTO applied"))
    }
}
