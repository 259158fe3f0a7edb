import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCommands

@Suite struct ReplayTests {
    private static let transactions = [
        "INSERT INTO account VALUES (3, 'c', 30)",
        "CREATE TABLE entry(id INTEGER PRIMARY KEY, account REFERENCES account(id) ON DELETE CASCADE, amount); "
            + "CREATE TRIGGER paid AFTER INSERT ON entry BEGIN UPDATE account SET balance = balance + NEW.amount "
            + "WHERE id = NEW.account; END; INSERT INTO entry VALUES (1, 3, -5)",
        "UPDATE account SET balance = balance + 1 WHERE id < 3", "DELETE FROM account WHERE id = 3",
    ]
    private static let log: [(sql: String, changes: Int?)] = [
        ("PRAGMA foreign_keys = ON", nil),
        ("INSERT INTO account VALUES (3, 'c', 30)", 1), ("BEGIN", nil),
        (
            "CREATE TABLE entry(id INTEGER PRIMARY KEY, account REFERENCES account(id) ON DELETE CASCADE, amount)",
            0
        ),
        (
            "CREATE TRIGGER paid AFTER INSERT ON entry BEGIN UPDATE account SET balance = balance + NEW.amount WHERE id = NEW.account; END",
            0
        ), ("INSERT INTO entry VALUES (1, 3, -5)", 2), ("COMMIT", nil),
        ("UPDATE account SET balance = balance + 1 WHERE id < 3", 2),
        ("DELETE FROM account WHERE id = 3", 2),
    ]

    /// The foreign key deletes the entry, and the trigger changes the balance.
    @Test func theSameResult() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            Self.transactions.dropLast() + [
                "PRAGMA foreign_keys = ON; DELETE FROM entry; DELETE FROM account WHERE id = 3"
            ],
            log: Self.log)
        let file = fixture.path("replayed.sqlite")
        let outcome = run("replay", path, "-o", file)
        #expect(
            outcome
                == Outcome(
                    status: 0,
                    output:
                        "ledger: 4 of 4 transactions replayed from the state before the first transaction, and the result is the captured store\n",
                    error: ""))
        #expect(
            try ApplicationHandle(file).texts("SELECT id || ' ' || balance FROM account") == [
                "1 11", "2 21",
            ])
        #expect(run("replay", path, "-o", file).status == 64)
    }

    @Test func theFirstTransactionWithAnotherResult() throws {
        let fixture = try Fixture()
        var log = Self.log
        log[7].sql = "UPDATE account SET balance = balance + 1 + abs(random() % 5 + 9) WHERE id < 3"
        let path = try fixture.walBundle(
            Self.transactions, log: log,
            facts: [7: "\"source\":{\"file\":\"Sources/Ledger/Ledger.swift\",\"line\":42}"])
        let outcome = run("replay", path)
        #expect(outcome.status == 1)
        #expect(
            outcome.output.replacing(/balance \d+ →/, with: "balance N →") == """
                ledger: replayed, transaction 3 of 4 has another result
                  account id = 1 updated: balance N → 11
                  account id = 2 updated: balance N → 21
                  (from the replayed to the captured value)
                     UPDATE account SET balance = balance + 1 + abs(random() % 5 + 9) WHERE id < 3
                       Sources/Ledger/Ledger.swift:42
                  Its result depends on the time or on chance: random

                """)
        let json = run("replay", path, "--json").output.filter { !$0.isWhitespace }
        #expect(json.contains("\"result\":\"different\""))
        #expect(json.contains("\"transaction\":3"))
        #expect(json.contains("\"replayed\":3"))
    }

    /// The next transaction begins with the recorded state.
    @Test func statementsWithoutValuesAreSkipped() throws {
        let fixture = try Fixture()
        var log = Self.log
        log[1].sql = "INSERT INTO account VALUES (?, ?, ?)"
        let path = try fixture.walBundle(
            Self.transactions.dropLast() + ["DELETE FROM entry; DELETE FROM account WHERE id = 3"],
            log: log)
        #expect(
            run("replay", path)
                == Outcome(
                    status: 1,
                    output: """
                        ledger: 3 of 4 transactions replayed from the state before the first transaction, without a difference
                        Not replayed:
                          transaction 1, its values are not recorded: INSERT INTO account VALUES (?, ?, ?)

                        """, error: ""))
    }

    /// Statements of a bundle can't reach other files.
    @Test(arguments: [
        "ATTACH '/tmp/evil.sqlite' AS evil", "PRAGMA writable_schema = ON",
        "VACUUM INTO '/tmp/evil.sqlite'",
        "INSERT INTO account VALUES (3, load_extension('/tmp/evil.so'), 30)",
        "INSERT INTO account VALUES (3, 'c', 30); ATTACH '/tmp/evil.sqlite' AS evil",
    ])
    func hostileStatements(_ sql: String) throws {
        let fixture = try Fixture()
        var log = Self.log
        log[1].sql = sql
        let outcome = run("replay", try fixture.walBundle(Self.transactions, log: log))
        #expect(outcome.status == 1)
        #expect(try Program.run("/usr/bin/env", ["ls", "/tmp/evil.sqlite"]).status != 0)
    }

    @Test func withoutStatements() throws {
        let fixture = try Fixture()
        let outcome = run("replay", try fixture.walBundle())
        #expect(outcome.status == 66)
        #expect(outcome.error.contains("no statements of the store 'ledger'"))
    }

    /// Writes a bundle of a store without a history.
    private func bundle(
        in fixture: borrowing Fixture, _ content: String, start: String?,
        _ log: [(phase: String, sql: String)]
    ) throws -> String {
        var metadata = Metadata.store("shop").replacing(
            "\"bytes\": {}",
            with: """
                "bytes": {}, "statements": {"entry": "statements/shop.jsonl", "count": \(log.count)}
                """)
        let lines = log.enumerated().map { index, statement in
            """
            {"at":"2026-11-21T07:08:09.\(100 + index)Z","changes":1,"connection":1,"order":\(index + 1),\
            "phase":"\(statement.phase)","sql":"\(statement.sql)","thread":"7f"}

            """
        }
        var entries = [
            ("stores/shop.sqlite", try fixture.store(content)),
            ("statements/shop.jsonl", Array(lines.joined().utf8)),
        ]
        if let start {
            metadata = metadata.replacing(
                "\"attachments\"",
                with: """
                    "snapshots": [{"label": "start", "at": "2026-11-21T07:08:08.000Z", "stores": [
                    {"name": "shop", "entry": "snapshots/start/shop.sqlite", "storage": "file",
                    "capture": {"method": "serialize", "consistent": true, "duration": 0, "checkpoint": "none"},
                    "bytes": {}}]}], "attachments"
                    """)
            entries.append(("snapshots/start/shop.sqlite", try fixture.store(start)))
        }
        return try fixture.zip(
            "PlainTests.testStore-1a2b3c4d.zip", [("metadata.json", Array(metadata.utf8))] + entries)
    }

    @Test func fromAnEmptyStore() throws {
        let fixture = try Fixture()
        let content = "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'); UPDATE t SET b = 'y'"
        let path = try bundle(
            in: fixture, content, start: nil,
            [
                ("test", "CREATE TABLE t(a, b)"), ("test", "INSERT INTO t VALUES (1, 'x')"),
                ("test", "BEGIN"), ("test", "DELETE FROM t"), ("test", "ROLLBACK"),
                ("test", "UPDATE t SET b = 'y'"),
            ])
        #expect(
            run("replay", path)
                == Outcome(
                    status: 0,
                    output:
                        "shop: 3 of 3 transactions replayed from an empty store, and the result is the captured store\n",
                    error: ""))
    }

    @Test func fromTheBaseline() throws {
        let start = "CREATE TABLE t(a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (1, 'x'), (2, 'z')"
        let log = [
            ("earlier", "INSERT INTO t VALUES (2, 'z')"), ("test", "BEGIN"),
            ("test", "UPDATE t SET b = 'y' WHERE a = 1"), ("test", "COMMIT"),
        ]
        let fixture = try Fixture()
        let same = run(
            "replay",
            try bundle(in: fixture, start + "; UPDATE t SET b = 'y' WHERE a = 1", start: start, log))
        #expect(
            same.output
                == "shop: 1 of 1 transaction replayed from the state when the test began, and the result is the captured store\n"
        )
        let other = try Fixture()
        let different = run(
            "replay",
            try bundle(
                in: other, start + "; UPDATE t SET b = 'y' WHERE a = 1; DELETE FROM t WHERE a = 2",
                start: start, log))
        #expect(different.status == 1)
        #expect(
            different.output == """
                shop: the replayed store differs from the captured one
                  t a = 2 deleted: a 2, b 'z'
                  (from the replayed to the captured value)
                     UPDATE t SET b = 'y' WHERE a = 1

                """)
    }
}
