import FailureArtifactsTestKit
import GRDB
import XCTest

enum Rotten: Error, CustomStringConvertible {
    case apple
    var description: String { "the apple is rotten" }
}

/// Fails in every possible way.
final class FailingTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> {
        .script("CREATE TABLE fruit (name TEXT NOT NULL); INSERT INTO fruit VALUES ('apple')")
    }
    override var storeName: String { "果物" }

    func testAssertion() throws {
        try store.execute("INSERT INTO fruit VALUES ('pear')")
        XCTFail("by assertion")
        try store.execute("DELETE FROM fruit")
    }

    func testThrownError() throws {
        try store.execute("INSERT INTO fruit VALUES ('pear')")
        throw Rotten.apple
    }

    func test_CoreData内の果物を更新できる() throws {
        try store.execute("UPDATE fruit SET name = 'りんご'")
        XCTAssertEqual(try store.value("SELECT name FROM fruit"), "みかん")
    }
}

final class FailingTeardownTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> {
        .script("CREATE TABLE fruit (name TEXT NOT NULL)")
    }

    override func tearDown() async throws {
        try store.execute("INSERT INTO fruit VALUES ('teardown')")
        XCTFail("in the teardown")
    }

    func testTeardown() {}
}

final class FailingOpenTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> { .script("CREATE TABEL fruit (name)") }

    override func setUp() { XCTFail("setUp must not be run") }

    func testOpen() { XCTFail("the test must not be run") }
}

/// A store that reports when it is closed, and that closing it fails.
final class StubbornStore: TestStore {
    private let store: SQLiteTestStore

    init(at location: StoreLocation) throws { store = try SQLiteTestStore(at: location) }

    func close() throws {
        store.close()
        print("the stubborn store was closed")
        throw Rotten.apple
    }

    func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try store.withConnection(body)
    }
}

final class FailingCloseTests: StoreTestCase<StubbornStore> {
    func testClose() {}
}

final class FailingContentTests: StoreTestCase<StubbornStore> {
    override var content: StoreContent<StubbornStore> { .prepared { _ in throw Rotten.apple } }

    func testContent() { XCTFail("the test must not be run") }
}

final class MissingResourceTests: StoreTestCase<SQLiteTestStore> {
    override var content: StoreContent<SQLiteTestStore> {
        .resource("no-such-thing", withExtension: "sql", in: .module)
    }

    func testResource() { XCTFail("the test must not be run") }
}

final class FailingGRDBTests: StoreTestCase<GRDBStore> {
    override var content: StoreContent<GRDBStore> { Fruits.withApples }
    override var storeName: String { "fruits" }

    func testCount() throws {
        XCTAssertEqual(try store.queue.read { try Fruit.fetchCount($0) }, 2)
    }
}

final class FailingMigrationTests: XCTestCase {
    func testAssertion() throws {
        try withMigrations(of: BoardGames.versions) { stores in
            try BoardGames.fill(stores.start(at: "App V1"))
            let new = try stores.migrate(to: "App V2")
            XCTAssertEqual(try new.value("SELECT minimumPlayers FROM game"), 2)
        }
    }

    func testThrownError() throws {
        try withMigrations(of: BoardGames.versions) { stores in
            try BoardGames.fill(stores.start(at: "App V1"))
            try stores.migrate(to: "App V3")
            throw Rotten.apple
        }
    }

    func testManyRows() throws {
        let versions = [
            StoreVersion<SQLiteTestStore>(
                "App V1", .script("CREATE TABLE game (id INTEGER PRIMARY KEY)")),
            StoreVersion(
                "App V2",
                .script(
                    """
                    WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
                    INSERT INTO game SELECT i FROM n
                    """)),
        ]
        try withMigrations(of: versions) { stores in
            try stores.start(at: "App V1")
            try stores.migrate(to: "App V2")
            XCTFail("too many games")
        }
    }

    func testMigrationThatFails() throws {
        var versions = BoardGames.versions.prefix(1)
        versions.append(StoreVersion("App V2", .script("DELETE FROM game; INSERT INTO gmae VALUES (1)")))
        try withMigrations(of: Array(versions)) { stores in
            try BoardGames.fill(stores.start(at: "App V1"))
            try stores.migrate(to: "App V2")
        }
    }
}

final class LeakingTests: SharedStoreTestCase<SQLiteTestStore> {
    override class var sharedStore: SharedStore<SQLiteTestStore> { Stations.leaking }

    func testALeaks() throws {
        try store.execute("INSERT INTO line (name) VALUES ('山手線')")
    }

    func testBFindsNothing() throws {
        XCTAssertEqual(try store.value("SELECT count(*) FROM line"), 0)
        XCTAssertEqual(try store.value("SELECT count(*) FROM sqlite_sequence"), 0)
    }

    func testCLeavesATransaction() throws {
        try store.execute("BEGIN")
    }

    func testDFindsNothing() throws {
        try store.execute("BEGIN; ROLLBACK")
    }

    func testEHasFailedAlready() throws {
        try store.execute("INSERT INTO line (name) VALUES ('中央線')")
        XCTFail("before the leak")
    }

    func testFFindsNothing() throws {
        XCTAssertEqual(try store.value("SELECT count(*) FROM line"), 0)
    }
}
