import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// The output is short, and an option shows the rest.
@Suite struct ScreenTests {
    /// A message of 60 KB, whose values are at the end.
    private static let long =
        "The pages differ: " + String(repeating: "0123456789 ", count: 5500)
        + "(\\\"1\\\") is not (\\\"2\\\")"

    /// Each command shows the message's beginning and its end.
    @Test(arguments: [nil, 80] as [Int?]) func longMessages(_ width: Int?) throws {
        let fixture = try Fixture()
        let bundle = try fixture.plain("a.zip", message: Self.long)
        for command in ["show", "explain"] {
            let text = run(command, bundle, width: width).output
            #expect(text.split(separator: "\n").count < 40)
            #expect(text.contains("The pages differ: 0123456789"))
            #expect(text.contains("… 58 KB left out (all with --all) …"), "\(text)")
            #expect(text.contains("(\"1\") is not (\"2\")\n"))
            let all = run(command, bundle, "--all", width: width).output
            #expect(all.ranges(of: "0123456789").count == 5500)
            #expect(!all.contains("left out"))
            #expect(run(command, bundle, "--json").output.ranges(of: "0123456789").count == 5500)
        }
        let listed = run("list", bundle, width: width).output
        #expect(listed.contains("The pag") && listed.contains("…"), "\(listed)")
        #expect(listed.contains("not (\"2\")  "), "\(listed)")
        #expect(listed.utf8.count < 400)
    }

    @Test func longMessagesElsewhere() throws {
        let fixture = try Fixture()
        let bundle = try fixture.zip(
            "a.zip",
            [
                (
                    "metadata.json",
                    Array(Metadata.store("s").replacing("\"m\"", with: "\"\(Self.long)\"").utf8)
                ),
                ("stores/s.sqlite", try fixture.store("CREATE TABLE t(a)")),
            ])
        let others = [
            run("explain", bundle, "--markdown").output, run("summary", bundle).output,
            run("report", bundle, "-o", "-").output.replacing("&quot;", with: "\""),
            run("junit", bundle, "-o", "-").output.replacing("&quot;", with: "\""),
        ]
        for (index, text) in others.enumerated() {
            #expect(text.contains("The pages differ: 0123456789"), "\(index)")
            #expect(text.contains("(\"1\") is not (\"2\")"), "\(index): \(text.prefix(3000))")
        }
    }

    /// Statements that say little about the data are left out, unless one of them failed.
    @Test func statementsThatSayLittleAreLeftOut() throws {
        let fixture = try Fixture()
        let log = [
            "PRAGMA foreign_keys = ON", "SELECT name FROM sqlite_master",
            "SELECT * FROM pragma_table_info('a')",
            "SELECT sql FROM (SELECT sql FROM sqlite_schema) JOIN sqlite_temp_master", "BEGIN IMMEDIATE",
            "SAVEPOINT s", "INSERT INTO a VALUES ('sqlite_master')", "RELEASE s",
            "SELECT b FROM a WHERE b = ' from sqlite_master'", "COMMIT", "PRAGMA user_version",
        ]
        let failed = #""error": {"code": 5, "message": "database is locked"}"#
        for (facts, kept) in [([:], [6, 8]), ([9: failed], [6, 8, 9])] as [([Int: String], [Int])] {
            let bundle = try fixture.bundleWithoutHistory(
                "CREATE TABLE a(b)", log: log.map { ($0, 0) }, facts: facts, message: "m")
            func shown(_ options: String...) -> [String] {
                let output = run(["show", bundle] + options).output
                return log.filter { output.contains("  \($0)  ") }
            }
            #expect(shown() == kept.map { log[$0] })
            #expect(
                run("show", bundle).output.contains(
                    "\nLast statements, \(kept.count) of 11 (all with --statements)\n"))
            #expect(shown("--statements") == log)
            try FileSystem.remove(bundle)
        }
    }

    /// The stores that the test used last are described.
    ///
    /// A bundle has them in the order of their names.
    @Test func manyStores() throws {
        let fixture = try Fixture()
        let names = (10..<50).map { "copy\($0)" }
        let bundle = try fixture.walBundle(log: StoryTests.log, copies: names)
        let text = run("show", bundle).output
        #expect(text.ranges(of: "\nStore ").count == 3)
        #expect(text.contains("\nOther stores (described with --all)\n  copy"), "\(text)")
        #expect(text.contains("\n  and 31 more stores (all with --all)\n"), "\(text)")
        let all = run("show", bundle, "--all").output
        #expect(all.ranges(of: "\nStore ").count == 41 && !all.contains("--all"))
        // The statements of all stores.
        #expect(
            run("show", bundle, "--statements").output.ranges(of: "\nLast statements of ").count == 41)
    }

    @Test func longLists() throws {
        let fixture = try Fixture()
        let tables = (1...40).map { "{\"name\": \"t\($0)\", \"rows\": 1, \"exact\": true}" }
        let metadata = Metadata.store("s")
            .replacing(
                "\"bytes\": {}", with: "\"bytes\": {}, \"tables\": [\(tables.joined(separator: ","))]"
            )
            .replacing(
                "\"warnings\": []",
                with: "\"warnings\": [\((1...30).map { "\"Warning \($0).\"" }.joined(separator: ","))]"
            ).replacing(
                "\"attachments\": []",
                with: "\"attachments\": ["
                    + (1...30).map { "{\"name\": \"a\($0)\", \"bytes\": 1}" }.joined(separator: ",")
                    + "]"
            ).replacing(
                "\"failures\": [",
                with: "\"failures\": ["
                    + String(
                        repeating:
                            "{\"message\": \"e\", \"kind\": \"error\", \"at\": \"2026-11-21T07:08:09.120Z\"},",
                        count: 30))
        let bundle = try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/s.sqlite", try fixture.store("CREATE TABLE t(a)")),
            ])
        let text = run("show", bundle).output
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 70)
        for line in [
            "  and 28 more failures (all with --all)", "    and 31 more tables (all with --all)",
            "  and 16 more lines (all with --all)", "  and 24 more lines (all with --all)",
        ] {
            #expect(text.contains("\n" + line + "\n"), "\(line)\n\(text)")
        }
        let all = run("show", bundle, "--all").output
        #expect(!all.contains("--all") && all.contains("Warning 30.") && all.contains("  a30 "))
        #expect(all.contains("    t40  1 row\n") && all.ranges(of: "    e\n").count == 30)
    }

    /// A store that an earlier test opened has that test's statements, too.
    @Test func statementsFromBeforeTheTest() throws {
        let fixture = try Fixture()
        let earlier = Dictionary(uniqueKeysWithValues: (0..<11).map { ($0, "\"phase\":\"earlier\"") })
        let bundle = try fixture.walBundle(log: StoryTests.log, facts: earlier)
        let text = run("show", bundle).output
        #expect(
            text.contains(
                """
                Last statements, 5 of 8 (all with --statements)
                  07:08:09.112  INSERT INTO account VALUES (9, 9, 9)  (1 row)
                  07:08:09.113  ROLLBACK
                  07:08:09.115  DELETE FROM account WHERE id > 1  (2 rows)
                  07:08:09.116  DROP TABLE entry
                  07:08:09.118  SELECT count(*) FROM account
                11 earlier statements, from before the test (shown with --all)

                """), "\(text)")
        let own = run("show", bundle, "--statements").output
        #expect(own.contains("\nLast statements\n  07:08:09.111  BEGIN\n"), "\(own)")
        #expect(!own.contains("CREATE TABLE entry(") && own.contains("11 earlier statements"))
        let all = run("show", bundle, "--all").output
        #expect(
            all.contains("\n\nStatements before the test\n  07:08:09.100  PRAGMA journal_mode = wal\n"))
        #expect(all.contains("\n  07:08:09.110  COMMIT\n\nLast statements\n  07:08:09.111  BEGIN\n"))
        #expect(!all.contains("earlier statements"))
        #expect(run("show", bundle, "--json").output.ranges(of: "\"phase\" : \"earlier\"").count >= 11)
        let none = try fixture.walBundle(
            log: [("SELECT 1", 0)], facts: [0: "\"phase\":\"earlier\""], passed: true)
        #expect(
            run("show", none).output.contains(
                "\n\n1 earlier statement, from before the test (shown with --all)\n\n"))
    }

    @Test func allFindingsAreInTheJSON() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(log: StoryTests.log, copies: ["b", "c", "d", "e"])
        let text = run("explain", bundle).output
        #expect(text.ranges(of: "\n5. ").count == 1 && !text.contains("\n6. "), "\(text)")
        #expect(text.contains(" further findings (all with --all)"))
        let all = run("explain", bundle, "--all").output
        let count = all.ranges(of: #/\n\d+\. /#).count
        #expect(count > 5 && !all.contains("--all"))
        let json = run("explain", bundle, "--json").output
        #expect(json.ranges(of: "\"confidence\" : ").count == count)
    }
}
