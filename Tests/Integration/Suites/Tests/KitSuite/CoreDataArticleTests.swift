import FailureArtifactsTestKit
import XCTest

final class StationImportTests: StoreTestCase<StationStore> {
    override var content: StoreContent<StationStore> {
        .script("CREATE TABLE station (name TEXT PRIMARY KEY)")
            .then { try $0.importStations(["Kanda", "Ueno"]) }
    }
    override var stopsAtFirstFailure: Bool { true }

    func testImportReplacesTheStations() throws {
        try store.importStations(["Tokyo", "Ueno"])
        XCTAssertEqual(try store.stationNames(), ["Tokyo", "Ueno"])
    }

    func testImportOfNothingRemovesAllStations() throws {
        try store.importStations([])
        XCTAssertEqual(try store.stationNames(), [])
    }
}

final class GameMigrationTests: XCTestCase {
    private let games: [StoreVersion<SQLiteTestStore>] = [
        StoreVersion("App V1", .script("CREATE TABLE game (title TEXT NOT NULL)")),
        StoreVersion("App V2", .script("ALTER TABLE game ADD COLUMN isAvailable INTEGER")),
    ]

    func testV2AddsTheAvailability() throws {
        try withMigrations(of: games) { stores in
            try stores.start(at: "App V1")
            try stores.migrate(to: "App V2")
            XCTAssertEqual(try stores.difference().columns, ["game": .init(added: ["isAvailable"])])
        }
    }

    func testV2KeepsTheGames() throws {
        try withMigrations(of: games) { stores in
            let old = try stores.start(at: "App V1")
            try old.execute("INSERT INTO game VALUES ('Go'), ('Shogi')")

            let new = try stores.migrate(to: "App V2")
            XCTAssertEqual(try new.rows("SELECT title FROM game"), [["Go"], ["Shogi"]])
            XCTAssertNoThrow(try new.execute("UPDATE game SET isAvailable = 1"))
        }
    }
}

final class OrderTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> { .script("CREATE TABLE 'order' (total)") }
    override var placement: StorePlacement { .inMemory }

    func testStoreIsOpenAndEmpty() throws {
        XCTAssertEqual(store.location, .memory(name: "store"))
        XCTAssertEqual(try store.value("SELECT count(*) FROM 'order'"), 0)
    }
}

let sharedFruits = SharedStore<SQLiteTestStore>(
    .script("CREATE TABLE fruit (name TEXT, price INTEGER)"), named: "fruits", placement: .atDevNull)

class FruitTestCase: SharedStoreTestCase<SQLiteTestStore> {
    override class var sharedStore: SharedStore<SQLiteTestStore> { sharedFruits }

    override func setUp() { FruitManager.shared.inject(store) }
}

final class FruitManagerTests: FruitTestCase {
    override func tearDownWithError() throws { try store.deleteAllRows() }

    func test_果物を追加できる() throws {
        try FruitManager.shared.create("りんご", price: 300)
        XCTAssertEqual(try FruitManager.shared.price(of: "りんご"), 300)
    }

    func test_果物を更新できる() throws {
        try FruitManager.shared.create("りんご", price: 300)
        try FruitManager.shared.update("りんご", price: 500)
        XCTAssertEqual(try FruitManager.shared.price(of: "りんご"), 500)
    }

    func test_果物を削除できる() throws {
        try FruitManager.shared.create("りんご", price: 300)
        try FruitManager.shared.delete("りんご")
        XCTAssertNil(try FruitManager.shared.price(of: "りんご"))
    }
}

final class ForgetfulTests: FruitTestCase {
    func test_果物を追加できる() throws { try FruitManager.shared.create("りんご", price: 300) }
}

final class DepartureTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> {
        .script("PRAGMA journal_mode = WAL; CREATE TABLE departure (train TEXT, delay INTEGER)")
    }
    override var storeName: String { "departures" }

    func testDelay() throws {
        try store.execute("INSERT INTO departure VALUES ('Hikari 505', 7)")
        XCTAssertEqual(try store.value("SELECT delay FROM departure"), 5)
    }
}
