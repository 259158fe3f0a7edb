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

    /// `thrown`: apple.
    ///
    /// GRDB rolls pear back before XCTest learns of the error.
    func testErrorThrownOutOfWrite() throws {
        let queue = try DatabaseQueue(path: try freshPath("thrown.sqlite"))
        try queue.plant("apple")
        try queue.write { db in
            try Fruit(name: "pear").insert(db)
            try db.execute(sql: "INSERT INTO vegetables VALUES ('leek')")
        }
    }

    /// `closed`: apple, pear; committed: apple.
    ///
    /// It is rolled back and closed before XCTest learns of the error.
    func testErrorThrownOutOfWriteAndClosed() throws {
        let queue = try DatabaseQueue(path: try freshPath("closed.sqlite"))
        defer { XCTAssertNoThrow(try queue.close()) }
        try queue.plant("apple")
        try queue.write { db in
            try Fruit(name: "pear").insert(db)
            try db.execute(sql: "INSERT INTO vegetables VALUES ('leek')")
        }
    }

    /// One store in memory: apple, pear; committed: apple.
    func testErrorThrownOutOfWriteInMemory() throws {
        let queue = try DatabaseQueue()
        try queue.plant("apple")
        try failInSavepoint(of: queue)
    }

    /// One store in memory: apple, pear; committed: apple.
    func testErrorThrownOutOfWriteInMemoryAndClosed() throws {
        let queue = try DatabaseQueue()
        defer { XCTAssertNoThrow(try queue.close()) }
        try queue.plant("apple")
        try failInSavepoint(of: queue)
    }

    /// Rolls back twice; the first rollback discards most changes.
    private func failInSavepoint(of queue: DatabaseQueue) throws {
        try queue.write { db in
            try db.inSavepoint {
                try Fruit(name: "pear").insert(db)
                try db.execute(sql: "INSERT INTO vegetables VALUES ('leek')")
                return .commit
            }
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
