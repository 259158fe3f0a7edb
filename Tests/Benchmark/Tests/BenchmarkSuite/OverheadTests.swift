import CBenchmarkSQLite
import Foundation
import GRDB
import XCTest

/// The cost per statement.
final class StatementTests: XCTestCase, Measured {
    func testStatementsInMemory() throws {
        try measure(":memory:")
    }

    func testStatementsInWALMode() throws {
        let path = NSTemporaryDirectory() + "statements-\(getpid()).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
        try measure(path)
    }

    /// Runs `BENCHMARK_COUNT` small inserts and as many selects, in transactions of a thousand each.
    private func measure(_ path: String) throws {
        let count = try Self.count
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        XCTAssertEqual(sqlite3_open(path, &handle), SQLITE_OK)
        let schema = "PRAGMA journal_mode = wal; CREATE TABLE t(a INTEGER PRIMARY KEY, b); BEGIN"
        XCTAssertEqual(sqlite3_exec(handle, schema, nil, nil, nil), SQLITE_OK)
        var (insert, select): (OpaquePointer?, OpaquePointer?)
        sqlite3_prepare_v2(handle, "INSERT INTO t(b) VALUES (?)", -1, &insert, nil)
        sqlite3_prepare_v2(handle, "SELECT b FROM t WHERE a = ?", -1, &select, nil)
        let start = Self.processorTime()
        for number in 1...Int64(count) {
            sqlite3_bind_int64(insert, 1, number)
            guard sqlite3_step(insert) == SQLITE_DONE else { fatalError("insert") }
            sqlite3_reset(insert)
            sqlite3_bind_int64(select, 1, number)
            guard sqlite3_step(select) == SQLITE_ROW else { fatalError("select") }
            sqlite3_reset(select)
            guard number % 1000 == 0 else { continue }
            guard sqlite3_exec(handle, "COMMIT; BEGIN", nil, nil, nil) == SQLITE_OK else {
                fatalError("commit")
            }
        }
        try Self.report(Self.processorTime() - start)
        sqlite3_finalize(insert)
        sqlite3_finalize(select)
    }
}

/// The cost of an ordinary test: it migrates a store in memory, inserts 20 records and runs 10 queries.
final class OrdinaryTests: XCTestCase, Measured {
    private struct Item: Codable, FetchableRecord, PersistableRecord {
        var id: Int
        var name: String
        var price: Double
    }

    func testNothing() {}

    /// Runs `BENCHMARK_COUNT` such tests, after all other tests.
    override class func tearDown() {
        measureTests(testItems)
    }

    private static func testItems() throws {
        var migrator = DatabaseMigrator()
        for version in 1...3 {
            migrator.registerMigration("v\(version)") { db in
                try db.create(table: version == 1 ? "item" : "other\(version)") { table in
                    table.primaryKey("id", .integer)
                    table.column("name", .text).notNull()
                    table.column("price", .double).notNull()
                }
            }
        }
        let queue = try DatabaseQueue()
        try migrator.migrate(queue)
        for number in 1...20 {
            try queue.write { db in
                try Item(id: number, name: "item \(number)", price: 1.5 * Double(number)).insert(db)
            }
        }
        for number in 1...10 {
            let found = try queue.read { db in
                try Item.filter(Column("price") > Double(number)).order(Column("name")).fetchAll(db)
            }
            guard !found.isEmpty else { fatalError("no items") }
        }
        try queue.close()
    }
}

/// The cost per passing test.
final class PassingTests: XCTestCase, Measured {
    func testNothing() {}

    /// Runs `BENCHMARK_COUNT` tests that open one store each, after all other tests.
    override class func tearDown() {
        let path = NSTemporaryDirectory() + "store-\(getpid()).sqlite"
        measureTests {
            var handle: OpaquePointer?
            guard sqlite3_open(path, &handle) == SQLITE_OK,
                sqlite3_exec(handle, "PRAGMA user_version", nil, nil, nil) == SQLITE_OK
            else { fatalError("open") }
            sqlite3_close(handle)
        }
        unlink(path)
    }
}

/// A test created at run time.
private final class OneStoreTest: XCTestCase {}

/// Reports the processor time of its own thread, in seconds.
protocol Measured {}

extension Measured {
    static var count: Int {
        get throws {
            try XCTUnwrap(Int(ProcessInfo.processInfo.environment["BENCHMARK_COUNT"] ?? ""))
        }
    }

    /// Runs `BENCHMARK_COUNT` tests.
    static func measureTests(_ body: @escaping () throws -> Void) {
        do {
            let count = try count
            let start = processorTime()
            for number in 0..<count {
                OneStoreTest(name: "testStore\(number)") { _ in
                    do { try body() } catch { fatalError("\(error)") }
                }.run()
            }
            try report(processorTime() - start)
        } catch {
            fatalError("\(error)")
        }
    }

    static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    static func report(_ seconds: Double) throws {
        let path = try XCTUnwrap(ProcessInfo.processInfo.environment["BENCHMARK_REPORT"])
        try "\(seconds)".write(toFile: path, atomically: false, encoding: .utf8)
    }
}
