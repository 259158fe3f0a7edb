import FailureArtifactsTestFixtures
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
}
