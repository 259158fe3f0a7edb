import Foundation
import GRDB
import XCTest

/// Statements of GRDB whose bundle has the lines that ran them.
///
/// A comment marks the line of each statement.
final class SourceLineTests: XCTestCase {
    /// `lines`: sync, async, first, second.
    func testWritesOfAQueue() async throws {
        let queue = try DatabaseQueue(path: try freshPath("lines.sqlite"))
        try migrate(queue)
        try writeInQueue(queue)
        try await queue.write { db in
            try db.execute(sql: "INSERT INTO fruit VALUES ('async')")  // line: async
        }
        try writeTwice(queue)
        try vacuum(queue)
        XCTFail("lines")
    }

    private func migrate(_ writer: any DatabaseWriter) throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.create(table: "fruit") { table in  // line: migration
                table.column("name", .text).notNull()
            }
        }
        try migrator.migrate(writer)
    }

    private func writeInQueue(_ queue: DatabaseQueue) throws {
        try queue.write { db in
            try db.execute(sql: "INSERT INTO fruit VALUES ('sync')")  // line: sync
        }
    }

    private func writeTwice(_ queue: DatabaseQueue) throws {
        try queue.inTransaction { db in
            try db.execute(sql: "INSERT INTO fruit VALUES ('first')")  // line: first
            try db.execute(sql: "INSERT INTO fruit VALUES ('second')")  // line: second
            return .commit
        }
    }

    /// Runs a statement from a block that GRDB passes to its dispatch queue.
    private func vacuum(_ queue: DatabaseQueue) throws {
        try queue.vacuum()  // line: vacuum
    }

    /// In memory: plum.
    func testRecords() throws {
        let queue = try DatabaseQueue()
        try migrate(queue)
        try queue.inDatabase { db in
            try Fruit(name: "cherry").insert(db)  // line: insertion
            try Fruit.updateAll(db, Column("name").set(to: "plum"))  // line: update
            try Fruit.filter(Column("name") == "apple").deleteAll(db)  // line: deletion
            _ = try Fruit.fetchAll(db)  // line: fetch
        }
        XCTFail("records")
    }

    /// `pool`: written.
    func testPool() async throws {
        let pool = try DatabasePool(path: try freshPath("pool.sqlite"))
        try migrate(pool)
        try await pool.write { db in
            try db.execute(sql: "INSERT INTO fruit VALUES ('written')")  // line: written
        }
        Self.readTwice(pool)
        XCTFail("pool")
    }

    /// Reads with two connections at the same time.
    private static func readTwice(_ pool: DatabasePool) {
        let (first, second, done) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let thread = Thread {
            try? pool.unsafeRead { db in
                _ = try Row.fetchAll(db, sql: "SELECT 'reader 1' FROM fruit")  // line: reader 1
                first.signal()
                second.wait()
            }
            done.signal()
        }
        thread.start()
        try? pool.unsafeRead { db in
            _ = try Row.fetchAll(db, sql: "SELECT 'reader 2' FROM fruit")  // line: reader 2
            second.signal()
            first.wait()
        }
        done.wait()
    }

    /// In memory: no fruit.
    func testObservation() throws {
        let queue = try DatabaseQueue()
        try migrate(queue)
        let observation = ValueObservation.tracking { db in
            try Row.fetchAll(db, sql: "SELECT 'observed' FROM fruit").count  // line: observed
        }
        let observer = observation.start(
            in: queue, scheduling: .immediate, onError: { _ in }, onChange: { _ in })
        XCTFail("observation")
        observer.cancel()
    }
}
