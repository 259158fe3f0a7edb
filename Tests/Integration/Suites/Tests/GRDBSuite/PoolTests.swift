import Dispatch
import GRDB
import XCTest

/// `DatabasePool`: a writer and readers with separate connections.
final class PoolTests: XCTestCase {
    /// `pool`: apple, pear.
    func testFile() throws {
        let pool = try DatabasePool(path: try freshPath("pool.sqlite"))
        try pool.plant("apple", "pear")
        XCTAssertEqual(try pool.read { try Fruit.fetchCount($0) }, 0, "a pool")
        try pool.write { try Fruit(name: "kiwi").insert($0) }
    }

    /// `pool`: apple, pear.
    ///
    /// Two readers still hold the state before pear.
    func testConcurrentReaders() throws {
        let pool = try DatabasePool(path: try freshPath("pool.sqlite"))
        try pool.plant("apple")
        let started = DispatchSemaphore(value: 0)
        let finish = DispatchSemaphore(value: 0)
        let readers = DispatchGroup()
        for _ in 0..<2 {
            DispatchQueue.global().async(group: readers) {
                let counts = try? pool.read { db in
                    let before = try Fruit.fetchCount(db)
                    started.signal()
                    finish.wait()
                    return [before, try Fruit.fetchCount(db)]
                }
                XCTAssertEqual(counts, [1, 1], "a reader saw another state")
            }
            started.wait()
        }
        try pool.write { try Fruit(name: "pear").insert($0) }

        XCTFail("while two readers read")

        finish.signal()
        finish.signal()
        readers.wait()
        try pool.write { try Fruit(name: "kiwi").insert($0) }
    }

    /// `pool`: apple, pear; committed: apple.
    func testAssertionInsideWrite() throws {
        let pool = try DatabasePool(path: try freshPath("pool.sqlite"))
        try pool.plant("apple")
        try pool.write { db in
            try Fruit(name: "pear").insert(db)
            XCTFail("inside a pool's transaction")
        }
    }
}

/// Transactions that fail when they are committed.
final class DeferredKeyTests: XCTestCase {
    /// Without the place of a failure, the package is the one around the working directory, as in `swift test`.
    override class func setUp() {
        super.setUp()
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
        XCTAssert(FileManager.default.changeCurrentDirectoryPath(directory))
    }

    private func removeMaker(from writer: some DatabaseWriter) throws {
        try writer.write { db in
            try db.execute(sql: "CREATE TABLE maker(id INTEGER PRIMARY KEY)")
            try db.execute(
                sql: """
                    CREATE TABLE part(
                        id INTEGER PRIMARY KEY, maker REFERENCES maker DEFERRABLE INITIALLY DEFERRED)
                    """)
            try db.execute(sql: "INSERT INTO maker VALUES (1), (2)")
            try db.execute(sql: "INSERT INTO part VALUES (7, 1), (8, 2)")
        }
        try writer.write { db in
            try db.execute(sql: "UPDATE part SET maker = 1 WHERE id = 8")
            try db.execute(sql: "DELETE FROM maker WHERE id = 1")  // line: removed
        }
    }

    /// `pool`: a part whose maker is missing; committed: no such part.
    func testPool() throws {
        try removeMaker(from: try DatabasePool(path: try freshPath("pool.sqlite")))
    }

    /// `memory`: a part whose maker is missing; committed: no such part.
    func testQueueInMemory() throws {
        try removeMaker(from: try DatabaseQueue())
    }
}

/// GRDB's log of SQLite's errors, which it sets before the first open.
final class LogTests: XCTestCase {
    nonisolated(unsafe) private static var messages: [String] = []

    override class func setUp() {
        super.setUp()
        Database.logError = { _, message in messages.append(message) }
    }

    /// `logged`: apple.
    func testErrorsAreLogged() throws {
        let queue = try DatabaseQueue(path: try freshPath("logged.sqlite"))
        try queue.plant("apple")
        let sql = "INSERT INTO vegetables VALUES ('leek')"
        XCTAssertThrowsError(try queue.write { try $0.execute(sql: sql) })
        XCTAssertEqual(Self.messages.count, 1, "GRDB's log heard nothing")
        XCTFail("logged by GRDB")
    }
}

/// The recorded statements before a failure.
final class PoolStatementTests: XCTestCase {
    /// `statements`: apple, pear, plum.
    func testStatementsOfAPool() throws {
        let pool = try DatabasePool(path: try freshPath("statements.sqlite"))
        try pool.plant("apple", "pear")
        try pool.write { try Fruit(name: "plum").insert($0) }
        XCTAssertEqual(try pool.read { try Fruit.fetchCount($0) }, 4, "a pool")
    }
}

/// The process dies after statements of a pool's writer and readers.
final class PoolCrashTests: XCTestCase {
    func testIsKilled() throws {
        let pool = try DatabasePool(path: try freshPath("pool.sqlite"))
        try pool.plant("apple")
        try pool.write { db in
            try db.execute(sql: "INSERT INTO fruit VALUES ('pear')")  // writer
        }
        _ = try pool.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM fruit WHERE name > 'a'")  // reader
        }
        kill(getpid(), SIGKILL)
    }
}

/// Errors of GRDB, whose descriptions have SQLite's message and the statement.
final class FailedStatementTests: XCTestCase {
    func testUnknownFunction() throws {
        let queue = try DatabaseQueue()
        try queue.plant("apple")
        _ = try queue.read { try String.fetchAll($0, sql: "SELECT jsonb_foo(name) FROM fruit") }
    }
}

/// A store with a few transactions of several connections.
final class SmallHistoryTests: XCTestCase {
    /// `small`: two pools that write in turn, one of them in savepoints.
    ///
    /// The statements have no parameters, so that the checks can run them again.
    func testPools() throws {
        let path = try freshPath("small.sqlite")
        let pool = try DatabasePool(path: path)
        let other = try DatabasePool(path: path)
        try pool.write { db in
            try db.execute(sql: "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, stock INTEGER)")
            try db.execute(
                sql: "CREATE TABLE sale (item REFERENCES item ON UPDATE CASCADE ON DELETE CASCADE)")
        }
        try other.write { db in
            try db.execute(sql: "INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
        }
        try pool.write { db in
            try db.inSavepoint {
                try db.execute(sql: "UPDATE item SET stock = 0")
                return .rollback
            }
            try db.execute(sql: "INSERT INTO sale SELECT id FROM item")
        }
        try other.writeWithoutTransaction { db in
            try db.execute(sql: "UPDATE item SET stock = 3 WHERE id = 3")
            try db.execute(sql: "UPDATE item SET id = 4 WHERE id = 3")
        }
        _ = try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sale") }
        try pool.write { db in
            try db.execute(sql: "UPDATE item SET stock = 9 WHERE id = 7")
            try db.execute(sql: "DELETE FROM item WHERE id = 1")
        }
        try other.write { db in
            try db.execute(sql: "UPDATE item SET stock = stock + 1 WHERE id = 2")
        }
        XCTFail("with a history")
    }
}
