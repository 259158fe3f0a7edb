import FailureArtifactsAnalysis
@testable import FailureArtifactsCommands
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

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

@Suite struct RowRendererTests {
    private func text(
        _ columns: [String], _ rows: [[Value]], _ make: (TextOutput) -> any RowRenderer
    ) throws -> String {
        let memory = Memory()
        let output = memory.output()
        var renderer = make(output)
        try renderer.begin(columns: columns)
        for row in rows { try renderer.write(row: row) }
        try renderer.end()
        try output.flush()
        return memory.text
    }

    private let odd: [Value] = [
        .null, .integer(.min), .real(1.5), .real(-.infinity), .text(""),
        .text("a,\"b\"\r\n果\u{0}\u{1F}"),
        .blob([0, 255]), .text("\"\u{301}"),
    ]

    @Test func csv() throws {
        let csv = try text(["a", "b,c"], [[.text("x"), .null]]) { CSVRenderer(output: $0) }
        #expect(csv == "a,\"b,c\"\r\nx,\r\n")
        #expect(
            try text(["a"], [[.null], [.text("")]]) { CSVRenderer(output: $0) }
                == "a\r\n\"\"\r\n\"\"\r\n")
        #expect(try text([], []) { CSVRenderer(output: $0) }.isEmpty)
    }

    @Test func pythonReadsTheCSV() throws {
        let csv = try text((1...8).map { "c\($0)" }, [odd]) { CSVRenderer(output: $0) }
        let read = try Program.python(
            """
            import csv, sys
            rows = list(csv.reader(open(sys.argv[1], newline="", encoding="utf-8"), strict=True))
            assert rows[0] == ["c%d" % n for n in range(1, 9)], rows
            assert rows[1:] == [["", "-9223372036854775808", "1.5", "-Inf", "",
                'a,"b"\\r\\n果\\0\\x1f', "X'00FF'", '"\\u0301']], rows
            print("ok")
            """, csv)
        #expect(read == "ok\n")
    }

    @Test func pythonReadsTheJSON() throws {
        let json = try text(["z", "a", "a", "a_2", "r", "i", "b", "q"], [odd, odd]) {
            JSONRowRenderer(output: $0)
        }
        let read = try Program.python(
            """
            import json, sys
            rows = json.load(open(sys.argv[1], encoding="utf-8"))
            assert len(rows) == 2 and rows[0] == rows[1]
            assert list(rows[0].items()) == [("z", None), ("a", -9223372036854775808), ("a_3", 1.5),
                ("a_2", float("-inf")), ("r", ""), ("i", 'a,"b"\\r\\n果\\0\\x1f'), ("b", {"base64": "AP8="}),
                ("q", '"\\u0301')], rows
            print("ok")
            """, json)
        #expect(read == "ok\n")
        #expect(try text(["a"], []) { JSONRowRenderer(output: $0) } == "[]\n")
    }

    @Test func tableIsAligned() throws {
        let table = try text(
            ["id", "名前", "note"],
            [
                [.integer(1), .text("果物"), .null], [.integer(20), .text("ab"), .text("x\ny")],
                [.null, .text("e\u{301}"), .blob([1])],
            ]
        ) { TableRenderer(output: $0, width: 80) }
        #expect(
            table == """
                  id  名前  note
                ────  ────  ─────
                   1  果物  NULL
                  20  ab    x\\ny
                NULL  é     X'01'
                (3 rows)

                """)
    }

    @Test func tableKeepsToTheTerminal() throws {
        let long = String(repeating: "果物", count: 100)
        let rows: [[Value]] = (0..<500).map { [.integer($0), .text(long), .text(long)] }
        let table = try text(["id", "a", "b"], rows) { TableRenderer(output: $0, width: 60) }
        let lines = table.split(separator: "\n")
        #expect(lines.count == 503)
        #expect(lines.allSatisfy { TextWidth.columns(of: String($0)) <= 60 })
    }

    @Test(arguments: [
        ([3, 4], 80, [3, 4]), ([100, 4], 20, [16, 4]), ([100, 100], 20, [10, 10]),
        ([9, 9, 9], 3, [6, 6, 6]),
    ])
    func fitting(_ natural: [Int], _ width: Int, _ expected: [Int]) {
        #expect(TableRenderer.fit(natural, into: width) == expected)
    }
}

@Suite struct OpenTests {
    @Test func sqlite3AfterAHeader() throws {
        let fixture = try Fixture()
        try fixture.ledger()
        let outcome = try Program.tool(
            "open", fixture.directory, "--", "-csv",
            "DELETE FROM account WHERE id = 1; SELECT id FROM account",
            environment: ["TMPDIR": fixture.directory])
        #expect(outcome.status == 0)
        #expect(outcome.output.split(whereSeparator: \.isNewline) == ["2", "3"])
        #expect(
            outcome.error == """
                LedgerTests.testTransfer failed
                Store ledger (8 KB), inside the open transaction
                  account (3 rows)
                This is a scratch copy: changes to it are lost.

                """)
        #expect(
            try FileSystem.contents(ofDirectory: fixture.directory)
                == ["LedgerTests.testTransfer-1a2b3c4d.zip"])
    }

    @Test func theStatusIsThatOfSQLite3() throws {
        let fixture = try Fixture()
        try fixture.ledger()
        let store = try fixture.write(try fixture.store(Metadata.ledgerSQL), to: "alone.sqlite")
        let sqlite = try Program.run("/usr/bin/env", ["sqlite3", store, "SELECT nope"])
        #expect(sqlite.status != 0)
        let outcome = try Program.tool("open", fixture.directory, "--", "SELECT nope")
        #expect(outcome.status == sqlite.status)
        #expect(outcome.error.hasSuffix(sqlite.error))
    }

    @Test func withoutSQLite3() throws {
        let fixture = try Fixture()
        let outcome = run("open", try fixture.ledger(), environment: ["PATH": "/nowhere"])
        #expect(outcome.status == 66)
        #expect(
            outcome.error
                == "error: There is no sqlite3 in PATH. Install it with 'apt install sqlite3' or 'brew install "
                + "sqlite', or use 'failure-artifacts query'.\n")
    }

    /// A script in place of sqlite3 sends the signal only to the tool.
    @Test(arguments: [("INT", 7), ("QUIT", 7), ("TERM", 143)])
    func theScratchGoesAlsoAfterASignal(_ signal: String, _ status: Int32) throws {
        let fixture = try Fixture()
        try fixture.ledger()
        try FileSystem.createDirectory(fixture.path("bin"))
        try FileSystem.createDirectory(fixture.path("scratch"))
        // A terminal would send SIGINT to both processes. Here only the tool receives it and must keep running.
        try fixture.write(
            Array("#!/bin/sh\nkill -\(signal) $PPID\nsleep 0.5\ntest -s \"$1\" && exit 7\n".utf8),
            to: "bin/sqlite3")
        _ = try Program.run("/bin/chmod", ["755", fixture.path("bin/sqlite3")])
        let outcome = try Program.tool(
            "open", fixture.directory,
            environment: [
                "TMPDIR": fixture.path("scratch"), "PATH": fixture.path("bin") + ":/usr/bin:/bin",
            ])
        #expect(outcome.status == status)
        #expect(try FileSystem.contents(ofDirectory: fixture.path("scratch")).isEmpty)
    }

    @Test func aSignalEndsAQueryAndItsScratch() throws {
        let fixture = try Fixture()
        try fixture.ledger()
        try FileSystem.createDirectory(fixture.path("scratch"))
        let endless =
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"
        let outcome = try Program.run(
            "/usr/bin/env",
            ["timeout", "-s", "TERM", "1", Program.tool, "query", fixture.directory, endless],
            environment: ["TMPDIR": fixture.path("scratch")])
        #expect(outcome.status == 124)
        #expect(try FileSystem.contents(ofDirectory: fixture.path("scratch")).isEmpty)
    }
}
