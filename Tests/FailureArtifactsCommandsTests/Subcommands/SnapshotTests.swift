import FailureArtifactsAnalysis
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// Copies made at later failures of the same test.
@Suite struct SnapshotTests {
    private static let metadata = Metadata.store("ledger").replacing(
        "\"attachments\": []",
        with: """
            "snapshots": [{"label": "failure-2", "at": "2026-11-21T07:08:10.000Z", "stores": [
            {"name": "ledger", "entry": "snapshots/failure-2/ledger.sqlite", "storage": "memory",
            "capture": {"method": "serialize", "consistent": true, "duration": 0, "checkpoint": "none"},
            "bytes": {}, "tables": [{"name": "t", "rows": 2, "exact": true}]}]}], "attachments": []
            """)

    private func makeBundle(_ fixture: borrowing Fixture, isComplete: Bool) throws -> String {
        var entries = [
            ("metadata.json", Array(Self.metadata.utf8)),
            ("stores/ledger.sqlite", try fixture.store("CREATE TABLE t(a); INSERT INTO t VALUES (1)")),
        ]
        if isComplete {
            let store = try fixture.store("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
            entries.append(("snapshots/failure-2/ledger.sqlite", store))
        }
        return try fixture.zip("PlainTests.testStore-1a2b3c4d.zip", entries)
    }

    @Test func aSnapshotIsShownAndQueried() throws {
        let fixture = try Fixture()
        let path = try makeBundle(fixture, isComplete: true)
        let shown = run("show", path)
        #expect(shown.error.isEmpty)
        #expect(
            shown.output.contains(
                "Snapshots\n  failure-2/ledger, 2026-11-21 07:08:10.000 UTC: t (2 rows)\n"))
        #expect(run("query", path, "SELECT count(*) AS n FROM t").output == "n\r\n1\r\n")
        let later = run("query", path, "SELECT count(*) AS n FROM t", "--store", "failure-2/ledger")
        #expect(later.output == "n\r\n2\r\n")
        #expect(run("verify", path).status == 0)
    }

    @Test func aMissingSnapshotIsFound() throws {
        let fixture = try Fixture()
        let path = try makeBundle(fixture, isComplete: false)
        let outcome = run("verify", path)
        #expect(outcome.status == 1)
        #expect(outcome.output.contains("snapshots/failure-2/ledger.sqlite"))
    }

    // MARK: Snapshots that the test asked for

    private static func snapshot(_ label: String, at time: String) -> String {
        """
        {"label": "\(label)", "at": "2026-11-21T07:08:\(time)Z", "stores": [
        {"name": "ledger", "entry": "snapshots/\(label)/ledger.sqlite", "storage": "memory",
        "capture": {"method": "serialize", "consistent": true, "duration": 0, "checkpoint": "none"},
        "bytes": {}}]}
        """
    }

    private static let rows = """
        CREATE TABLE entry(id INTEGER PRIMARY KEY, cents INTEGER, note TEXT);
        CREATE TABLE link(id INTEGER PRIMARY KEY, entry INTEGER REFERENCES entry(id));
        INSERT INTO link VALUES (1, 1);

        """

    /// Writes a bundle whose store has as many rows at each snapshot as there are snapshots until then.
    ///
    /// Logged statements have times. The statements `start` ran before all snapshots, and `final` made the store's last
    /// changes. The last logged statement has `values`, a list as JSON.
    private func bundle(
        _ fixture: borrowing Fixture, labels: [(label: String, at: String)],
        log: [(sql: String, at: String)] = [], values: String? = nil, message: String = "m",
        start: String = "", final: String = "",
        committed: Bool = false, change: (String) -> String = { $0 }
    ) throws -> String {
        func insert(_ count: Int) -> String {
            Self.rows + start
                + (0..<count).map { "INSERT INTO entry VALUES (\($0 + 1), 1000, 'n'); " }.joined()
        }
        let lines = try log.enumerated().map { index, entry in
            """
            {"at": "2026-11-21T07:08:\(entry.at)Z", "order": \(index + 1), "connection": 1, "thread": "7f", \
            "phase": "test", "changes": 1, "sql": \(try JSONText.line(entry.sql)), \
            \(index == log.count - 1 ? values.map { "\"values\": \($0), " } ?? "" : "")\
            "source": {"file": "Sources/A.swift", "line": \(index + 1)}}

            """
        }
        var metadata = Metadata.store("ledger")
            .replacing("\"message\": \"m\"", with: "\"message\": \(try JSONText.line(message))")
            .replacing(
                "\"bytes\": {}",
                with:
                    "\"bytes\": {}, \"statements\": {\"entry\": \"statements/ledger.jsonl\", \"count\": \(log.count)}"
            )
            .replacing(
                "\"attachments\": []",
                with:
                    "\"snapshots\": [\(labels.map(Self.snapshot).joined(separator: ", "))], \"attachments\": []"
            )
        var entries = [
            ("stores/ledger.sqlite", try fixture.store(insert(labels.count) + final)),
            ("statements/ledger.jsonl", Array(lines.joined().utf8)),
        ]
        if committed {
            metadata = metadata.replacing(
                "\"entry\": \"stores/ledger.sqlite\"",
                with:
                    "\"entry\": \"stores/ledger.sqlite\", \"committedEntry\": \"stores/ledger.committed.sqlite\""
            )
            entries.append(("stores/ledger.committed.sqlite", try fixture.store(Self.rows)))
        }
        for (index, snapshot) in labels.enumerated() {
            entries.append(
                ("snapshots/\(snapshot.label)/ledger.sqlite", try fixture.store(insert(index + 1))))
        }
        return try fixture.zip(
            "T.t-1a2b3c4d.zip", [("metadata.json", Array(change(metadata).utf8))] + entries)
    }

    /// Returns the store of the earlier side, and the number of changed rows.
    private func compared(_ arguments: [String]) throws -> (store: String?, rows: Int) {
        let outcome = run(["diff", "--json"] + arguments)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any],
            "\(outcome.error)")
        let tables = try #require(object["tables"] as? [[String: Any]])
        return (
            (object["a"] as? [String: Any])?["store"] as? String,
            tables.reduce(0) { $0 + (($1["changes"] as? [Any])?.count ?? 0) }
        )
    }

    @Test func aDifferenceIsFromTheLastSnapshotBeforeTheFailure() throws {
        let fixture = try Fixture()
        let labels = [
            ("start", "01.000"), ("before", "02.000"), ("after", "03.000"), ("failure-2", "10.000"),
        ]
        let path = try bundle(fixture, labels: labels, final: "UPDATE entry SET cents = 1 WHERE id = 1;")
        #expect(try compared([path]) == ("after/ledger", 2))
        #expect(run("diff", path).error.contains("'after'"))
        // Options come first.
        #expect(
            try compared([path, "--store", "before/ledger", "--store", "ledger"]) == ("before/ledger", 3)
        )
        #expect(try compared([path, "--store", "ledger"]) == ("after/ledger", 2))
    }

    /// The capture of a bundle begins with its first snapshot.
    @Test func ofATestThatPassedTheLastSnapshotIsTaken() throws {
        let fixture = try Fixture()
        let labels = [("before", "09.123"), ("after", "30.000")]
        let path = try bundle(fixture, labels: labels, final: "DELETE FROM entry WHERE id = 1;") {
            $0.replacing("\"outcome\": \"failed\"", with: "\"outcome\": \"passed\"")
                .replacing(#/"failures": \[.*\],/#, with: "\"failures\": [],")
        }
        #expect(try compared([path]) == ("after/ledger", 1))
    }

    @Test func aSnapshotComesBeforeTheCommittedState() throws {
        let fixture = try Fixture()
        let path = try bundle(
            fixture, labels: [("start", "01.000"), ("mine", "02.000")],
            final: "INSERT INTO entry VALUES (9, 1, 'n');", committed: true)
        #expect(try compared([path]) == ("mine/ledger", 1))
        #expect(run("diff", path).error.contains("'mine'"))
    }
}
