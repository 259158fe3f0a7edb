import FailureArtifactsTestKit
import Testing

@Suite struct StoreMigrationsTests {
    private let versions: [StoreVersion<SQLiteTestStore>] = [
        StoreVersion("V1", .script("CREATE TABLE game (id INTEGER PRIMARY KEY, players TEXT)")),
        StoreVersion(
            "V2",
            .script(
                """
                ALTER TABLE game ADD COLUMN minimum INTEGER;
                UPDATE game SET minimum = CAST(players AS INTEGER);
                ALTER TABLE game DROP COLUMN players;
                """)),
        StoreVersion(
            "V3",
            .prepared { store in
                try store.execute("CREATE TABLE rating (game REFERENCES game, stars INTEGER)")
                for row in try store.rows("SELECT id FROM game") {
                    try store.rows("INSERT INTO rating VALUES (?, 3)", row[0])
                }
            }),
    ]

    @Test(arguments: StorePlacement.allCases) func migrationWorksOnACopy(
        _ placement: StorePlacement
    ) throws {
        try withMigrations(of: versions, placement: placement) { stores in
            let old = try stores.start(at: "V1")
            try old.execute("INSERT INTO game (players) VALUES ('3-4'), ('2')")
            let new = try stores.migrate(to: "V2")
            #expect(try new.rows("SELECT minimum FROM game") == [[3], [2]])
            #expect(try old.rows("SELECT players FROM game") == [["3-4"], ["2"]])
            let difference = try stores.difference()
            #expect(difference.columns == ["game": .init(added: ["minimum"], removed: ["players"])])
            #expect(difference.rows.isEmpty)
        }
    }

    @Test func eachVersionOnTheWayHasAStore() async throws {
        try await withMigrations(of: versions) { stores in
            try stores.start(at: "V1").execute("INSERT INTO game (players) VALUES ('3-4'), ('2')")
            await Task.yield()
            try stores.migrate(to: "V3")
            #expect(try stores.store(at: "V2").value("SELECT count(*) FROM game") == 2)
            let last = try stores.difference(from: "V2", to: "V3")
            #expect(last.addedTables == ["rating"])
            #expect(last.rows == ["rating": .init(inserted: 2)])
            #expect("\(last)" == "table rating added\nrating: 2 rows inserted")
        }
    }

    @Test func migrationCanStartAtALaterVersion() throws {
        try withMigrations(of: versions) { stores in
            try stores.start(at: "V2").execute("INSERT INTO game (minimum) VALUES (2)")
            #expect(try stores.migrate(to: "V3").value("SELECT count(*) FROM rating") == 1)
        }
    }

    @Test func wrongOrderIsAnError() throws {
        try withMigrations(of: versions) { stores in
            expectError(.version, "There is no store to migrate to 'V2': call 'start(at:)' first.") {
                try stores.migrate(to: "V2")
            }
            expectError(.version, "There is no store to compare: call 'start(at:)' first.") {
                _ = try stores.difference()
            }
            expectError(.version, "There is no version 'V9' among 'V1', 'V2', 'V3'.") {
                try stores.start(at: "V9")
            }
            try stores.start(at: "V2")
            expectError(.version, "There is a store at 'V2' already: call 'start(at:)' only once.") {
                try stores.start(at: "V1")
            }
            for name in ["V1", "V2"] {
                expectError(.version, "'\(name)' does not come after 'V2', the last version.") {
                    try stores.migrate(to: name)
                }
            }
            expectError(.version, "There is no store at 'V3': call 'start(at:)' or 'migrate(to:)'") {
                _ = try stores.store(at: "V3")
            }
        }
    }

    @Test func versionsNeedDifferentNames() {
        let twins = [StoreVersion<SQLiteTestStore>("V1", .empty), StoreVersion("V1", .empty)]
        expectError(.version, "Two versions are called 'V1'.") {
            try withMigrations(of: twins) { _ in }
        }
    }

    @Test func failedMigrationNamesBothVersions() throws {
        let broken = [versions[0], StoreVersion("V2", .script("INSERT INTO gmae VALUES (1)"))]
        try withMigrations(of: broken) { stores in
            try stores.start(at: "V1")
            let error = expectError(.cannotStart, "The migration from 'V1' to 'V2' failed") {
                try stores.migrate(to: "V2")
            }
            #expect(error?.description.contains("no such table: gmae") == true)
        }
    }

    @Test func errorOfTheTestIsPassedOn() async {
        #expect(throws: Rotten.self) { try withMigrations(of: versions) { _ in throw Rotten() } }
        await #expect(throws: Rotten.self) {
            try await withMigrations(of: versions) { _ in
                await Task.yield()
                throw Rotten()
            }
        }
    }
}
