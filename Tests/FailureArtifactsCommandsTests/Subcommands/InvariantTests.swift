import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// `explain --invariants`.
@Suite struct ExplainInvariantTests {
    private static let invariant =
        "-- No balance is negative\nSELECT id, balance FROM account WHERE balance < 0"

    private static let transactions = [
        "UPDATE account SET balance = 15 WHERE id = 1",
        "INSERT INTO account VALUES (3, 'c', 30)",
        "UPDATE account SET balance = balance - 25 WHERE id < 3",
        "UPDATE account SET name = 'd' WHERE id = 3",
    ]

    private func findings(_ outcome: Outcome) throws -> String {
        try Program.python(
            """
            import json, sys
            for f in json.load(open(sys.argv[1]))["findings"]:
                if f["code"] == "invariant-broken":
                    print(f["confidence"], f["title"], f.get("transaction"), f.get("statement", {}).get("sql"),
                          (f.get("source") or {}).get("line"))
                    print([(r["table"], r["key"], r["change"], r.get("columns")) for r in f.get("rows", [])])
                    print(f["explanation"])
            """, outcome.output)
    }

    @Test func theTransactionThatBrokeAnInvariant() throws {
        let fixture = try Fixture()
        try fixture.write(Array(Self.invariant.utf8), to: "invariants/balance.sql")
        let bundle = try fixture.walBundle(
            Self.transactions, log: zip(Self.transactions, [1, 1, 2, 1]).map { ($0, $1) },
            facts: [2: "\"source\":{\"file\":\"Sources/Ledger.swift\",\"line\":42}"])
        let outcome = run(
            "explain", bundle, "--all", "--json", "--invariants", fixture.path("invariants"))
        #expect(outcome.status == 0 && outcome.error.isEmpty, "\(outcome.error)")
        let found = try findings(outcome)
        #expect(
            found == """
                certain Invariant broken by 2 rows: No balance is negative 3 UPDATE account SET balance = balance - 25 WHERE id < 3 42
                [('account', {'id': 1}, 'updated', {'balance': {'after': -10, 'before': 15}}), ('account', {'id': 2}, 'updated', {'balance': {'after': -5, 'before': 20}})]
                The query in balance.sql must return no rows. It returns 2 rows: id 1, balance -10; id 2, balance -5. It has been broken since transaction 3.

                """, "\(found)")
        // The directory can also come from the environment.
        let same = run(
            ["explain", bundle, "--all", "--json"],
            environment: ["FAILURE_ARTIFACTS_INVARIANTS": fixture.path("invariants")])
        #expect(try findings(same) == findings(outcome))
        // SQL never comes from a bundle, and without invariants there is no finding.
        #expect(try findings(run("explain", bundle, "--all", "--json")) == "")
    }

    @Test func theLastTransactionBrokeIt() throws {
        let fixture = try Fixture()
        try fixture.write(Array(Self.invariant.utf8), to: "invariants/balance.sql")
        let bundle = try fixture.walBundle(Array(Self.transactions.prefix(3)))
        let outcome = run("explain", bundle, "--invariants", fixture.path("invariants"))
        #expect(outcome.output.contains("broken since transaction 3"), "\(outcome.output)")
    }

    @Test func wholeOutput() throws {
        let fixture = try Fixture()
        try fixture.write(Array(Self.invariant.utf8), to: "invariants/balance.sql")
        let bundle = try fixture.walBundle(Self.transactions)
        let outcome = try Program.tool("explain", bundle, "--invariants", fixture.path("invariants"))
        #expect(outcome.status == 0 && outcome.error == "")
        #expect(
            outcome.output.hasPrefix(
                """
                PlainTests.testStore failed
                m

                1. Invariant broken by 2 rows: No balance is negative  certain, invariant-broken
                   The query in balance.sql must return no rows. It returns 2 rows: id 1, balance -10; id 2, balance -5. It has been broken since transaction 3.
                   account id = 1 updated: balance 15 → -10
                   account id = 2 updated: balance 20 → -5
                   transaction 3

                """), "\(outcome.output)")
    }

    @Test func theOpenTransactionBrokeIt() throws {
        let fixture = try Fixture()
        try fixture.write(Array(Self.invariant.utf8), to: "invariants/balance.sql")
        let bundle = try fixture.walBundle(
            Array(Self.transactions.prefix(2)),
            uncommitted: "UPDATE account SET balance = -1 WHERE id = 2")
        let outcome = run(
            "explain", bundle, "--all", "--json", "--invariants", fixture.path("invariants"))
        let found = try findings(outcome)
        #expect(
            found == """
                certain Invariant broken by 1 row: No balance is negative None None None
                [('account', {'id': 2}, 'updated', {'balance': {'after': -1, 'before': 20}})]
                The query in balance.sql must return no rows. It returns 1 row: id 2, balance -1. The transaction that was open at the failure broke it.

                """, "\(found)")
    }

    @Test func brokenBeforeTheHistory() throws {
        let fixture = try Fixture()
        try fixture.write(
            Array("-- Few accounts\nSELECT count(*) AS n FROM account HAVING n > 1".utf8),
            to: "invariants/few.sql")
        let bundle = try fixture.walBundle(Self.transactions)
        let outcome = run(
            "explain", bundle, "--all", "--json", "--invariants", fixture.path("invariants"))
        let found = try findings(outcome)
        #expect(
            found == """
                certain Invariant broken by 1 row: Few accounts None None None
                []
                The query in few.sql must return no rows. It returns 1 row: n 3. It was broken before the first transaction of the history.

                """, "\(found)")
    }

    /// Hostile files are named on standard error, and the others are checked.
    @Test func invariantsThatCannotBeChecked() throws {
        let fixture = try Fixture()
        for (name, sql) in [
            ("a", "DELETE FROM account"), ("b", "SELECT 1; SELECT 2"), ("c", "SELECT * FROM nowhere"),
            (
                "d",
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"
            ),
            ("e", Self.invariant),
        ] {
            try fixture.write(Array(sql.utf8), to: "invariants/\(name).sql")
        }
        let bundle = try fixture.walBundle(Self.transactions)
        let outcome = run("explain", bundle, "--invariants", fixture.path("invariants"))
        #expect(outcome.status == 0 && outcome.output.contains("broken since transaction 3"))
        let lines = outcome.error.replacing("\n", with: " ")
        for text in [
            "(a.sql) was not checked in the store 'ledger': it is not a SELECT.",
            "(b.sql) was not checked in the store 'ledger': more than one statement.",
            "(c.sql) applies to no store: no such table: nowhere.",
            "(d.sql) was not checked in the store 'ledger': it needs too many steps.",
        ] {
            #expect(lines.contains(text), "\(outcome.error)")
        }
        let absent = run("explain", bundle, "--invariants", fixture.path("absent"))
        #expect(
            absent
                == Outcome(
                    status: 66, output: "",
                    error: "error: The invariants in '\(fixture.path("absent"))' cannot be read: "
                        + "No such file or directory. Give a directory of SQL files.\n"))
        #expect(
            run("explain", bundle, "--invariants", bundle).error.contains(
                "'\(bundle)' cannot be read: Not a directory. Give a directory of SQL files.\n"))
        try FileSystem.createDirectory(fixture.path("none"))
        let none = run("explain", bundle, "--invariants", fixture.path("none"))
        #expect(none.status == 0)
        #expect(
            none.error
                == "warning: '\(fixture.path("none"))' has no .sql files, so no invariants are checked.\n"
        )
    }
}

/// `explain --against`.
@Suite struct ExplainDifferenceTests {
    private static let transactions = [
        "INSERT INTO account VALUES (3, 'c', 30)", "UPDATE account SET balance = 15 WHERE id = 1",
        "INSERT INTO account VALUES (4, 'd', 40)", "UPDATE account SET name = 'e' WHERE id = 4",
    ]

    private func findings(_ outcome: Outcome) throws -> String {
        try Program.python(
            """
            import json, sys
            for f in json.load(open(sys.argv[1]))["findings"]:
                if f["code"] == "difference-from-pass":
                    print(f["confidence"], f["title"], f.get("transaction"))
                    print([(r["table"], r["key"], r["change"], r.get("columns")) for r in f.get("rows", [])])
                    print("then:", f["then"])
                    print("now:", f["now"])
                    print(f["explanation"])
            """, outcome.output)
    }

    private static func log(_ transactions: [String]) -> [(sql: String, changes: Int?)] {
        transactions.map { ($0, 1) } + [("SELECT balance FROM account WHERE id = 1", nil)]
    }

    /// Compares two runs, the passing one beside the failing one.
    private func difference(passing: [String], failing: [String]) throws -> String {
        let fixture = try Fixture()
        try fixture.walBundle(passing, log: Self.log(passing), passed: true)
        let bundle = try fixture.walBundle(failing, log: Self.log(failing))
        let outcome = run("explain", bundle, "--all", "--json")
        #expect(outcome.status == 0 && outcome.error.isEmpty, "\(outcome.error)")
        let other = try Fixture()
        let elsewhere = try other.walBundle(failing, log: Self.log(failing))
        let passed = fixture.path("PlainTests.testStore-passed-1a2b3c4d.zip")
        let against = run("explain", elsewhere, "--all", "--json", "--against", passed)
        #expect(try findings(against) == findings(outcome))
        let all = run("diff", "--baseline", elsewhere, passed)
        #expect(all.status == (passing == failing ? 0 : 1) && all.error.isEmpty, "\(all.error)")
        #expect(all.output.contains("1. UPDATE account") == (passing != failing), "\(all.output)")
        return try findings(outcome)
    }

    @Test func theFirstStatementThatDiverges() throws {
        var failing = Self.transactions
        failing[1] = "UPDATE account SET balance = 16 WHERE id = 1"
        let found = try difference(passing: Self.transactions, failing: failing)
        #expect(
            found.hasPrefix(
                """
                likely UPDATE account has another text than when this test passed 2
                [('account', {'id': 1}, 'updated', {'balance': {'after': 16, 'before': 10}})]
                then: UPDATE account SET balance = «15» WHERE id = 1
                now: UPDATE account SET balance = «16» WHERE id = 1
                The passing run is of 2026-11-21 07:08 UTC.

                """), "\(found)")
    }

    @Test func nothingDiverges() throws {
        #expect(try difference(passing: Self.transactions, failing: Self.transactions) == "")
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(Self.transactions, log: Self.log(Self.transactions))
        let without = run("diff", "--baseline", bundle)
        #expect(without.status == 64 && without.error.contains("has no statements of a passing run"))
        try fixture.walBundle(Self.transactions, log: Self.log(Self.transactions), passed: true)
        let outcome = run("explain", bundle)
        #expect(
            outcome.output.contains(
                "1. The test ran the same statements with the same values as when it passed at 2026-11-21 07:08 UTC"
            ), "\(outcome.output)")
    }

    @Test func theCommitOfTheLineIsNamed() throws {
        let fixture = try Fixture()
        let source = [1: #""source":{"file":"Sources/A.swift","line":2}"#]
        var failing = Self.transactions
        failing[1] = "UPDATE account SET balance = 16 WHERE id = 1"
        let passing = try fixture.walBundle(
            Self.transactions, log: Self.log(Self.transactions), passed: true)
        let bundle = try fixture.walBundle(failing, log: Self.log(failing), facts: source)
        let added = try Program.python(
            """
            import zipfile
            lines = zipfile.ZipFile("\(passing)").read("statements/ledger.jsonl")
            head = b'{"baseline":{"at":"2026-11-21T07:08:09.000Z"}}\\n'
            with zipfile.ZipFile("\(bundle)", "a") as file: file.writestr("baseline.jsonl", head + lines)
            """, "")
        try #require(added.isEmpty, "\(added)")
        func explained() throws -> String {
            try Program.tool("explain", bundle, directory: fixture.directory).output
        }
        try fixture.write(Array("let a = 1\nlet b = 2\n".utf8), to: "Sources/A.swift")
        #expect(try !explained().contains("commit"))
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        for arguments in [
            ["init", "-q"], ["add", "Sources"], identity + ["commit", "-q", "-m", "Say b"],
        ] {
            let git = try Program.run("/usr/bin/git", arguments, directory: fixture.directory)
            try #require(git.status == 0, "\(git.error)")
        }
        #expect(try explained().contains(/The last commit of the line is [0-9a-f]{10}: Say b\./))
        for command in [["report", "-o", "-"], ["junit"], ["summary", "-o", "-"]] {
            let output = try Program.tool(
                [command[0], bundle] + command.dropFirst(), directory: fixture.directory
            ).output
            #expect(
                output.contains(/The last commit of the line is [0-9a-f]{10}: Say b\./), "\(command)")
        }
        try FileSystem.remove(fixture.path("Sources/A.swift"))
        try fixture.write(Array("let a = 1\nlet b = 3\n".utf8), to: "Sources/A.swift")
        #expect(try explained().contains("The line is not committed."))
        // A shallow clone doesn't know which commit was the last one.
        for arguments in [
            identity + ["commit", "-q", "-a", "-m", "Say more of b"],
            identity + ["commit", "-q", "--allow-empty", "-m", "Go on"],
            ["clone", "-q", "--depth", "1", "file://\(fixture.directory)", "shallow"],
        ] {
            let git = try Program.run("/usr/bin/git", arguments, directory: fixture.directory)
            try #require(git.status == 0, "\(git.error)")
        }
        #expect(try explained().contains("Say more of b."))
        // The text of the statement is elsewhere, and at one place.
        let text = "let update = \"\(failing[1])\"\n"
        try fixture.write(Array("// Queries.\n\(text)".utf8), to: "Sources/Queries.swift")
        #expect(try !explained().contains("The text of the statement"))
        for (name, isFound) in [("Queries", true), ("Copies", false)] {
            if name == "Copies" { try fixture.write(Array(text.utf8), to: "Sources/Copies.swift") }
            let git = try Program.run("/usr/bin/git", ["add", "Sources"], directory: fixture.directory)
            try #require(git.status == 0, "\(git.error)")
            let sentence = "The text of the statement is at Sources/Queries.swift:2."
            #expect(try explained().contains(sentence) == isFound)
        }
        let shallow = try Program.tool("explain", bundle, directory: fixture.path("shallow"))
        #expect(
            shallow.output.contains("another text") && !shallow.output.contains("commit of the line"))
    }

    @Test func bundlesThatAreNotOfThePassingTest() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(["INSERT INTO account VALUES (3, 'c', 30)"])
        let outcome = run("explain", bundle, "--against", bundle)
        #expect(outcome.status == 64 && outcome.error.contains("did not pass"))
    }
}
