import FailureArtifactsTestKit
import GRDB
import XCTest

struct Fruit: Codable, Equatable, FetchableRecord, PersistableRecord, Sendable {
    var name: String
    var price: Int
}

enum Fruits {
    /// The schema, as a migration of GRDB's.
    static let schema = StoreContent<GRDBStore>.prepared { store in
        try store.queue.write { db in
            try db.create(table: "fruit") { table in
                table.column("name", .text).primaryKey()
                table.column("price", .integer).notNull()
            }
        }
    }

    static let withApples = schema.then { store in
        try store.queue.write { try Fruit(name: "りんご", price: 120).insert($0) }
    }
}

/// A GRDB store for each test.
final class FruitTests: StoreTestCase<GRDBStore> {
    override var content: StoreContent<GRDBStore> { Fruits.withApples }
    override var storeName: String { "fruits" }

    func test_果物を追加できる() throws {
        try store.queue.write { try Fruit(name: "みかん", price: 80).insert($0) }
        XCTAssertEqual(try store.queue.read { try Fruit.fetchCount($0) }, 2)
    }

    func test_CoreData内の果物を更新できる() throws {
        try store.queue.write { try Fruit(name: "りんご", price: 150).update($0) }
        let fruits = try store.queue.read { try Fruit.fetchAll($0) }
        XCTAssertEqual(fruits, [Fruit(name: "りんご", price: 150)])
    }

    func test_果物を削除できる() throws {
        _ = try store.queue.write { try Fruit.deleteOne($0, key: "りんご") }
        XCTAssertEqual(try store.queue.read { try Fruit.fetchCount($0) }, 0)
    }

    func testStoreIsThereInAsynchronousTests() async throws {
        let count = try await store.queue.read { try Fruit.fetchCount($0) }
        XCTAssertEqual(count, 1)
    }
}

/// Setup and teardown can use the store too, in every form.
final class FruitLifetimeTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> {
        .script("CREATE TABLE fruit (name TEXT NOT NULL)")
    }

    override func setUp() async throws {
        try store.execute("INSERT INTO fruit VALUES ('async setUp')")
    }

    override func setUpWithError() throws {
        try store.execute("INSERT INTO fruit VALUES ('setUpWithError')")
    }

    override func tearDown() async throws {
        try store.execute("INSERT INTO fruit VALUES ('tearDown')")
        XCTAssertEqual(
            try store.value(
                "SELECT count(*) FROM fruit WHERE name IN ('setUpWithError', 'tearDownWithError')"), 2)
        XCTAssertTrue(FileManager.default.fileExists(atPath: directory.path))
    }

    override func tearDownWithError() throws {
        try store.execute("INSERT INTO fruit VALUES ('tearDownWithError')")
    }

    func testOneStoreFromSetUpToTearDown() throws {
        try store.execute("INSERT INTO fruit VALUES ('test')")
        XCTAssertEqual(try store.value("SELECT count(*) FROM fruit"), 3)
    }

    func testMissingDatabaseIsAnError() {
        let nowhere = directory.appending(path: "nowhere.sqlite")
        XCTAssertThrowsError(try withTestStore(SQLiteTestStore.self, .copy(of: nowhere)) { _ in }) {
            XCTAssertTrue("\($0)".hasSuffix("There is no database at '\(nowhere.path)'."), "\($0)")
        }
    }

    func testWrongNumberOfArgumentsIsAnError() throws {
        XCTAssertThrowsError(try store.rows("SELECT ?"))
        XCTAssertThrowsError(try store.rows("SELECT ?", "apple", "pear"))
    }

    func testNextTestHasAnotherStore() throws {
        XCTAssertEqual(try store.value("SELECT count(*) FROM fruit"), 2)
        try store.execute("INSERT INTO fruit VALUES ('test')")
    }
}
