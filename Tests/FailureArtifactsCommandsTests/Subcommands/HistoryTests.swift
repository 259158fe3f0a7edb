import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct HistoryCommandTests {
    private static let sum = "SELECT count(*) AS n, sum(balance) AS s FROM account"

    @Test func theTransactionsOldestFirst() throws {
        let fixture = try Fixture()
        try fixture.walBundle()
        let outcome = try Program.tool("history", fixture.directory)
        #expect(
            outcome
                == Outcome(
                    status: 0,
                    output: """
                        History of store ledger, 3 transactions
                        1  1 page written, the store has 8 KB
                           account: 1 row inserted, 1 updated
                        2  2 pages written, the store has 12 KB
                           table entry created
                           user_version 4
                           entry: 2 rows inserted
                        3  3 pages written, the store has 12 KB
                           table entry dropped
                           account: 2 rows deleted
                           entry: 2 rows deleted

                        """, error: ""))
    }

    @Test func asJSON() throws {
        let fixture = try Fixture()
        let outcome = run("history", try fixture.walBundle(), "--json")
        #expect(outcome.status == 0)
        let facts = try Program.python(
            """
            import json, sys
            d = json.load(open(sys.argv[1]))
            print(d["store"], [(t["number"], t["pages"], t["size"]) for t in d["transactions"]])
            print(d["transactions"][0]["changes"]["tables"])
            print(d["transactions"][1]["changes"]["schema"], d["transactions"][1]["changes"]["userVersion"])
            """, outcome.output)
        #expect(
            facts == """
                ledger [(1, 1, 8192), (2, 2, 12288), (3, 3, 12288)]
                [{'deleted': 0, 'inserted': 1, 'name': 'account', 'updated': 1}]
                [{'change': 'created', 'name': 'entry', 'type': 'table'}] 4

                """)
    }

    @Test func whatStandsForSeveralTransactionsIsMarked() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(historyFacts: #", "merged": [1, 2], "foreign": [2]"#)
        let lines = run("history", bundle).output.split(separator: "\n").map(String.init)
        #expect(lines[2] == "   several transactions that were not recorded apart")
        #expect(
            lines.contains(
                "   several transactions that were not recorded apart, with changes of another process"))
        let facts = try Program.python(
            """
            import json, sys
            print([(t.get("isMerged"), t.get("isForeign")) for t in json.load(open(sys.argv[1]))["transactions"]])
            """, run("history", bundle, "--json").output)
        #expect(facts == "[(True, None), (True, True), (None, None)]\n")
    }

    /// The statements of two transactions look alike; only the recorded numbers tell them apart.
    @Test func recordedNumbersTellTheStatementsOfATransaction() throws {
        let fixture = try Fixture()
        let update = "UPDATE account SET balance = ? WHERE id = ?"
        let bundle = try fixture.walBundle(
            [
                "UPDATE account SET balance = 7 WHERE id = 1",
                "UPDATE account SET balance = 8 WHERE id = 2",
            ],
            log: [(update, 1), (update, 1), (update, 1), (update, 1)],
            facts: [
                1: #""commits":1,"source":{"file":"a.swift","line":1}"#,
                3: #""commits":2,"source":{"file":"a.swift","line":2}"#,
            ])
        let facts = try Program.python(
            """
            import json, sys
            print([[s["order"] for s in t["statements"]] for t in json.load(open(sys.argv[1]))["transactions"]])
            """, run("history", bundle, "--json").output)
        #expect(facts == "[[2], [4]]\n")
    }

    @Test(arguments: [
        ("0", "2,30"), ("1", "3,55"), ("2", "3,55"), ("3", "1,5"), ("last", "1,5"), ("-1", "1,5"),
        ("-2", "3,55"), ("-4", "2,30"),
    ])
    func queriesGoBack(commit: String, row: String) throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        for arguments in [["--at", commit], ["--at=" + commit]] {
            let outcome = try Program.tool(["query", path, Self.sum] + arguments)
            #expect(outcome == Outcome(status: 0, output: "n,s\r\n\(row)\r\n", error: ""))
        }
    }

    @Test func theHistoryIsThatOfWhatWasCommitted() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(uncommitted: "DELETE FROM account")
        #expect(run("query", path, Self.sum).output == "n,s\r\n0,\r\n")
        for store in ["ledger", "ledger.committed"] {
            #expect(
                run("query", path, Self.sum, "--store", store, "--at", "last").output == "n,s\r\n1,5\r\n"
            )
            #expect(
                run("query", path, Self.sum, "--store", store, "--at", "0").output == "n,s\r\n2,30\r\n")
        }
        #expect(run("verify", path).status == 0)
    }

    @Test func openSaysWhereItIs() throws {
        let fixture = try Fixture()
        try fixture.walBundle()
        for (commit, text) in [
            ("-2", "Store ledger (12 KB), after transaction 2 of 3\n"),
            ("0", "Store ledger (8 KB), before the first of 3 transactions\n"),
        ] {
            let outcome = try Program.tool(
                "open", fixture.directory, "--at", commit, "--", "SELECT count(*) FROM account")
            #expect(outcome.status == 0)
            #expect(outcome.output == (commit == "0" ? "2\n" : "3\n"))
            #expect(outcome.error.contains(text))
        }
    }

    @Test func extractWritesOneState() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        let directory = fixture.path("out")
        let outcome = run("extract", path, "-o", directory, "--at", "-2")
        #expect(outcome == Outcome(status: 0, output: "\(directory)/ledger.at-2.sqlite\n", error: ""))
        #expect(try FileSystem.contents(ofDirectory: directory) == ["ledger.at-2.sqlite"])
        let sqlite = try Program.run(
            "/usr/bin/env",
            ["sqlite3", directory + "/ledger.at-2.sqlite", "SELECT sum(amount) FROM entry"])
        #expect(sqlite.output == "0\n")
        #expect(run("extract", path, "--store", "ledger").status == 64)
        let all = fixture.path("all")
        #expect(run("extract", path, "-o", all).output.contains("\(all)/history/ledger.wal-history\n"))
    }

    @Test func whatMakesNoSenseIsSaid() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        #expect(
            run("query", path, "SELECT 1", "--at", "4")
                == Outcome(
                    status: 66, output: "",
                    error:
                        "error: There is no state '4': the history 'history/ledger.wal-history' of '\(path)' "
                        + "has 3 transactions, which makes 0 to 3, -1 to -4 and 'last'.\n"))
        #expect(
            run("query", path, "SELECT 1", "--at", "first")
                == Outcome(
                    status: 64, output: "",
                    error:
                        "error: '--at' needs a number such as 0, 3 or -2, or 'last', not 'first'. See "
                        + "'failure-artifacts query --help'.\n"))
        let ledger = try fixture.ledger("other/a.zip")
        for command in [["history", ledger], ["open", ledger, "--at", "0"]] {
            let outcome = try Program.tool(command)
            #expect(
                outcome
                    == Outcome(
                        status: 66, output: "",
                        error:
                            "error: '\(ledger)' has no history of the store 'ledger', so that only its last "
                            + "state can be looked at.\n"))
        }
    }

    @Test func aDamagedHistoryIsFound() throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle()
        let directory = fixture.path("out")
        _ = run("extract", path, "-o", directory)
        let names = ["metadata.json", "stores/ledger.sqlite", "history/ledger.wal-history"]
        var files = try names.map { ($0, try FileSystem.contents(ofFile: directory + "/" + $0)) }
        files[2].1.removeLast()
        let damaged = try fixture.zip("damaged/a.zip", files)
        let size = files[2].1.count
        #expect(
            run("history", damaged)
                == Outcome(
                    status: 65, output: "",
                    error:
                        "error: The history 'history/ledger.wal-history' of '\(damaged)' is damaged: it has "
                        + "\(size) bytes, but its counts require \(size + 1).\n"))
        let verified = run("verify", damaged)
        #expect(verified.status == 1)
        #expect(verified.output.contains("is damaged: it has \(size) bytes"))
        let incomplete = try fixture.zip("incomplete/a.zip", Array(files[..<2]))
        #expect(run("verify", incomplete).output.contains("names 'history/ledger.wal-history'"))
        #expect(run("query", incomplete, "SELECT 1").status == 0)
    }

    @Test func showSaysThatThereIsAHistory() throws {
        let fixture = try Fixture()
        #expect(run("show", try fixture.walBundle()).output.contains("\n  history of 3 transactions\n"))
    }
}
