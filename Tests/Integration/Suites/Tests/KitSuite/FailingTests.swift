import FailureArtifactsTestKit
import GRDB
import Testing
import XCTest

/// Fails with a store of GRDB's.
final class FailingGRDBTests: StoreTestCase<GRDBStore> {
    override var content: StoreContent<GRDBStore> {
        .prepared { store in
            try store.queue.write { db in
                try db.create(table: "fruit") { $0.column("name", .text).primaryKey() }
                try db.execute(sql: "INSERT INTO fruit VALUES ('りんご')")
            }
        }
    }
    override var storeName: String { "fruits" }

    func test_CoreData内の果物を更新できる() throws {
        let name = try store.queue.read { try String.fetchOne($0, sql: "SELECT name FROM fruit") }
        XCTAssertEqual(name, "みかん")
    }
}

/// Leaves a store with a history: four transactions.
@Suite struct HistoryTests {
    @Test func transactions() throws {
        try withTestStore(SQLiteTestStore.self, named: "fruits", placement: .onDisk) { store in
            try store.execute("PRAGMA journal_mode = WAL; CREATE TABLE fruit (name TEXT NOT NULL)")
            try store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for name in ["apple", "pear", "plum"] {
                try store.rows("INSERT INTO fruit VALUES (?)", .text(name))
            }
            #expect(try store.value("SELECT count(*) FROM fruit") == 4)
        }
    }
}
