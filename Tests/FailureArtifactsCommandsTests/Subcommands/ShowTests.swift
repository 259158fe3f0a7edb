import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsCommands

@Suite struct ShowTests {
    @Test func allThereIs() throws {
        let fixture = try Fixture()
        let path = try fixture.ledger()
        let outcome = run("show", path, "--schema")
        #expect(outcome.status == 0)
        #expect(outcome.error.isEmpty)
        let short = run("show", path).output
        #expect(
            short.contains(
                "    account  3 rows\n\n  Schema: 2 objects (all with --schema)\n\nStore vanished\n"))
        #expect(!short.contains("CREATE "))
        #expect(
            outcome.output == """
                LedgerTests.testTransfer failed
                XCTest, 2026-11-21 07:08:09.123 UTC
                \(path)

                Failure
                  Tests/LedgerTests.swift:42
                    ("90") is not equal to ("100") - the money is gone

                Store ledger
                  stores/ledger.sqlite (8 KB), what the test's connection saw
                  stores/ledger.committed.sqlite, what everyone else saw
                  was /tmp/ledger.sqlite (4 KB)
                  journal mode wal, 12 KB in the WAL, a transaction was open

                  Tables
                    account  3 rows

                  Schema
                    CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT NOT NULL, balance INTEGER);
                    CREATE VIEW rich AS SELECT * FROM account WHERE balance > 50;

                Store vanished
                  Described only. The file was removed before the failure.
                  was /tmp/vanished.sqlite

                Attachments
                  attachments/request.txt (6 B)
                    GET /

                Warnings
                  The store 'vanished' was not copied.

                Environment
                  Debian 12, x86_64
                  Swift 6.3.1, SQLite 3.40.1, process 42
                  GitHub Actions
                    GITHUB_JOB=test
                    GITHUB_RUN_ID=7

                """)
    }

    /// After the process died, only what was committed can be copied.
    @Test(arguments: [
        ("fileCopy", "", "what was committed"),
        ("fileCopy", "\"transactionOpen\": false, ", "what the test's connection saw"),
        ("ownConnection", "", "what the test's connection saw"),
    ])
    func theStateInTheCopy(method: String, transaction: String, view: String) throws {
        let fixture = try Fixture()
        let metadata = Metadata.store("s").replacing("\"serialize\"", with: "\"\(method)\"")
            .replacing("\"bytes\"", with: "\(transaction)\"bytes\"")
        let path = try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/s.sqlite", try fixture.store("CREATE TABLE t(a)")),
            ])
        #expect(run("show", path).output.contains("stores/s.sqlite, \(view)\n"))
    }

    /// A process may have several copies of SQLite, and a store may come from elsewhere.
    @Test(
        arguments: [
            (3_046_001, "", "3.46.1"), (3_040_001, "", nil), (0, "", nil), (2_008_017, "", nil),
            (3_046_001, "\"redactions\": [\"statements\"], ", nil),
        ] as [(UInt32, String, String?)])
    func theSQLiteThatWroteAStore(number: UInt32, keys: String, version: String?) throws {
        let fixture = try Fixture()
        let metadata = Metadata.store("s").replacing(
            "\"bytes\": {}", with: "\(keys)\"journalMode\": \"wal\", \"bytes\": {}")
        var store = try fixture.store("CREATE TABLE t(a)")
        store.replaceSubrange(
            96..<100, with: (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) })
        let bundle = try fixture.zip(
            "a.zip", [("metadata.json", Array(metadata.utf8)), ("stores/s.sqlite", store)])
        let text = run("show", bundle).output
        let line = version.map { "  journal mode wal, last written by SQLite \($0)\n" }
        #expect(text.contains(line ?? "  journal mode wal\n"), "\(text)")
        #expect(text.contains("SQLite 3.40.1, process"))
        let page = run("report", bundle, "-o", "-").output
        #expect(page.contains("last written by SQLite") == (version != nil))
    }

    /// Failures and stores have paths relative to the package, whether or not it has run statements.
    @Test func paths() throws {
        let fixture = try Fixture()
        let metadata = Metadata.ledger
            .replacing("\"Tests/LedgerTests.swift\"", with: "\"/ci/app/Tests/LedgerTests.swift\"")
            .replacing("\"/tmp/ledger.sqlite\"", with: "\"/ci/app/Tests/ledger.sqlite\"")
            .replacing("{\"formatVersion\"", with: "{\"packageRoot\": \"/ci/app\", \"formatVersion\"")
        let bundle = try fixture.zip(
            "LedgerTests.testTransfer-1a2b3c4d.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/ledger.sqlite", try fixture.store(Metadata.ledgerSQL)),
                ("stores/ledger.committed.sqlite", try fixture.store("CREATE TABLE account(id)")),
            ])
        let page = run("report", bundle, "-o", "-").output
        for text in [
            run("show", bundle).output, run("explain", bundle).output, page,
            run("explain", bundle, "--markdown").output, run("summary", bundle).output,
        ] {
            #expect(
                text.contains("Tests/LedgerTests.swift:42") && !text.contains("/ci/app/Tests"), "\(text)"
            )
        }
        #expect(run("show", bundle).output.contains("\n  was Tests/ledger.sqlite (4 KB)\n"))
        #expect(page.contains("was Tests/ledger.sqlite (4 KB)"))
        // A store outside of the package.
        #expect(run("show", bundle).output.contains("\n  was /tmp/vanished.sqlite\n"))
        let json = run("explain", bundle, "--json").output
        #expect(json.contains("\"file\" : \"Tests/LedgerTests.swift\""))
    }

    /// The copy shows one connection's view, and a warning is about another one.
    @Test(arguments: [
        ("", "no transaction open"),
        ("\"path\": \"/b.db\"", "no transaction open"),
        ("\"path\": \"/a.db\"", "a transaction of another connection was open"),
        ("\"path\": \"/a.db\", \"process\": 7", "a transaction of another process was open"),
        ("\"path\": \"/a.db\", \"process\": 42", "a transaction of the test's process was open"),
    ]) func anotherConnectionsTransaction(parameters: String, state: String) throws {
        let warning = "{\"code\": \"other-writer\", \"text\": \"w\", \(parameters)}"
        let metadata = Metadata.store("ledger")
            .replacing(
                "\"bytes\": {}",
                with: "\"bytes\": {}, \"transactionOpen\": false, \"originalPath\": \"/a.db\""
            )
            .replacing("\"warnings\": []", with: "\"warnings\": [\(parameters.isEmpty ? "" : warning)]")
        let fixture = try Fixture()
        let bundle = try fixture.zip(
            "PlainTests.testStore-1a2b3c4d.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/ledger.sqlite", try fixture.store("CREATE TABLE a(b)")),
            ])
        let output = run("show", bundle).output
        #expect(output.contains("\n  \(state)\n"), "\(output)")
    }

    /// The end of a log says most about the failure.
    @Test func theLastLinesOfALog() throws {
        let fixture = try Fixture()
        let log = (1...4000).map { "line \($0): request\n" }.joined()
        let metadata = Metadata.plain(test: "testLog", message: "m")
            .replacing(
                "\"attachments\": []",
                with: """
                    "attachments": [{"name": "server.log", "entry": "attachments/server.log", "bytes": \(log.utf8.count)}]
                    """)
        let path = try fixture.zip(
            "PlainTests.testLog-1a2b3c4d.zip",
            [("metadata.json", Array(metadata.utf8)), ("attachments/server.log", Array(log.utf8))])
        let shown = run("show", path)
        #expect(
            shown.output.contains(
                """
                    … after 3995 lines
                    line 3996: request
                    line 3997: request
                    line 3998: request
                    line 3999: request
                    line 4000: request

                """))
        #expect(!shown.output.contains("line 3995:"))
        #expect(run("show", path, "--json").output.contains("\"line 4000: request\""))
        let page = run("report", path, "-o", "-").output
        #expect(page.contains("The end, after 3800 lines:") && page.contains("line 4000: request</pre>"))
        #expect(!page.contains("line 3800:"))
    }

    /// Only for a test's own store is the connection certainly the test's.
    @Test(arguments: [
        (
            #""shared": true, "openedBy": {"suite": "A", "name": "first"}"#, "its connection",
            "opened by A.first"
        ),
        (#""shared": true"#, "its connection", "shared with other tests"),
    ])
    func storesOfOthers(keys: String, connection: String, owner: String) throws {
        let fixture = try Fixture()
        let store = try fixture.store(Metadata.ledgerSQL)
        let committed = try fixture.store("CREATE TABLE account(id INTEGER PRIMARY KEY)")
        let metadata = Metadata.ledger.replacing(
            "\"storage\": \"file\", \"j", with: "\(keys), \"storage\": \"file\", \"j")
        let path = try fixture.zip(
            "x.zip",
            [
                ("metadata.json", Array(metadata.utf8)), ("stores/ledger.sqlite", store),
                ("stores/ledger.committed.sqlite", committed),
            ])
        let text = run("show", path).output
        #expect(text.contains("stores/ledger.sqlite (8 KB), what \(connection) saw\n"))
        #expect(text.contains("\n  \(owner)\n"))
        #expect(!text.contains("the test's connection"))
        let file = fixture.path("r.html")
        #expect(run("report", path, "-o", file).status == 0)
        let page = String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
        #expect(page.contains("<span>\(owner)</span>"))
        #expect(!page.contains("what the test saw"))
    }

    @Test func json() throws {
        let fixture = try Fixture()
        let outcome = run("show", "--json", try fixture.ledger())
        let read = try Program.python(
            """
            import json, sys
            r = json.load(open(sys.argv[1], encoding="utf-8"))
            print(sorted(r), r["statements"], r["metadata"]["formatVersion"], [o["name"] for o in r["metadata"]["stores"][0]["schema"]],
                  r["metadata"]["failures"][0]["line"], "addedLater" in r["metadata"])
            """, outcome.output)
        #expect(
            read
                == "['attachedLines', 'bundle', 'coreData', 'metadata', 'sqlite', 'statements'] {} 1.0 "
                + "['account', 'rich'] 42 False\n")
    }

    @Test func colourIsForTerminalsOnly() throws {
        let fixture = try Fixture()
        let path = try fixture.ledger()
        #expect(!run("show", path).output.contains("\u{1B}"))
        #expect(!run("show", path, width: 80).output.contains("\u{1B}"))
        #expect(run("show", path, width: 80, hasColour: true).output.hasPrefix("\u{1B}[1mLedgerTests"))
    }

    /// The store's entry is missing, but the schema is in the metadata, so the store isn't read.
    @Test func aSchemaInTheMetadataIsEnough() throws {
        let fixture = try Fixture()
        let metadata = Metadata.store("s").replacing(
            "\"bytes\": {}",
            with: """
                "bytes": {}, "schemaOmitted": 3,
                "schema": [{"type": "table", "name": "fruit", "table": "fruit", "sql": "CREATE TABLE fruit(a)"}]
                """)
        let path = try fixture.zip("a.zip", [("metadata.json", Array(metadata.utf8))])
        #expect(run("show", path).output.contains("Schema: 4 objects (all with --schema)"))
        let outcome = run("show", path, "--schema")
        #expect(outcome.status == 0)
        #expect(outcome.error.isEmpty)
        #expect(
            outcome.output.contains(
                """
                  Schema
                    CREATE TABLE fruit(a);
                    and 3 more: query 'SELECT sql FROM sqlite_master'

                """))
    }

    @Test func aStoreThatIsDamagedDoesNotHideTheRest() throws {
        let fixture = try Fixture()
        let path = try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(Metadata.store("s").utf8)),
                ("stores/s.sqlite", Array(repeating: 7, count: 5000)),
            ])
        let outcome = run("show", path)
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("Store s"))
        #expect(outcome.output.contains("integrity: file is not a database"))
    }

}
