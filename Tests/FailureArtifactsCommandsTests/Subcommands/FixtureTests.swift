import FailureArtifactsBundle
@testable import FailureArtifactsCommands
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@Suite struct FixtureTests {
    private static let transactions = [
        """
        CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID INTEGER NOT NULL REFERENCES account(id), amount INTEGER);
        CREATE INDEX entry_account ON entry(accountID);
        WITH RECURSIVE i(x) AS (SELECT 3 UNION ALL SELECT x + 1 FROM i WHERE x < 40)
        INSERT INTO account SELECT x, 'n' || x, 0 FROM i;
        INSERT INTO entry SELECT id, id, id * 10 FROM account; INSERT INTO entry VALUES (50, 2, 7)
        """,
        "INSERT INTO account VALUES (41, 'late', 1)",
        "DELETE FROM account WHERE id = 2",
    ]
    private static let log: [(sql: String, changes: Int?)] = [
        ("PRAGMA foreign_keys = ON", nil), ("BEGIN", nil),
        (
            "CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID INTEGER NOT NULL REFERENCES account(id))",
            0
        ),
        ("CREATE INDEX entry_account ON entry(accountID)", 0),
        ("INSERT INTO account SELECT x, 'n' || x, 0 FROM i", 38),
        ("INSERT INTO entry SELECT id, id, id * 10 FROM account", 40),
        ("INSERT INTO entry VALUES (50, 2, 7)", 1), ("COMMIT", nil),
        ("BEGIN", nil), ("INSERT INTO account VALUES (41, 'late', 1)", 1), ("COMMIT", nil),
        ("BEGIN", nil), ("DELETE FROM account WHERE id = 2", 1), ("COMMIT", nil),
    ]
    private static let source =
        "\"source\":{\"file\":\"Sources/Ledger/Ledger.swift\",\"line\":42,\"function\":\"closure #1 in Ledger.close(_:)\"}"

    private func bundle(in fixture: borrowing Fixture) throws -> String {
        try fixture.walBundle(Self.transactions, log: Self.log, facts: [12: Self.source])
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try FileSystem.contents(ofFile: path), as: UTF8.self)
    }

    /// The rows are the account and its two entries, and a migration doesn't run again.
    @Test func theStoreIsTheOneBeforeTheCulprit() throws {
        let fixture = try Fixture()
        let directory = fixture.path("Tests/LedgerTests")
        try fixture.write([1], to: "Tests/LedgerTests/Other.swift")
        let bundle = try bundle(in: fixture)
        let outcome = run("extract", bundle, "--fixture", "-o", directory)
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(
            outcome.output == """
                \(directory)/Fixtures/Store.sql
                \(directory)/StoreFixture.swift

                """)
        #expect(
            outcome.error == """
                The store is the one before transaction 3 of this finding: 2 rows of entry refer to a row of account that \
                does not exist, transaction 3, closure #1 in Ledger.close(_:) Sources/Ledger/Ledger.swift:42
                Move the files into a test target, and add these lines to it in Package.swift:
                    dependencies: [.product(name: "FailureArtifactsTestKit", package: "failure-artifacts")],
                    resources: [.copy("Fixtures")]
                The test fails because of the bug; its comments say where to call your code.

                """)
        let store = try ApplicationHandle(fixture.path("made.sqlite"))
        try store.run("PRAGMA foreign_keys = ON")
        try store.run(try text(directory + "/Fixtures/Store.sql"))
        #expect(try store.texts("PRAGMA foreign_keys") == ["1"])
        #expect(try store.texts("SELECT id || name FROM account") == ["2b"])
        #expect(try store.texts("SELECT id FROM entry") == ["2", "50"])
        #expect(
            try store.texts("SELECT name FROM sqlite_master WHERE type = 'index'") == ["entry_account"])
        #expect(
            try text(directory + "/StoreFixture.swift") == """
                import FailureArtifactsTestKit
                import Foundation
                import XCTest

                /// Starts with the store of PlainTests.testStore, as it was before transaction 3, which broke it.
                ///
                /// The test failed: m
                ///
                /// It has 3 of 82 rows: those that the test needs. 'extract --fixture --whole' keeps all.
                final class StoreFixture: StoreTestCase<SQLiteTestStore> {
                    override var content: StoreContent<SQLiteTestStore> {
                        .reducible(
                            .resource("Store", withExtension: "sql", subdirectory: "Fixtures", in: .module))
                    }

                    func testStore() throws {
                        // Transaction 3 ran this.
                        // Replace it by the code that ran it:
                        //     Ledger.close(_:), Sources/Ledger/Ledger.swift:42
                        try store.rows("PRAGMA foreign_keys = OFF")
                        try store.transaction(
                            #\"""
                            DELETE FROM account WHERE id = 2;
                            \"""#)

                        // 2 rows of entry refer to a row of account that does not exist.
                        let found = try store.rows(
                            #\"""
                            SELECT c.* FROM "entry" c
                            WHERE c."accountID" IS NOT NULL
                              AND NOT EXISTS (SELECT 1 FROM "account" p WHERE p."id" = c."accountID")
                            \"""#)
                        XCTAssertEqual(found, [])
                    }
                }

                """)
        // The query tells the states apart.
        let query = """
            SELECT c.id FROM entry c WHERE NOT EXISTS (SELECT 1 FROM account p WHERE p.id = c.accountID)
            """
        #expect(try store.texts(query) == [])
        try store.run("PRAGMA foreign_keys = OFF; \(Self.transactions[2])")
        #expect(try store.texts(query) == ["2", "50"])
        let again = run("extract", bundle, "--fixture", "-o", directory)
        #expect(again.status == 64)
        #expect(again.error.contains("Store.sql' exists"))
    }

    @Test func allRowsOnRequest() throws {
        let fixture = try Fixture()
        let bundle = try bundle(in: fixture)
        for (options, state, count) in [
            (["--whole"], "before transaction 3", "41"),
            (["--at", "1"], "after transaction 1 of 3", "40"),
            (["--at", "last"], "after transaction 3 of 3", "40"),
        ] {
            let directory = fixture.path("out-\(options.joined())")
            let outcome = run(["extract", bundle, "--fixture", "-o", directory] + options)
            #expect(outcome.status == 0, "\(outcome.error)")
            #expect(try text(directory + "/StoreFixture.swift").contains("as it was \(state)"))
            let file = directory + "/Fixtures/Store."
            let isScript = try FileSystem.status(of: file + "sql") != nil
            // Rows that violate a foreign key can't be inserted where keys are enforced.
            #expect(isScript == (options != ["--at", "last"]))
            let store = try ApplicationHandle(isScript ? fixture.path("made\(state)") : file + "sqlite")
            if isScript { try store.run(try text(file + "sql")) }
            #expect(try store.value("SELECT count(*) FROM account") == count)
        }
    }

    /// Without a history, the damage is there from the start.
    @Test func withoutAHistoryTheStoreIsTheOneAtTheFailure() throws {
        let fixture = try Fixture()
        let directory = fixture.path("out")
        let outcome = run("extract", try fixture.ledger("a.zip"), "--fixture", "-o", directory)
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(outcome.error.hasPrefix("The transaction that broke the store is unknown"))
        #expect(outcome.output.hasPrefix("\(directory)/Fixtures/Transfer.sql\n"))
        let source = try text(directory + "/TransferFixture.swift")
        #expect(source.contains("as it was at the failure"))
        #expect(
            source.contains(
                "XCTFail(\"This test is incomplete: do with the store what the failed test did next"))
        #expect(source.contains("// Expect here what the failed test expected at LedgerTests.swift:42:"))
    }

    @Test func theFrameworkIsTheOneOfTheTest() throws {
        let fixture = try Fixture()
        let metadata = Metadata.ledger.replacing("\"XCTest\"", with: "\"Swift Testing\"")
        let bundle = try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/ledger.sqlite", try fixture.store(Metadata.ledgerSQL)),
                ("stores/ledger.committed.sqlite", try fixture.store(Metadata.ledgerSQL)),
            ])
        let outcome = run(
            "extract", bundle, "--fixture", "--store", "ledger.committed", "-o", fixture.path("x"))
        #expect(outcome.status == 0, "\(outcome.error)")
        let source = try text(fixture.path("x/TransferFixture.swift"))
        #expect(source.contains("@Test func testTransfer() throws {"))
        #expect(source.contains("Issue.record("))
        for words in [["--store", "ledger"], ["--whole"]] {
            #expect(run(["extract", bundle, "-o", fixture.path("y")] + words).status == 64)
        }
    }

    /// GRDB writes its statements out in full.
    @Test func theStoreTypeIsTheOneOfTheTest() throws {
        let fixture = try Fixture()
        var log = Self.log
        log[log.count - 1].sql = "COMMIT TRANSACTION"
        let bundle = try fixture.walBundle(Self.transactions, log: log)
        let outcome = run("extract", bundle, "--fixture", "-o", fixture.path("out"))
        let file = try #require(outcome.output.split(separator: "\n").last)
        #expect(try text(String(file)).contains("StoreTestCase<StoreFixtureStore>"))
    }

    @Test func redactedStoresAreNamed() throws {
        let fixture = try Fixture()
        let metadata = Metadata.store("shop").replacing(
            "\"bytes\": {}", with: "\"bytes\": {}, \"redactions\": [\"t.a: hashed\"]")
        let bundle = try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/shop.sqlite", try fixture.store("CREATE TABLE t(a); INSERT INTO t VALUES (1)")),
            ])
        let outcome = run("extract", bundle, "--fixture", "-o", fixture.path("out"))
        #expect(outcome.status == 0)
        #expect(outcome.error.contains("warning: The store was redacted: t.a: hashed."))
        #expect(
            try text(fixture.path("out/StoreFixture.swift")).contains(
                "/// The store was redacted: t.a: hashed."))
    }

    /// The name of a table can neither hide a part of the source nor end a literal.
    @Test(arguments: [
        "a\u{202E}b", "a\r\nb", "a\u{1}b", "a\"\"\"#b", "a\"\"\"#\u{301}b", "a\\(b)", "a\\#(b)",
    ])
    func hostileTables(_ name: String) throws {
        let fixture = try Fixture()
        let quoted = "\"" + name.replacing("\"", with: "\"\"") + "\""
        let bundle = try fixture.walBundle([
            Self.transactions[0] + "; ALTER TABLE entry RENAME TO \(quoted)", Self.transactions[2],
        ])
        let outcome = run("extract", bundle, "--fixture", "-o", fixture.path("out"))
        #expect(outcome.status == 0, "\(outcome.error)")
        let source = try text(fixture.path("out/StoreFixture.swift"))
        #expect(source.contains("before transaction 2"))
        #expect(!source.unicodeScalars.contains { ["\u{202E}", "\r", "\u{1}"].contains($0) })
        try fixture.write(Array(source.utf8), to: "source.swift")
        let parsed = try Program.run(
            "/usr/bin/env", ["swiftc", "-frontend", "-parse", fixture.path("source.swift")])
        #expect(parsed.status == 0, "\(parsed.error)")
    }

    /// Names from a bundle stay inside comments and identifiers.
    @Test(arguments: [
        "*/ import Evil", "a\nimport Evil", "1\"; \\(evil)", "", "…", "\u{345}",
        String(repeating: "\u{915}\u{93E}", count: 900),
    ])
    func hostileNames(_ name: String) {
        for framework in ["XCTest", "Swift Testing"] {
            let test = FixtureTest(
                test: .init(framework: framework, suite: name, name: name, arguments: nil, attempt: 1),
                failure: nil, state: name, notes: [name])
            let lines = test.source.split(separator: "\n").map(String.init)
            #expect(lines.filter { $0.contains("import Evil") }.allSatisfy { $0.hasPrefix("/// ") })
            #expect(lines.filter { $0.hasPrefix("import ") }.count == 3)
            #expect(!test.source.contains("\\(evil)\""))
            #expect(!test.fileName.contains("/") && !test.typeName.contains(" "))
            #expect(test.fileName.utf8.count <= 255 && !test.typeName.hasPrefix("\u{345}"))
            #expect(!test.storeFile.contains("/") && !test.storeFile.contains("\""))
        }
    }

    /// The name of each keyword compiles, and nothing else has backticks.
    @Test func keywordsAreQuoted() throws {
        let fixture = try Fixture()
        let names = [
            "repeat", "`repeat`", "default", "init", "self", "in", "Type", "some", "async", "plain",
        ]
        var files: [String] = []
        for (index, name) in names.enumerated() {
            let test = FixtureTest(
                test: .init(
                    framework: "Swift Testing", suite: "S", name: name + "()", arguments: nil, attempt: 1
                ),
                failure: nil, state: "then")
            files.append(fixture.path("\(index).swift"))
            try fixture.write(Array(test.source.utf8), to: "\(index).swift")
            #expect(name != "plain" || test.source.contains("func plain()"))
        }
        let parsed = try Program.run("/usr/bin/env", ["swiftc", "-frontend", "-parse"] + files)
        #expect(parsed.status == 0, "\(parsed.error)")
    }

    /// The query is the text of a file, with tabs and the line ends of another system.
    @Test func theQueryOfAnInvariant() throws {
        for (query, isVisible) in [
            ("SELECT id\r\n\tFROM entry -- orphans\r\nWHERE accountID = 2\r\n", true),
            ("SELECT id FROM entry -- \u{202E}\nWHERE accountID = 2", false),
        ] {
            let fixture = try Fixture()
            let invariants = fixture.path("invariants")
            try fixture.write(
                Array(
                    "-- No orphans\r\n\(query.replacing("accountID = 2", with: "accountID NOT IN (SELECT id FROM account)"))"
                        .utf8), to: "invariants/orphans.sql")
            let bundle = try bundle(in: fixture)
            let outcome = try Program.tool(
                "extract", bundle, "--fixture", "--whole", "-o", fixture.path("out"),
                environment: ["FAILURE_ARTIFACTS_INVARIANTS": invariants])
            #expect(outcome.status == 0, "\(outcome.error)")
            let source = try text(fixture.path("out/StoreFixture.swift"))
            #expect(!source.contains("\r") && !source.contains("\u{202E}"))
            if isVisible {
                #expect(source.contains("\tFROM entry -- orphans\n"))
            } else {
                #expect(
                    source.contains(
                        "// The SQL is left out, because it has invisible characters.")
                )
            }
        }
    }

    /// The texts of rows that are left out are in no byte of the store.
    @Test(
        arguments: [
            "fts5(body)", "fts4(body)", "fts3(body)",
            "fts5(name, content='account', content_rowid='id')",
        ])
    func textsOfOtherRowsAreLeftOut(_ module: String) throws {
        let fixture = try Fixture()
        let ownsText = module.contains("body")
        let bundle = try fixture.walBundle([
            Self.transactions[0] + """
                ; CREATE VIRTUAL TABLE account_search USING \(module);
                UPDATE account SET name = 'secret' || id WHERE id > 2;
                UPDATE account SET name = 'wanted ' || hex(zeroblob(1)) WHERE id = 2;
                INSERT INTO account_search(rowid, \(ownsText ? "body" : "name")) SELECT id, name FROM account
                """, Self.transactions[2],
        ])
        let outcome = run("extract", bundle, "--fixture", "-o", fixture.path("out"))
        #expect(outcome.status == 0, "\(outcome.error)")
        let path = fixture.path("out/Fixtures/Store.sqlite")
        #expect(try FileSystem.contents(ofFile: path).firstRange(of: Array("secret".utf8)) == nil)
        let store = try ApplicationHandle(path)
        #expect(
            try store.texts("SELECT rowid FROM account_search WHERE account_search MATCH 'wanted'") == [
                "2"
            ])
        #expect(try store.texts("SELECT count(*) FROM account_search") == ["1"])
        // 40 accounts and 41 entries, and the texts that are stored once more.
        let source = try text(fixture.path("out/StoreFixture.swift"))
        #expect(source.contains(ownsText ? "It has 4 of 121 rows" : "It has 3 of 81 rows"))
    }

    /// The index of such a table can show texts, but no row of it can be removed.
    @Test func aStoreWithAnIndexWithoutTextsKeepsAllRows() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle([
            Self.transactions[0] + """
                ; CREATE VIRTUAL TABLE search USING fts5(name, content='');
                INSERT INTO search(rowid, name) SELECT id, name FROM account
                """, Self.transactions[2],
        ])
        let outcome = run("extract", bundle, "--fixture", "-o", fixture.path("out"))
        #expect(outcome.status == 0 && outcome.error.contains("All rows are kept"), "\(outcome.error)")
    }
}
