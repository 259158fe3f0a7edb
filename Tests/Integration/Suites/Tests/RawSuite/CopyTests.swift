import XCTest

/// The location of the rows when the assertion fails.
final class CopyTests: XCTestCase {
    /// `wal`: apple, pear; both are only in the WAL.
    func testRowsInTheWAL() throws {
        let path = try freshPath("wal.sqlite")
        let database = try Database(path, journal: "wal")
        try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try database.execute("PRAGMA wal_autocheckpoint = 0")
        let original = size(of: path)
        try database.add("apple")
        try database.add("pear")
        XCTAssertEqual(size(of: path), original)
        let wal = size(of: path + "-wal")

        XCTFail("two rows in the WAL")

        XCTAssertEqual(size(of: path), original, "the database was checkpointed")
        XCTAssertEqual(size(of: path + "-wal"), wal, "the WAL changed")
        XCTAssertEqual(try database.integer("SELECT count(*) FROM fruit"), 2)
    }

    /// One store in memory: apple, kiwi.
    func testInMemory() throws {
        let database = try Database(":memory:", journal: "memory", fruit: "apple", "kiwi")
        XCTFail("two rows in memory")
        try database.close()
    }

    /// `orders`: apple; `stock`: pear; one in memory: kiwi.
    func testSeveralStores() throws {
        let orders = try Database(try freshPath("orders.sqlite"), journal: "wal", fruit: "apple")
        let stock = try Database(try freshPath("stock.sqlite"), journal: "delete", fruit: "pear")
        let cache = try Database(":memory:", journal: "memory", fruit: "kiwi")
        XCTFail("three stores")
        for database in [orders, stock, cache] { try database.close() }
    }

    /// Two stores, both of the file name `orders.sqlite`: apple in one, pear in the other.
    func testTwoStoresOfOneName() throws {
        let mine = try Database(try freshPath("orders.sqlite"), journal: "wal", fruit: "apple")
        let theirs = try Database(try freshPath("orders.sqlite"), journal: "wal", fruit: "pear")
        XCTFail("two stores of one name")
        try mine.close()
        try theirs.close()
    }

    /// Names whose entries would collide on some file system.
    ///
    /// Each store has its own name as its row.
    ///
    /// `x.db` and `y.db` have open transactions with a second row. `y.committed.db` was used last, and `x.db`
    /// after `x.committed.db`.
    func testNamesOfEntriesThatCollide() throws {
        let long = String(repeating: "l", count: 160)
        var stores: [Database] = []
        for name in [
            "x.committed.db", "x.db", "y.db", "y.committed.db", "Y.sqlite", "caf\u{e9}.db",
            "cafe\u{301}.db",
            long + "1.db", long + "2.db",
        ] {
            let store = try Database(try freshPath(name), journal: "wal", fruit: name)
            if ["x.db", "y.db"].contains(name) {
                try store.execute("BEGIN")
                try store.add("not committed")
            }
            stores.append(store)
        }
        XCTFail("nine stores")
        for store in stores { try store.close() }
    }

    /// `りんごの 在庫`: apple.
    ///
    /// A name in another script, with a space.
    func testFileNameInJapanese() throws {
        let path = try freshPath("りんごの 在庫.sqlite")
        let database = try Database(path, journal: "wal", fruit: "apple")
        XCTFail("a file name in Japanese")
        try database.close()
    }

    /// `empty`: no table, and nothing in the file.
    func testEmptyStore() throws {
        let path = try freshPath("empty.sqlite")
        let database = try Database(path)
        _ = try database.integer("PRAGMA schema_version")
        XCTFail("an empty store")
        try database.close()
    }
}
