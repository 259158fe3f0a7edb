import FailureArtifactsAnalysis
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct DiffTests {
    private static let old = """
        CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT, balance INTEGER);
        CREATE TABLE gone(a);
        CREATE INDEX by_name ON account(name);
        INSERT INTO account VALUES (1, 'Ann', 90), (2, 'Bob', 5), (3, 'Cy', NULL);
        INSERT INTO gone VALUES (7);
        PRAGMA user_version = 3;
        """
    private static let new = """
        CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT, balance REAL, note);
        CREATE TABLE pair(a TEXT, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
        CREATE INDEX by_name ON account(name, balance);
        INSERT INTO account VALUES (1, 'Ann', 100, 1), (3, 'Cy', NULL, 2), (4, char(27) || '[31mDee', 1.5, x'00ff');
        INSERT INTO pair VALUES ('x', 1);
        PRAGMA user_version = 4;
        """

    private func stores(_ fixture: borrowing Fixture, _ a: String, _ b: String) throws -> (
        String, String
    ) {
        (
            try fixture.write(try fixture.store(a), to: "a.sqlite"),
            try fixture.write(try fixture.store(b), to: "b.sqlite")
        )
    }

    @Test func theToolPrintsWhatDiffers() throws {
        let fixture = try Fixture()
        let (a, b) = try stores(fixture, Self.old, Self.new)
        let outcome = try Program.tool("diff", a, b, environment: ["TMPDIR": fixture.directory])
        #expect(outcome.status == 1)
        #expect(outcome.error.isEmpty)
        #expect(
            outcome.output == """
                --- \(a)
                +++ \(b)

                Schema
                  ~ table account
                      ~ balance INTEGER → REAL
                      + note no type
                  - table gone
                      CREATE TABLE gone(a)
                  + table pair
                      CREATE TABLE pair(a TEXT, b, PRIMARY KEY (a, b)) WITHOUT ROWID
                  ~ index by_name on account
                      - CREATE INDEX by_name ON account(name)
                      + CREATE INDEX by_name ON account(name, balance)
                  ~ user_version 3 → 4

                account: 1 inserted, 1 updated, 1 deleted
                  ~ 1: balance 90 → 100.0
                  - 2: name 'Bob', balance 5
                  + 4: name '\\u{1b}[31mDee', balance 1.5, note X'00FF'

                gone (only in A): 1 deleted
                  - rowid 1: a 7

                pair (only in B): 1 inserted
                  + 'x', 1

                """)
    }

    @Test func json() throws {
        let fixture = try Fixture()
        let (a, b) = try stores(fixture, Self.old, Self.new)
        let outcome = run("diff", "--json", a, b)
        #expect(outcome.status == 1)
        let read = try Program.python(
            """
            import json, sys
            d = json.load(open(sys.argv[1], encoding="utf-8"))
            print(d["equal"], [(c["change"], c["type"], c.get("name")) for c in d["schema"]])
            for t in d["tables"]:
                print(t["name"], t["presence"], t["key"], t["inserted"], t["updated"], t["deleted"])
                for c in t["changes"]: print(" ", c)
            """, outcome.output)
        #expect(
            read == """
                False [('changed', 'table', 'account'), ('removed', 'table', 'gone'), \
                ('added', 'table', 'pair'), ('changed', 'index', 'by_name'), ('changed', 'user_version', None)]
                account both ['id'] 1 1 1
                  {'change': 'updated', 'key': {'id': 1}, 'columns': {'balance': {'old': 90, 'new': 100.0}}}
                  {'change': 'deleted', 'key': {'id': 2}, 'row': {'id': 2, 'name': 'Bob', 'balance': 5}}
                  {'change': 'inserted', 'key': {'id': 4}, 'row': {'id': 4, 'name': '\\x1b[31mDee', \
                'balance': 1.5, 'note': {'base64': 'AP8='}}}
                gone onlyInA ['rowid'] 0 0 1
                  {'change': 'deleted', 'key': {'rowid': 1}, 'row': {'a': 7}}
                pair onlyInB ['a', 'b'] 1 0 0
                  {'change': 'inserted', 'key': {'a': 'x', 'b': 1}, 'row': {'a': 'x', 'b': 1}}

                """)
        let equal = run("diff", "--json", a, a)
        #expect(equal.status == 0)
        #expect(equal.output.hasSuffix("\"schema\":[],\n\"tables\":[],\n\"equal\":true}\n"))
    }

    @Test func jsonKeepsOddValuesAndCutsLongOnes() throws {
        let fixture = try Fixture()
        let row =
            "cast(x'ff' AS text), 9e999, replace(hex(zeroblob(2047)), '0', 'a') || 'xéé', zeroblob(5000)"
        let (a, b) = try stores(
            fixture, "CREATE TABLE t(a,b,c,d)", "CREATE TABLE t(a,b,c,d); INSERT INTO t VALUES(\(row))")
        let read = try Program.python(
            """
            import json, sys
            r = json.load(open(sys.argv[1], encoding="utf-8"))["tables"][0]["changes"][0]["row"]
            print(r["a"], r["b"], len(r["c"]["text"]), r["c"]["text"][-1], r["c"]["bytes"],
                  len(r["d"]["base64"]), r["d"]["bytes"])
            """, run("diff", "--json", a, b).output)
        #expect(read == "{'textBase64': '/w=='} inf 4095 x 4099 5464 5000\n")
    }

    @Test func manyRowsAreCountedAndNotShown() throws {
        let fixture = try Fixture()
        let rows = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 250)"
        let (a, b) = try stores(
            fixture, "CREATE TABLE t(a)", "CREATE TABLE t(a); \(rows) INSERT INTO t SELECT i FROM c")
        let outcome = run("diff", a, b)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == 2 + 1 + 100 + 1)
        #expect(lines[2] == "t: 250 inserted")
        #expect(lines[102] == "  + rowid 100: a 100")
        #expect(lines[103] == "  … 150 more; --all shows all of them")
        let all = run("diff", "--all", a, b).output.split(separator: "\n")
        #expect(all.count == 2 + 1 + 250)
        #expect(all[2] == "t: 250 inserted")
    }

    @Test(arguments: [40, 80, 120]) func linesFit(_ width: Int) throws {
        let fixture = try Fixture()
        let long = "'" + String(repeating: "果物 lorem ", count: 40)
        let (a, b) = try stores(
            fixture,
            "CREATE TABLE t(k INTEGER PRIMARY KEY, a, b, c); INSERT INTO t VALUES(1, \(long)old', 2, x'00'), (2, \(long)', 1, 1)",
            "CREATE TABLE t(k INTEGER PRIMARY KEY, a, b, c); INSERT INTO t VALUES(1, \(long)new', 3, zeroblob(9000)), (3, \(long)', 1, 1)"
        )
        let output = run("diff", a, b, width: width).output
        let lines = output.split(separator: "\n").dropFirst(2)
        #expect(lines.allSatisfy { TextWidth.columns(of: String($0)) <= width })
        // The first difference is far from the start of both texts.
        #expect(output.contains("old' → …") || output.contains("old' ("))
        #expect(output.contains("new'"))
        #expect(output.contains("(8.8 KB)"))
        #expect(!run("diff", a, b, width: width).output.contains("\u{1B}"))
        #expect(run("diff", a, b, width: width, hasColour: true).output.contains("\u{1B}[32m  + 3:"))
    }

    @Test func aBundleAloneIsWhatWasCommittedAndWhatWasNot() throws {
        let fixture = try Fixture()
        let path = try fixture.ledger()
        let expected = """
            --- \(path), store ledger.committed
            +++ \(path), store ledger

            Schema
              ~ table account
                  + name TEXT NOT NULL
                  + balance INTEGER
              + view rich
                  CREATE VIEW rich AS SELECT * FROM account WHERE balance > 50

            account: 3 inserted
              + 1: name 'チェッキング', balance 90
              + 2: name 'Savings, "old"', balance NULL
              + 3: name '', balance -5

            """
        #expect(run("diff", path) == Outcome(status: 1, output: expected, error: ""))
        #expect(run("diff", path, "--store", "ledger").output == expected)
        #expect(run("diff", path, "--store", "ledger.committed", "--store", "ledger").output == expected)
        let reversed = run("diff", path, "--store", "ledger", "--store", "ledger.committed")
        #expect(reversed.output.contains("account: 3 deleted"))
        #expect(run("diff", path, "--store", "ledger", "--store", "ledger").status == 0)
    }

    @Test func twoBundlesAndABundleAndADatabase() throws {
        let fixture = try Fixture()
        let first = try fixture.ledger("a/LedgerTests.testTransfer-11111111.zip")
        let second = try fixture.ledger("b/LedgerTests.testTransfer-22222222.zip")
        let plain = try fixture.write(try fixture.store(Metadata.ledgerSQL), to: "plain.sqlite")
        #expect(
            run("diff", first, second).output
                == "--- \(first), store ledger\n+++ \(second), store ledger\n"
                + "The schemas and all rows are the same.\n")
        #expect(run("diff", first, second, "--store", "ledger.committed").status == 0)
        #expect(
            run("diff", first, second, "--store", "ledger", "--store", "ledger.committed").status == 1)
        #expect(run("diff", fixture.path("a"), plain).status == 0)
        #expect(run("diff", plain, first, "--store", "ledger").status == 0)
        #expect(run("diff", plain, first, "--store", "ledger.committed").status == 1)
        #expect(run("diff", plain, plain).status == 0)
    }

    /// Two stores are in each bundle, with a number in their names.
    @Test func twoBundlesWhoseStoresHaveNumbersInTheirNames() throws {
        let fixture = try Fixture()
        let paths = try [("a", 1), ("b", 22)].map { folder, number in
            // The first store of one bundle is the second one of the other.
            let names = ["app-\(number)", "cache-\(number)"]
            let (first, second) = number == 1 ? (names[0], names[1]) : (names[1], names[0])
            let metadata = Metadata.store(first).replacing(
                "\"stores\": [",
                with: """
                    "stores": [{"name": "\(second)", "entry": "stores/\(second).sqlite", "storage": "memory",
                    "capture": {"method": "serialize", "consistent": true, "duration": 0, "checkpoint": "none"},
                    "bytes": {}},
                    """)
            let store = try fixture.store(Metadata.ledgerSQL)
            return try fixture.zip(
                "\(folder)/LedgerTests.test-1a2b3c4d.zip",
                [
                    ("metadata.json", Array(metadata.utf8)), ("stores/\(first).sqlite", store),
                    ("stores/\(second).sqlite", store),
                ])
        }
        for options in [[], ["--store", "cache-1"]] {
            #expect(
                run(["diff"] + paths + options).output
                    == "--- \(paths[0]), store cache-1\n+++ \(paths[1]), store cache-22\n"
                    + "The schemas and all rows are the same.\n")
        }
    }

    /// There is no open transaction and no copy of the start.
    @Test func aBundleAloneShowsItsLastTransaction() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle([
            "INSERT INTO account VALUES (9, 'x', 1)", "DELETE FROM account WHERE id = 2",
        ])
        let alone = run("diff", bundle)
        #expect(alone.status == 1)
        #expect(
            alone.error
                == "warning: There is nothing else to compare, so this is the last transaction of ledger.\n",
            "\(alone.error)")
        let explicit = run("diff", bundle, "--at", "1", "--at", "2")
        #expect(
            explicit.output.contains("id=2") || explicit.output.contains("- 2"), "\(explicit.output)")
        #expect(
            alone.output.split(separator: "\n").filter { $0.hasPrefix("  ") }
                == explicit.output.split(separator: "\n").filter { $0.hasPrefix("  ") })
        #expect(run("diff", bundle, "--store", "ledger").output == alone.output)
        #expect(run("diff", bundle, "--json").output.contains("\"equal\":false"))
    }

    @Test func whatCannotBeComparedIsSaid() throws {
        let fixture = try Fixture()
        let bundle = try fixture.ledger()
        let plain = try fixture.write(try fixture.store("CREATE TABLE t(a)"), to: "plain.sqlite")
        let broken = try fixture.write(
            Array("SQLite format 3\0".utf8) + Array(repeating: 7, count: 5000), to: "broken.sqlite")
        let alone = try fixture.zip(
            "alone.zip",
            [
                ("metadata.json", Array(Metadata.store("s").utf8)),
                ("stores/s.sqlite", try fixture.store("CREATE TABLE t(a)")),
            ])
        let cases: [([String], Int32, String)] = [
            ([plain], 64, "error: '\(plain)' is a database: B is missing. See"),
            (
                [alone], 64,
                "error: '\(alone)' has nothing to compare: no transaction was open in any store, the test asked for no snapshot, and there is no history."
            ),
            (
                [alone, "--store", "s"], 64,
                "error: '\(alone)' has nothing to compare: no transaction was open in the store 's', the test asked for no snapshot, and there is no history."
            ),
            ([bundle, "--store", "nope"], 66, "error: '\(bundle)' has no store 'nope'"),
            (
                [bundle, plain, "--store", "ledger", "--store", "x"], 64,
                "error: '--store' names a store of a bundle"
            ),
            ([plain, plain, "--store", "x"], 64, "error: '--store' names a store of a bundle"),
            (
                [bundle, bundle, "--store=a", "--store=b", "--store=c"], 64,
                "error: '--store' was given 3 times"
            ),
            (
                [plain, fixture.path("none.zip")], 66,
                "error: There is nothing at '\(fixture.path("none.zip"))'."
            ),
            ([plain, broken], 65, "error: Cannot read '\(broken)': file is not a database"),
            ([broken, plain], 65, "error: Cannot read '\(broken)': file is not a database"),
        ]
        for (arguments, status, error) in cases {
            let outcome = run(["diff"] + arguments)
            #expect(outcome.status == status, "\(arguments)")
            #expect(outcome.error.hasPrefix(error), "\(outcome.error)")
            #expect(outcome.output.isEmpty, "\(arguments)")
        }
    }

    @Test func aDatabaseThatSomebodyHasLockedIsNotRead() throws {
        let fixture = try Fixture()
        let (a, b) = try stores(fixture, "CREATE TABLE t(a)", "CREATE TABLE t(a)")
        let holder = try Connection(path: b, mode: .readWrite)
        try holder.execute("BEGIN EXCLUSIVE")
        for (first, second) in [(a, b), (b, a)] {
            let outcome = run("diff", first, second)
            #expect(outcome.status == 74)
            #expect(outcome.error == "error: Cannot read '\(b)': database is locked (SQLite error 5).\n")
        }
        try holder.execute("ROLLBACK")
        #expect(run("diff", a, b).status == 0)
    }

    @Test func aTableThatCannotBeComparedIsNoEqualOne() throws {
        let fixture = try Fixture()
        let (a, b) = try stores(
            fixture, "CREATE TABLE t(rowid, oid, _rowid_)", "CREATE TABLE t(rowid, oid, _rowid_)")
        let outcome = run("diff", a, b)
        #expect(outcome.status == 1)
        #expect(outcome.output.contains("\nt: the rows are not compared, its rows cannot be identified"))
        #expect(run("diff", a, b, "--json").output.contains("\"problem\":\"its rows cannot"))
    }
}
