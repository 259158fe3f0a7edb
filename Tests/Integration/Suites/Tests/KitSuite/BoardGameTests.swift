import FailureArtifactsTestKit
import GRDB
import XCTest

enum BoardGames {
    /// The versions of an app's store: the first as a resource, the second as a script, the third as a closure.
    static let versions: [StoreVersion<SQLiteTestStore>] = [
        StoreVersion("App V1", .resource("board-games-v1", withExtension: "sql", in: .module)),
        StoreVersion(
            "App V2",
            .script(
                """
                ALTER TABLE game ADD COLUMN minimumPlayers INTEGER;
                ALTER TABLE game ADD COLUMN maximumPlayers INTEGER;
                UPDATE game SET minimumPlayers = CAST(players AS INTEGER),
                    maximumPlayers = CAST(substr(players, instr(players, '-') + 1) AS INTEGER);
                ALTER TABLE game DROP COLUMN players;
                """)),
        StoreVersion(
            "App V3",
            .prepared { store in
                try store.execute(
                    "CREATE TABLE rating (gameID INTEGER NOT NULL REFERENCES game, stars INTEGER)")
                for row in try store.rows("SELECT id FROM game ORDER BY id") {
                    try store.rows("INSERT INTO rating VALUES (?, ?)", row[0], 3)
                }
            }),
    ]

    /// The same migrations by GRDB.
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "game") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
            }
        }
        migrator.registerMigration("v2") { db in
            try db.alter(table: "game") { $0.add(column: "rating", .integer) }
        }
        return migrator
    }()

    static let versionsOfGRDB: [StoreVersion<GRDBStore>] = [
        StoreVersion("App V1", .prepared { try migrator.migrate($0.queue, upTo: "v1") }),
        StoreVersion("App V2", .prepared { try migrator.migrate($0.queue, upTo: "v2") }),
    ]

    static func fill(_ store: SQLiteTestStore) throws {
        try store.execute(
            """
            INSERT INTO publisher (name) VALUES ('Kosmos');
            INSERT INTO game (title, players, publisherID) VALUES ('Catan', '3-4', 1), ('Go', '2-2', NULL);
            """)
    }
}

final class BoardGameTests: XCTestCase {
    func testV2KnowsHowManyMayPlay() throws {
        try withMigrations(of: BoardGames.versions) { stores in
            let old = try stores.start(at: "App V1")
            try BoardGames.fill(old)
            let new = try stores.migrate(to: "App V2")
            XCTAssertEqual(
                try new.rows("SELECT title, minimumPlayers, maximumPlayers FROM game ORDER BY id"),
                [["Catan", 3, 4], ["Go", 2, 2]])
            // The old store is unchanged.
            XCTAssertEqual(try old.rows("SELECT players FROM game ORDER BY id"), [["3-4"], ["2-2"]])

            let difference = try stores.difference()
            XCTAssertEqual(
                difference.columns,
                ["game": .init(added: ["minimumPlayers", "maximumPlayers"], removed: ["players"])])
            XCTAssertEqual(difference.rows, [:], "\(difference)")
            XCTAssertEqual(difference.addedTables, [])
        }
    }

    func testFromV1ToV3() throws {
        try withMigrations(of: BoardGames.versions) { stores in
            try BoardGames.fill(stores.start(at: "App V1"))
            let new = try stores.migrate(to: "App V3")
            XCTAssertEqual(try new.value("SELECT sum(stars) FROM rating"), 6)
            XCTAssertEqual(try stores.store(at: "App V2").value("SELECT count(*) FROM game"), 2)
            let last = try stores.difference(from: "App V2", to: "App V3")
            XCTAssertEqual(last.addedTables, ["rating"])
            XCTAssertEqual(last.rows, ["rating": .init(inserted: 2)])
            XCTAssertEqual(last.columns, [:])
            XCTAssertEqual("\(last)", "table rating added\nrating: 2 rows inserted")
        }
    }

    func testEveryVersionCanBeTheFirst() throws {
        try withMigrations(of: BoardGames.versions) { stores in
            try stores.start(at: "App V2").execute(
                "INSERT INTO game (title, minimumPlayers) VALUES ('Shogi', 2)")
            XCTAssertEqual(try stores.migrate(to: "App V3").value("SELECT count(*) FROM rating"), 1)
        }
    }

    func testMigratorOfGRDB() throws {
        try withMigrations(of: BoardGames.versionsOfGRDB) { stores in
            let old = try stores.start(at: "App V1")
            try old.queue.write { try $0.execute(sql: "INSERT INTO game (title) VALUES ('Go')") }
            let new = try stores.migrate(to: "App V2")
            XCTAssertNil(try new.queue.read { try Int.fetchOne($0, sql: "SELECT rating FROM game") })
            let difference = try stores.difference()
            XCTAssertEqual(difference.columns, ["game": .init(added: ["rating"])])
            XCTAssertEqual(difference.rows, ["grdb_migrations": .init(inserted: 1)])
        }
    }

    func testTwoVersionsOfOneNameAreAnError() {
        let versions = [StoreVersion<SQLiteTestStore>("App V1", .empty), StoreVersion("App V1", .empty)]
        XCTAssertThrowsError(try withMigrations(of: versions) { _ in }) { error in
            XCTAssertEqual(
                "\(error)",
                "Two versions are called 'App V1'. Give each version of the chain its own name.")
        }
    }

    func testWrongOrderIsAnError() throws {
        try withMigrations(of: BoardGames.versions) { stores in
            func message(_ body: () throws -> Void) -> String {
                do {
                    try body()
                    return "no error"
                } catch {
                    return "\(error)"
                }
            }
            XCTAssertEqual(
                message { try stores.migrate(to: "App V2") },
                "There is no store to migrate to 'App V2': call 'start(at:)' first.")
            XCTAssertEqual(
                message { try stores.start(at: "App V9") },
                "There is no version 'App V9' among 'App V1', 'App V2', 'App V3'.")
            try stores.start(at: "App V2")
            XCTAssertEqual(
                message { try stores.start(at: "App V1") },
                "There is a store at 'App V2' already: call 'start(at:)' only once.")
            XCTAssertEqual(
                message { try stores.migrate(to: "App V2") },
                "'App V2' does not come after 'App V2', the last version.")
            XCTAssertEqual(
                message { try stores.migrate(to: "App V1") },
                "'App V1' does not come after 'App V2', the last version.")
            XCTAssertEqual(
                message { _ = try stores.difference(to: "App V3") },
                "There is no store at 'App V3': call 'start(at:)' or 'migrate(to:)' with it first.")
        }
    }
}
