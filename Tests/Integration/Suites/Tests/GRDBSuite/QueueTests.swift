import GRDB
import XCTest

/// `DatabaseQueue`: one connection, opened without SQLite's own mutex.
final class QueueTests: XCTestCase {
    /// `queue`: apple, pear.
    func testFile() throws {
        let queue = try DatabaseQueue(path: try freshPath("queue.sqlite"))
        try queue.plant("apple", "pear")
        XCTAssertEqual(try queue.read { try Fruit.fetchCount($0) }, 3, "a queue on a file")
        try queue.write { try Fruit(name: "kiwi").insert($0) }
    }

    /// One store in memory: apple.
    func testInMemory() throws {
        let queue = try DatabaseQueue()
        try queue.plant("apple")
        XCTFail("a queue in memory")
        try queue.write { try Fruit(name: "kiwi").insert($0) }
    }

    /// `inside`: apple, pear; committed: apple.
    ///
    /// The assertion fails inside the transaction.
    func testAssertionInsideWrite() throws {
        let queue = try DatabaseQueue(path: try freshPath("inside.sqlite"))
        try queue.plant("apple")
        try queue.write { db in
            try Fruit(name: "pear").insert(db)
            XCTAssertEqual(try Fruit.fetchCount(db), 3, "inside a transaction")
            try Fruit(name: "kiwi").insert(db)
        }
        XCTAssertEqual(try queue.read { try Fruit.fetchCount($0) }, 3)
    }

    /// One store in memory: apple, pear; committed: apple, if that can be read.
    func testAssertionInsideWriteInMemory() throws {
        let queue = try DatabaseQueue()
        try queue.plant("apple")
        try queue.write { db in
            try Fruit(name: "pear").insert(db)
            XCTFail("inside a transaction in memory")
        }
    }

    /// `after`: apple; pear was rolled back before the assertion.
    func testAssertionAfterARollback() throws {
        let queue = try DatabaseQueue(path: try freshPath("after.sqlite"))
        try queue.plant("apple")
        XCTAssertThrowsError(
            try queue.write { db in
                try Fruit(name: "pear").insert(db)
                try db.execute(sql: "INSERT INTO vegetables VALUES ('leek')")
            })
        XCTFail("after a rollback")
    }

    /// `async`: apple, pear.
    func testAsyncWriteThenAssertion() async throws {
        let queue = try DatabaseQueue(path: try freshPath("async.sqlite"))
        try queue.plant("apple")
        try await queue.write { try Fruit(name: "pear").insert($0) }
        let count = try await queue.read { try Fruit.fetchCount($0) }
        XCTAssertEqual(count, 1, "after an asynchronous write")
        try await queue.write { try Fruit(name: "kiwi").insert($0) }
    }

    /// One store in memory: apple, pear.
    ///
    /// The connection has no mutex, and another thread than the failing one has used it.
    func testAsyncAccessInMemory() async throws {
        let queue = try DatabaseQueue()
        try queue.plant("apple")
        try await queue.write { try Fruit(name: "pear").insert($0) }
        let count = try await queue.read { try Fruit.fetchCount($0) }
        XCTAssertEqual(count, 1, "in memory, after an asynchronous write")
        try await queue.write { try Fruit(name: "kiwi").insert($0) }
    }
}

/// Errors thrown out of a write, which GRDB rolls back before XCTest learns of them.
///
/// Each store has apple and pear; apple is committed.
final class ThrownErrorTests: XCTestCase {
    /// `thrown`.
    func testQueue() throws { try fail(try DatabaseQueue(path: freshPath("thrown.sqlite"))) }

    /// `closed`.
    func testClosedQueue() throws {
        try failAndClose(try DatabaseQueue(path: freshPath("closed.sqlite")))
    }

    func testQueueInMemory() throws { try fail(try DatabaseQueue(), inSavepoint: true) }

    func testClosedQueueInMemory() throws { try failAndClose(try DatabaseQueue(), inSavepoint: true) }

    /// `pool`, whose readers use separate connections.
    func testPool() throws { try fail(try DatabasePool(path: freshPath("pool.sqlite"))) }

    /// `pool`.
    func testClosedPool() throws { try failAndClose(try DatabasePool(path: freshPath("pool.sqlite"))) }

    private func failAndClose(_ writer: some DatabaseWriter, inSavepoint: Bool = false) throws {
        defer { XCTAssertNoThrow(try writer.close()) }
        try fail(writer, inSavepoint: inSavepoint)
    }

    /// A savepoint rolls back twice; the first rollback discards most changes.
    private func fail(_ writer: some DatabaseWriter, inSavepoint: Bool = false) throws {
        try writer.plant("apple")
        XCTAssertEqual(try writer.read { try Fruit.fetchCount($0) }, 1)
        func write(_ db: Database) throws {
            try Fruit(name: "pear").insert(db)
            try db.execute(sql: "INSERT INTO vegetables VALUES ('leek')")
        }
        try writer.write { db in
            guard inSavepoint else { return try write(db) }
            try db.inSavepoint {
                try write(db)
                return .commit
            }
        }
    }
}
