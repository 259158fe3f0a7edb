import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsCommands

/// The reasons that the commands state for a history or statements that a bundle doesn't have.
@Suite struct MissingHistoryTests {
    private static let tables =
        "CREATE TABLE account(id INTEGER PRIMARY KEY, name, balance); INSERT INTO account VALUES (1, 'a', 5), (2, 'b', 6)"

    /// Writes a bundle with a store that has no history.
    ///
    /// `facts` is more metadata of the store, as JSON. `log` has statements with the numbers of rows that they changed.
    /// `open` has the statements of an open transaction; without `hasCommitted`, the committed state is unknown.
    private func bundle(
        in fixture: borrowing Fixture, facts: String, log: [(String, Int)] = [], open: String? = nil,
        hasCommitted: Bool = true
    ) throws -> String {
        var metadata = Metadata.store("shop").replacing("\"storage\": \"memory\",", with: facts + ",")
        metadata.replace(
            "\"bytes\": {}", with: facts.contains("\"bytes\"") ? "\"x\": 1" : "\"bytes\": {}")
        let copy = try fixture.store(Self.tables + (open.map { "; " + $0 } ?? ""))
        var entries = [("stores/shop.sqlite", copy)]
        if open != nil, hasCommitted {
            metadata.replace("\"x\": 1", with: "\"committedEntry\": \"stores/shop.committed.sqlite\"")
            entries.append(("stores/shop.committed.sqlite", try fixture.store(Self.tables)))
        }
        if !log.isEmpty {
            metadata.replace(
                "\"storage\":",
                with:
                    "\"statements\": {\"entry\": \"statements/shop.jsonl\", \"count\": 1}, \"storage\":")
            let lines = log.enumerated().map { index, statement in
                StatementRecord(
                    at: "2026-11-21T07:08:09.100Z", changes: statement.1, connection: 1,
                    order: UInt64(index + 1), phase: .test, sql: statement.0, thread: "7f")
            }
            entries.append(("statements/shop.jsonl", StatementRecord.lines(of: lines)))
        }
        return try fixture.zip("a.zip", [("metadata.json", Array(metadata.utf8))] + entries)
    }

    @Test(arguments: [
        (#""storage": "memory""#, "No transaction was recorded."),
        (#""storage": "temporary""#, "No transaction was recorded."),
        (
            #""storage": "file", "journalMode": "delete""#,
            "No transaction was recorded since it was opened."
        ),
        (
            #""storage": "file", "journalMode": "wal", "bytes": {"original": 8192}"#,
            "It had no WAL at the failure, so its transactions were in the database already."
        ),
        (
            #""storage": "file", "journalMode": "wal", "bytes": {"wal": 4152}, "history": {"transactions": 0, "bytes": 0}"#,
            "Its WAL had no transaction at the failure: a checkpoint had moved them"
        ),
        (
            #""storage": "file", "journalMode": "wal", "bytes": {"wal": 4152}, "history": {"transactions": 0, "bytes": 0, "reason": "It was too large."}"#,
            "It was too large."
        ),
    ])
    func theReasonIsStated(_ facts: String, _ reason: String) throws {
        let fixture = try Fixture()
        let bundle = try bundle(in: fixture, facts: facts)
        for (words, isError) in [
            (["blame", bundle, "account", "1"], false), (["history", bundle], true),
            (["bisect", bundle, "SELECT 1"], true), (["show", bundle], false),
        ] {
            let outcome = run(words)
            let text = (isError ? outcome.error : outcome.output).split(whereSeparator: \.isWhitespace)
            #expect(text.joined(separator: " ").contains(reason), "\(outcome)")
        }
    }

    @Test func anUnknownReasonIsNotGuessed() throws {
        let fixture = try Fixture()
        let bundle = try bundle(
            in: fixture, facts: #""storage": "file", "journalMode": "wal", "bytes": {"wal": 4152}"#)
        #expect(
            run("history", bundle).error.hasSuffix("so that only its last state can be looked at.\n"))
        #expect(!run("show", bundle).output.contains("no history"))
    }

    private static let file = #""storage": "file", "journalMode": "delete", "bytes": {"copy": 8192}"#
    private static let log = [
        ("UPDATE account SET balance = 6 WHERE id = 2", 1), ("BEGIN", 0),
        ("UPDATE account SET balance = 9 WHERE id = 1", 1), ("SELECT * FROM account", 0),
    ]

    @Test func theOpenTransactionIsShownWithoutAHistory() throws {
        let fixture = try Fixture()
        let bundle = try bundle(
            in: fixture, facts: Self.file + #", "transactionOpen": true"#, log: Self.log,
            open: "UPDATE account SET balance = 9 WHERE id = 1")
        let output = run("blame", bundle, "account", "1").output
        #expect(
            output.hasSuffix(
                """
                uncommitted transaction  id = 1 updated: balance 5 → 9
                     UPDATE account SET balance = 9 WHERE id = 1  (1 row)
                at the failure: id = 1: name 'a', balance 9
                Statements that wrote to account, perhaps to other rows:
                     UPDATE account SET balance = 6 WHERE id = 2  (1 row)

                """), "\(output)")
        // It changed another row.
        let other = run("blame", bundle, "account", "2").output
        #expect(!other.contains("uncommitted"))
        #expect(other.contains("balance = 9 WHERE id = 1") && other.contains("balance = 6 WHERE id = 2"))
    }

    @Test func withoutTheCommittedCopyTheRowsAreUnknown() throws {
        let fixture = try Fixture()
        let bundle = try bundle(
            in: fixture, facts: Self.file + #", "transactionOpen": true"#, log: Self.log,
            open: "UPDATE account SET balance = 9 WHERE id = 1", hasCommitted: false)
        let output = run("blame", bundle, "account", "1").output
        #expect(
            output.contains(
                """
                uncommitted transaction  wrote to account, perhaps to other rows
                     UPDATE account SET balance = 9 WHERE id = 1  (1 row)

                """), "\(output)")
    }

    /// The log may lack the `COMMIT` if the application has set a trace of its own.
    @Test(arguments: [nil, #""reason": "The application has set a trace of its own.""#])
    func aTransactionWhoseEndIsNotLoggedIsNotCalledUncommitted(reason: String?) throws {
        let fixture = try Fixture()
        let bundle = try fixture.bundleWithoutHistory(
            Fixture.base, log: Self.log.map { ($0.0, $0.1) }, statements: reason, message: "m")
        let output = run("blame", bundle, "account", "1").output
        #expect(output.contains("uncommitted transaction") == (reason == nil), "\(output)")
        #expect(output.contains("balance = 9 WHERE id = 1"))
    }

    /// Removes or adds text in a bundle's metadata.
    private func edited(_ bundle: String, _ old: String, _ new: String) throws {
        let program = """
            import sys, zipfile
            path, old, new = sys.argv[1:]
            with zipfile.ZipFile(path) as archive:
                entries = [(name, archive.read(name)) for name in archive.namelist()]
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in entries:
                    if name == "metadata.json":
                        assert old.encode() in content
                        content = content.replace(old.encode(), new.encode())
                    archive.writestr(name, content)
            """
        let edited = try Program.run("/usr/bin/env", ["python3", "-c", program, bundle, old, new])
        try #require(edited.status == 0, "\(edited.error)")
    }

    @Test(arguments: [true, false])
    func olderStatementsAreMentionedWhereOneIsMissing(_ isMissing: Bool) throws {
        let fixture = try Fixture()
        let insert = "INSERT INTO account VALUES (3, 'c', 30)"
        let update = "UPDATE account SET balance = 2 WHERE id = 2"
        let log: [(sql: String, changes: Int?)] = [insert, update].flatMap {
            [("BEGIN", nil), ($0, 1), ("COMMIT", nil)]
        }
        let bundle = try fixture.walBundle(
            [insert, update], log: isMissing ? Array(log.suffix(3)) : log)
        let note =
            "Older statements aren't in the log: it has the last 3 (FAILURE_ARTIFACTS_STATEMENTS)."
        #expect(!run("blame", bundle, "account", "3").output.contains("Older"))
        try edited(bundle, "\"count\": 1", "\"count\": 3, \"limit\": 3")
        let output = run("blame", bundle, "account", "3").output
        #expect(output.contains("\n  \(note)\nat the failure") == isMissing)
        #expect(output.contains("     INSERT") != isMissing)
        #expect(run("history", bundle).output.hasSuffix("\n\(note)\n") == isMissing)
        #expect(run("blame", bundle, "account", "3", "--json").output.contains("\"log\" : \"Older"))
    }

    @Test func olderStatementsAreMentionedForAFindingWithoutOne() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(
            ["UPDATE account SET balance = 77 WHERE id = 1", "INSERT INTO account VALUES (3, 'c', 30)"],
            log: [
                ("BEGIN", nil), ("INSERT INTO account VALUES (3, 'c', 30)", 1), ("COMMIT", nil),
                ("SELECT balance FROM account WHERE id = 1", 0),
            ], message: "XCTAssertEqual failed: (\"77\") is not equal to (\"10\")")
        #expect(run("explain", bundle).error == "")
        try edited(bundle, "\"count\": 1", "\"count\": 4, \"limit\": 4")
        let outcome = run("explain", bundle)
        #expect(outcome.output.contains("transaction 1"))
        #expect(
            outcome.error
                == "warning: Store 'ledger': Older statements aren't in the log: it has the last 4 (FAILURE_ARTIFACTS_STATEMENTS).\n"
        )
    }

    /// Without the statements of a run, its store is compared, and the finding says why.
    @Test(arguments: [true, false]) func theRunWithoutStatementsIsNamed(_ isPassing: Bool) throws {
        let fixture = try Fixture()
        let right = "UPDATE account SET balance = 11 WHERE id = 1"
        let wrong = "UPDATE account SET balance = 12 WHERE id = 1"
        let passing = try fixture.walBundle([right], log: isPassing ? nil : [(right, 1)], passed: true)
        let failed = try fixture.walBundle([wrong], log: isPassing ? [(wrong, 1)] : nil)
        let output = run("explain", failed, "--against", passing).output.split(
            whereSeparator: \.isWhitespace)
        #expect(
            output.joined(separator: " ").contains(
                "1 row differs from the passing run possible, difference-from-pass Before is the passing run, after the "
                    + "failed one. The statements of the \(isPassing ? "passing" : "failed") run on the store aren't known. "
                    + "Transaction 1 of the failed run changed one of the rows last. account id = 1 updated: balance 11 → 12"
            ), "\(output.joined(separator: " "))")
    }
}
