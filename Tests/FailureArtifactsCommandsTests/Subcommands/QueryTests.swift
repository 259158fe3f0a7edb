import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct QueryTests {
    @Test func theToolPrintsCSV() throws {
        let fixture = try Fixture()
        try fixture.ledger()
        let outcome = try Program.tool(
            "query", fixture.directory, "SELECT * FROM account",
            environment: ["TMPDIR": fixture.directory])
        #expect(
            outcome
                == Outcome(
                    status: 0,
                    output:
                        "id,name,balance\r\n1,チェッキング,90\r\n2,\"Savings, \"\"old\"\"\",\r\n3,\"\",-5\r\n",
                    error: ""))
    }

    @Test func formsAndStores() throws {
        let fixture = try Fixture()
        let path = try fixture.ledger()
        #expect(
            run("query", path, "SELECT id, id FROM account WHERE id = 1", "--json").output
                == "[\n{\"id\":1,\"id_2\":1}\n]\n")
        let table = run("query", path, "SELECT id, name FROM rich", width: 80)
        #expect(table.output == "id  name\n──  ────────────\n 1  チェッキング\n(1 row)\n")
        #expect(run("query", path, "SELECT 1 AS a", "--csv", width: 80).output == "a\r\n1\r\n")
        for store in ["ledger.committed", "stores/ledger.committed.sqlite"] {
            #expect(
                run("query", path, "SELECT count(*) AS n FROM account", "--store", store).output
                    == "n\r\n0\r\n")
        }
    }

    @Test(arguments: [
        "DELETE FROM account", "CREATE TABLE x(a)", "PRAGMA user_version = 4", "VACUUM",
        "VACUUM INTO '/tmp/fa-never'", "PRAGMA journal_mode = delete",
    ])
    func whatWritesIsRefused(_ sql: String) throws {
        let fixture = try Fixture()
        let outcome = run("query", try fixture.ledger(), sql)
        #expect(outcome.status == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.error.hasPrefix("error: '\(sql)' is not run: it changes the store"))
    }

    @Test(arguments: [
        ("SELEC 1", "near \"SELEC\": syntax error."),
        ("SELECT * FROM nope", "no such table: nope. Its tables are account."),
        ("SELECT 1; SELECT 2", "more than one statement."), ("-", "near \"-\": syntax error."),
        ("/* */", "it holds no statement."), ("SELECT load_extension('x')", "not authorized."),
        ("ATTACH '/tmp/fa-never' AS x", "unable to open database: /tmp/fa-never."),
    ])
    func statementsThatFail(_ sql: String, _ reason: String) throws {
        let fixture = try Fixture()
        let outcome = run("query", try fixture.ledger(), sql)
        #expect(
            outcome
                == Outcome(
                    status: 64, output: "",
                    error: "error: '\(sql)' cannot be run on the store 'ledger': \(reason)\n"))
    }

    @Test func storesThatAreNotThere() throws {
        let fixture = try Fixture()
        let path = try fixture.ledger()
        #expect(
            run("query", path, "SELECT 1", "--store", "nope")
                == Outcome(
                    status: 66, output: "",
                    error:
                        "error: '\(path)' has no store 'nope': choose one of 'ledger', 'ledger.committed'.\n"
                )
        )
        #expect(
            run("query", path, "SELECT 1", "--store=vanished").error
                == "error: '\(path)' describes the store 'vanished', but has no copy of it: The file was "
                + "removed before the failure.\n")
        let missing = try fixture.zip("m.zip", [("metadata.json", Array(Metadata.store("s").utf8))])
        #expect(
            run("query", missing, "SELECT 1")
                == Outcome(
                    status: 65, output: "",
                    error:
                        "error: '\(missing)' is incomplete: its metadata names 'stores/s.sqlite', and "
                        + "the zip has no such entry.\n"))
        let none = run("query", try fixture.plain("n.zip"), "SELECT 1")
        #expect(none.status == 66)
        #expect(none.error.contains("holds no stores"))
    }

    @Test func aStoreThatIsNone() throws {
        let fixture = try Fixture()
        let path = try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(Metadata.store("s").utf8)),
                ("stores/s.sqlite", Array(repeating: 7, count: 5000)),
            ])
        #expect(
            run("query", path, "SELECT * FROM sqlite_master")
                == Outcome(
                    status: 65, output: "",
                    error: "error: The store 's' of '\(path)' is damaged: file is not a database.\n"))
    }

    @Test func csvAndJSONExcludeEachOther() {
        #expect(run("query", "a", "b", "--csv", "--json").status == 64)
    }
}
