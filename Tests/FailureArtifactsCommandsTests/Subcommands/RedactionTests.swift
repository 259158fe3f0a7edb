import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// Tests of `--redactions`.
@Suite struct RedactionTests {
    private static let secret = "S3CRET-token-value"
    private static let metadata = Metadata.store("ledger").replacing(
        "\"attachments\": []",
        with: """
            "snapshots": [{"label": "before", "at": "2026-11-21T07:08:10.000Z", "stores": [
            {"name": "ledger", "entry": "snapshots/before/ledger.sqlite", "storage": "memory",
            "capture": {"method": "serialize", "consistent": true, "duration": 0, "checkpoint": "none"},
            "rawEntries": ["snapshots/before/raw/ledger.sqlite"],
            "history": {"entry": "snapshots/before/history/ledger.wal-history", "transactions": 1, "bytes": 2},
            "statements": {"entry": "statements/ledger.jsonl", "count": 1},
            "bytes": {}, "tables": [{"name": "users", "rows": 2, "exact": true}]}]}],
            "attachments": [{"name": "a.log", "entry": "attachments/a.log", "bytes": 18},
            {"name": "kept.txt", "entry": "attachments/kept.txt", "bytes": 4}]
            """)
    private static let rules = """
        {"columns": [{"table": "users", "column": "token", "method": "hash"}], "attachments": ["*.log"],
        "salt": "pepper"}
        """

    private func makeBundle(_ fixture: borrowing Fixture) throws -> String {
        let sql = "CREATE TABLE users(id, token); INSERT INTO users VALUES (1, '\(Self.secret)')"
        let statement = """
            {"at":"2026-11-21T07:08:10.000Z","connection":1,"error":{"code":1,"message":"\(Self.secret)"},\
            "fullScanSteps":2,"order":1,"phase":"test","queryPlan":["SCAN \(Self.secret)"],"sorts":3,\
            "source":{"file":"Sources/A.swift","function":"A.insert(_:)","line":4},"sql":"INSERT INTO users VALUES (1, '\(Self.secret)')","thread":"1"}

            """
        let secret = Array(Self.secret.utf8)
        return try fixture.zip(
            "PlainTests.testStore-1a2b3c4d.zip",
            [
                ("metadata.json", Array(Self.metadata.utf8)),
                ("stores/ledger.sqlite", try fixture.store(sql)),
                ("snapshots/before/ledger.sqlite", try fixture.store(sql + "; DELETE FROM users")),
                ("snapshots/before/raw/ledger.sqlite", secret),
                ("snapshots/before/history/ledger.wal-history", secret),
                ("statements/ledger.jsonl", Array(statement.utf8)), ("attachments/a.log", secret),
                ("attachments/kept.txt", Array("kept".utf8)), ("unnamed", secret),
            ])
    }

    @Test func extractLeavesOutWhatMustNotBeThere() throws {
        let fixture = try Fixture()
        let bundle = try makeBundle(fixture)
        let rules = try fixture.write(Array(Self.rules.utf8), to: "rules.json")
        let outcome = run("extract", bundle, "-o", fixture.path("out"), "--redactions", rules)
        #expect(outcome.status == 0, "\(outcome.error)")
        let out = fixture.path("out") + "/"
        let files = outcome.output.split(separator: "\n").map { $0.replacing(out, with: "") }
        #expect(
            files == [
                "metadata.json", "stores/ledger.sqlite", "snapshots/before/ledger.sqlite",
                "statements/ledger.jsonl", "attachments/kept.txt",
            ])
        let found = try Program.run("/usr/bin/env", ["grep", "-rl", Self.secret, out])
        #expect(found == Outcome(status: 1, output: "", error: ""))
        for said in [
            "raw copies of 'ledger' were left out", "history of 'ledger' was left out",
            "attachment 'a.log' was left out",
        ] {
            #expect(outcome.error.contains(said))
        }
        // Source lines are code, not data.
        let lines = try FileSystem.contents(ofFile: out + "statements/ledger.jsonl")
        let record = try #require(StatementRecord.records(in: lines)?.first)
        #expect(record.sql == "INSERT INTO users VALUES (?, ?)")
        #expect(record.source == .init(file: "Sources/A.swift", function: "A.insert(_:)", line: 4))
        #expect(record.fullScanSteps == 2 && record.sorts == 3 && record.queryPlan == nil)
        let row = try Program.run(
            "/usr/bin/env",
            ["sqlite3", out + "stores/ledger.sqlite", "SELECT id, length(token) FROM users"])
        #expect(row.output == "1|32\n")
        let json = try FileSystem.contents(ofFile: out + "metadata.json")
        let metadata = try BundleMetadata(json: json, of: out)
        #expect(metadata.stores[0].redactions == ["users.token: hashed"])
        let snapshot = try #require(metadata.snapshots?[0].stores[0])
        #expect(snapshot.history?.entry == nil && snapshot.rawEntries == nil)
        #expect(metadata.stores[0].tables == nil && snapshot.tables == nil)
        #expect(metadata.attachments.map(\.entry) == [nil, "attachments/kept.txt"])
    }

    @Test func aFixtureIsRedacted() throws {
        let fixture = try Fixture()
        let bundle = try makeBundle(fixture)
        let rules = try fixture.write(Array(Self.rules.utf8), to: "rules.json")
        let out = fixture.path("out")
        let outcome = run("extract", bundle, "-o", out, "--fixture", "--redactions", rules)
        #expect(outcome.status == 0, "\(outcome.error)")
        let found = try Program.run("/usr/bin/env", ["grep", "-rl", Self.secret, out])
        #expect(found.status == 1)
    }

    @Test func aStoreThatCannotBeRedactedIsNotWritten() throws {
        let fixture = try Fixture()
        let bundle = try fixture.zip(
            "a.zip",
            [
                ("metadata.json", Array(Metadata.store("a").utf8)),
                ("stores/a.sqlite", Array("no store".utf8)),
            ])
        let rules = try fixture.write(Array(Self.rules.utf8), to: "rules.json")
        let outcome = run("extract", bundle, "-o", fixture.path("out"), "--redactions", rules)
        #expect(outcome.status == 0)
        #expect(outcome.error.contains("The store 'a' was left out. It could not be redacted."))
        #expect(!FileManager.default.fileExists(atPath: fixture.path("out/stores/a.sqlite")))
        let one = run("extract", bundle, "-o", fixture.path("one"), "--fixture", "--redactions", rules)
        #expect(one.status == 65)
    }

    /// The command ends before it runs or writes anything.
    @Test(arguments: [("missing.json", 66), ("bad.json", 65)])
    func rulesThatCannotBeReadEndEveryCommand(_ name: String, _ status: Int32) throws {
        let fixture = try Fixture()
        try fixture.write(Array("{\"table\": []}".utf8), to: "bad.json")
        try FileSystem.createDirectory(fixture.path("artifacts"))
        let rules = fixture.path(name)
        let witness = fixture.path("witness")
        for arguments in [
            ["run", "--redactions", rules, "--", "touch", witness],
            ["sweep", "--redactions", rules, fixture.path("artifacts")],
            ["extract", "--redactions", rules, fixture.path("no such bundle.zip")],
        ] {
            let outcome = try Program.tool(arguments, directory: fixture.directory)
            #expect(outcome.status == status)
            #expect(
                outcome.error
                    == (status == 66
                        ? "error: The redactions in '\(rules)' cannot be read: No such file or directory.\n"
                        : "error: '\(rules)' is not a file of redactions. It must be a JSON object with no other "
                            + "keys than \"tables\", \"columns\", \"attachments\", \"homePaths\", \"content\" and "
                            + "\"salt\", with values as the documentation describes them.\n"))
        }
        for arguments in [["run", "--", "touch", witness], ["sweep", fixture.path("artifacts")]] {
            let outcome = try Program.tool(
                arguments, environment: ["FAILURE_ARTIFACTS_REDACTIONS": name],
                directory: fixture.directory)
            #expect(outcome.status == status)
        }
        #expect(!FileManager.default.fileExists(atPath: witness))
    }

    @Test func theCommandOfARunGetsTheFilesAbsolutePath() throws {
        let fixture = try Fixture()
        try fixture.write(Array(Self.rules.utf8), to: "rules.json")
        let outcome = try Program.tool(
            "run", "--redactions", "rules.json", "--", "sh", "-c", "echo $FAILURE_ARTIFACTS_REDACTIONS",
            directory: fixture.directory)
        #expect(outcome.output == fixture.path("rules.json") + "\n")
    }
}

extension RedactionTests {
    /// Redacted values may violate a `CHECK` constraint.
    ///
    /// (SQLite 3.40 skips all `CHECK` constraints if a store is opened read-only.)
    @Test func aRedactedStoreIsVerifiedAndShown() throws {
        let fixture = try Fixture()
        let store = try fixture.store(
            "CREATE TABLE t(a CHECK (a > 5)); PRAGMA ignore_check_constraints = 1; INSERT INTO t VALUES (0)"
        )
        let metadata = Metadata.store("a").replacing(
            "\"storage\"", with: "\"redactions\": [\"t.a: masked\"], \"storage\"")
        let bundle = try fixture.zip(
            "a-1a2b3c4d.zip", [("metadata.json", Array(metadata.utf8)), ("stores/a.sqlite", store)])
        #expect(run("verify", bundle).status == 0)
        #expect(run("show", bundle).output.contains("redacted: t.a: masked"))
    }
}
