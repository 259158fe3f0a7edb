import FailureArtifactsSQLite
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

/// Invariants, checked in the copies of a bundle.
@Suite struct InvariantWarningTests {
    /// Checks invariants, by the names of their files, in two stores.
    private func warnings(
        _ invariants: [String: String], redactions: [String]? = nil, schema: String = ""
    ) throws -> [CaptureWarning] {
        let place = try Place()
        let room = try StagingReservation(
            in: place.directory, within: .init(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 10))
        defer { place.directory.discard(room.staging) }
        var metadata = place.metadata(["stores/ledger.sqlite", "stores/shop.sqlite"])
        for (entry, sql) in [
            (
                "stores/ledger.sqlite",
                "CREATE TABLE user (id, name); INSERT INTO user VALUES (1, 'Eve'), (2, 'Bob');"
            ),
            ("stores/shop.sqlite", "CREATE TABLE item (id)"),
        ] {
            try Connection(path: room.staging.path(ofEntry: entry), mode: .create)
                .execute(sql + (entry.contains("ledger") ? schema : ""))
        }
        metadata.stores[0].redactions = redactions
        _ = metadata.inspectCopies(in: room.staging)
        let files = try room.staging.path(ofEntry: "stores") + "/invariants"
        try FileSystem.createDirectory(files)
        for (name, sql) in invariants {
            try FileSystem.write(Array(sql.utf8), toNewFile: files + "/" + name)
        }
        let found = metadata.checkInvariants(inDirectory: files, in: room.staging)
        #expect(metadata.warnings == found)
        return found
    }

    @Test func brokenInvariantsAreNamedWithoutValues() throws {
        let found = try warnings([
            "a.sql": "-- There is no Eve\nSELECT name FROM user WHERE name = 'Eve'",
            "b.sql": "SELECT * FROM item",
        ])
        #expect(
            found == [
                CaptureWarning(
                    .invariantBroken,
                    "The invariant 'There is no Eve' (a.sql) is broken in the store 'ledger': its query returns 1 row.",
                    ["invariant": "a.sql", "title": "There is no Eve", "store": "ledger", "rows": 1])
            ])
    }

    @Test func aMissingDirectoryGivesAWarning() throws {
        let place = try Place()
        let room = try StagingReservation(
            in: place.directory, within: .init(storeBytes: 1 << 30, totalBytes: 1 << 30, bundles: 10))
        defer { place.directory.discard(room.staging) }
        var metadata = place.metadata([])
        let found = metadata.checkInvariants(inDirectory: "/nowhere", in: room.staging)
        #expect(found.count == 1 && found == metadata.warnings)
        #expect(found[0].is(.invariantNotChecked) && found[0].text.contains("'/nowhere'"))
        #expect(metadata.checkInvariants(inDirectory: nil, in: room.staging).isEmpty)
    }

    @Test func invariantsThatAreNotCheckedAreNamed() throws {
        let found = try warnings([
            "a.sql": "DELETE FROM user", "b.sql": "SELECT 1 FROM misspelled",
        ])
        #expect(
            found.map(\.text) == [
                "The invariant 'a' (a.sql) was not checked in the store 'ledger': it is not a SELECT.",
                "The invariant 'a' (a.sql) was not checked in the store 'shop': it is not a SELECT.",
                "The invariant 'b' (b.sql) applies to no store: no such table: misspelled.",
            ])
        #expect(found.allSatisfy { $0.is(.invariantNotChecked) })
    }

    /// A masked value breaks an invariant that the test's store fulfils.
    @Test func redactedTablesAreNotChecked() throws {
        let redactions = ["user.name: masked", RedactionRules.statementSummary]
        for sql in ["SELECT * FROM user", "SELECT * FROM \"User\"", "SELECT * FROM people"] {
            let found = try warnings(
                ["a.sql": sql], redactions: redactions,
                schema: "CREATE VIEW people AS SELECT * FROM user")
            #expect(
                found.map(\.text) == [
                    "The invariant 'a' (a.sql) was not checked in the store 'ledger': redactions changed a table "
                        + "that it names."
                ])
        }
        let others = try warnings(["a.sql": "SELECT 1 FROM item"], redactions: redactions)
        #expect(others.isEmpty)
        let untouched = try warnings(
            ["a.sql": "SELECT 1 FROM user"], redactions: [RedactionRules.statementSummary])
        #expect(untouched.map(\.code) == ["invariant-broken"])
    }

    @Test func allInvariantsTogetherHaveATimeLimit() throws {
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"
        let start = Instant.now
        let found = try warnings(
            Dictionary(uniqueKeysWithValues: (0..<20).map { ("\($0).sql", endless) }))
        #expect(Double(Instant.now.nanoseconds - start.nanoseconds) / 1e9 < 15)
        #expect(found.count == 40 && found.allSatisfy { $0.text.hasSuffix("it ran out of time.") })
    }
}
