import CSuiteOtherSQLite
import Foundation
import XCTest

/// Stores of a copy of SQLite with the names of sqlite-nio's.
final class OtherLibraryTests: XCTestCase {
    /// `memory`: apple.
    func testInMemory() throws {
        let database = try OtherDatabase(OtherDatabase.nio)
        try database.execute("INSERT INTO fruit VALUES ('apple')")
        XCTFail("in memory")
        database.close()
    }

    /// `memory`: apple, pear.
    func testInMemoryInATransaction() throws {
        let database = try OtherDatabase(OtherDatabase.nio)
        try database.execute(
            "CREATE UNIQUE INDEX names ON fruit (name); INSERT INTO fruit VALUES ('apple')")
        try database.execute("BEGIN; INSERT INTO fruit VALUES ('pear')")
        XCTAssertThrowsError(try database.execute("INSERT INTO fruit VALUES ('pear')"))
        let error = database.error

        XCTFail("in memory in a transaction")

        XCTAssertEqual(database.error, error, "the error was changed")
        try database.execute("ROLLBACK")
        try database.check("SELECT count(*) = 1 FROM fruit")
        database.close()
    }

    /// `nio`: 400 apples, pear; 400 apples are committed.
    func testFileInATransactionWithAWAL() throws {
        try failInAFile(journal: "wal")
    }

    /// `nio`: 400 apples, pear; 400 apples are committed.
    func testFileInATransactionWithARollbackJournal() throws {
        try failInAFile(journal: "delete")
    }

    private func failInAFile(journal: String) throws {
        let path = try freshPath("nio.sqlite")
        let database = try OtherDatabase(OtherDatabase.nio, path, journal: journal)
        try database.fill()
        // The cache has pages that the transaction has not changed, and no room for all of them.
        try database.execute(
            "PRAGMA cache_size = 20; BEGIN IMMEDIATE; INSERT INTO fruit (name) VALUES ('pear')")
        try database.check("SELECT sum(length(name)) > 0 FROM fruit")
        let used = database.cacheUsed

        XCTFail("file in a transaction")

        XCTAssertEqual(database.cacheUsed, used, "the page cache was changed")
        // Pages that were left pinned would keep these out, and SQLite would write to the file to make room.
        try database.check("SELECT sum(length(name)) > 0 FROM fruit")
        XCTAssertEqual(database.cacheUsed, used, "pages of the cache can't be replaced")
        XCTAssertEqual(database.spilled, 0)
        XCTAssertNotEqual(
            try exitStatusOfSQLite3(path, "INSERT INTO fruit (name) VALUES ('outside')"), 0,
            "the write lock was lost")
        try database.execute("COMMIT")
        try database.check("SELECT count(*) = 401 FROM fruit")
        XCTAssertEqual(try exitStatusOfSQLite3(path, "INSERT INTO fruit (name) VALUES ('outside')"), 0)
        database.close()
    }

    /// `nio`: 400 pears, of which the file has some already; 400 apples are committed.
    func testSpilled() throws {
        let path = try freshPath("nio.sqlite")
        let database = try OtherDatabase(OtherDatabase.nio, path, journal: "delete")
        try database.fill()
        try database.execute(
            "PRAGMA cache_size = 5; BEGIN; UPDATE fruit SET name = 'pear', filler = zeroblob(500)")
        XCTAssertGreaterThan(database.spilled, 0)

        XCTFail("a transaction that was spilled")

        try database.execute("COMMIT")
        try database.check("SELECT count(*) = 400 FROM fruit WHERE name = 'pear'")
        database.close()
    }

    /// `memory`: apple, as it was recorded.
    func testClosedInMemory() throws {
        let database = try OtherDatabase(OtherDatabase.nio)
        try database.execute("INSERT INTO fruit VALUES ('apple')")
        database.close()
        XCTFail("closed")
    }

    /// `memory`: apple, kiwi, lime.
    func testStatementsInMemory() throws {
        try runStatements()
    }

    /// `nio`: apple, kiwi, lime.
    func testStatementsWithAWAL() throws {
        try runStatements(journal: "wal")
    }

    /// `nio`: apple, kiwi, lime.
    func testStatementsWithARollbackJournal() throws {
        try runStatements(journal: "delete")
    }

    private func runStatements(journal: String? = nil) throws {
        let database =
            try journal.map {
                try OtherDatabase(OtherDatabase.nio, freshPath("nio.sqlite"), journal: $0)
            } ?? OtherDatabase(OtherDatabase.nio)
        try database.execute("CREATE UNIQUE INDEX names ON fruit (name)")
        try database.execute("INSERT INTO fruit (name) VALUES ('apple')")
        try database.execute("BEGIN")
        try database.run("INSERT INTO fruit (name) VALUES (?)", "pear")
        try database.run("INSERT INTO fruit (name) VALUES (?)", "lime")
        XCTAssertEqual(try database.run("SELECT name FROM fruit WHERE name > ?", "b"), 2)
        try database.execute("UPDATE fruit SET name = 'kiwi' WHERE name = 'pear'")
        try database.execute("COMMIT")
        try database.execute("BEGIN; DELETE FROM fruit")
        try database.execute("ROLLBACK")
        XCTAssertEqual(try database.run("SELECT name FROM fruit WHERE name > 'b'"), 2)
        XCTAssertThrowsError(try database.execute("INSERT INTO fruit (name) VALUES ('kiwi')"))
        XCTAssertEqual(try database.run("SELECT name FROM fruit WHERE name = 'pear'"), 1)
        database.close()
    }

    /// `memory`: apple, pear.
    func testStatementsInsideOthers() throws {
        let database = try OtherDatabase(OtherDatabase.nio)
        try database.execute("CREATE VIRTUAL TABLE word USING fts5 (name)")
        try database.execute(
            "CREATE TRIGGER noted AFTER INSERT ON fruit BEGIN INSERT INTO word VALUES (new.name); END")
        try database.execute("INSERT INTO fruit VALUES ('apple')")
        // Another one runs while the query pauses at its row.
        try database.run("SELECT name FROM fruit WHERE name <> ?", "fig") {
            try database.run("INSERT INTO fruit VALUES (?)", "pear")
        }
        try database.execute("UPDATE fruit SET name = name")
        XCTFail("after statements inside others")
        database.close()
    }
}

/// Stores that a copy of SQLite with an unknown prefix has open, so that discovery can't see its connections.
final class SecondLibraryTests: XCTestCase {
    /// `second`: apple.
    func testOutsideWithAWAL() throws {
        try failOutside(journal: "wal")
    }

    /// `second`: apple.
    func testOutsideWithARollbackJournal() throws {
        try failOutside(journal: "delete")
    }

    private func failOutside(journal: String) throws {
        let path = try freshPath("second.sqlite")
        let database = try OtherDatabase(OtherDatabase.second, path, journal: journal)
        try database.execute("INSERT INTO fruit (name) VALUES ('apple')")

        XCTFail("in a second library")

        // A process that finds no lock on a WAL store would remove the WAL when it closes the store.
        XCTAssertEqual(
            try exitStatusOfSQLite3(path, "INSERT INTO fruit (name) VALUES ('pear')"), 0,
            "a writer was refused"
        )
        try database.execute("INSERT INTO fruit (name) VALUES ('kiwi')")
        // If the number of rows differs, `abs` fails.
        let count = "SELECT abs(iif(count(*) = 3, 0, -9223372036854775808)) FROM fruit"
        XCTAssertEqual(try exitStatusOfSQLite3(path, count), 0, "rows were lost")
        XCTAssertEqual(size(of: path + "-wal") != nil, journal == "wal", "the WAL was taken away")
        database.close()
    }

    /// `second`: apple; pear is not committed.
    func testInsideWithAWAL() throws {
        try failInside(journal: "wal")
    }

    /// `second`: apple; pear is not committed.
    func testInsideWithARollbackJournal() throws {
        try failInside(journal: "delete")
    }

    private func failInside(journal: String) throws {
        let path = try freshPath("second.sqlite")
        let database = try OtherDatabase(OtherDatabase.second, path, journal: journal)
        try database.execute("INSERT INTO fruit (name) VALUES ('apple')")
        try database.execute("BEGIN IMMEDIATE; INSERT INTO fruit (name) VALUES ('pear')")

        XCTFail("in a second library's transaction")

        XCTAssertNotEqual(
            try exitStatusOfSQLite3(path, "INSERT INTO fruit (name) VALUES ('outside')"), 0,
            "the write lock was lost")
        try database.execute("COMMIT")
        XCTAssertEqual(try exitStatusOfSQLite3(path, "INSERT INTO fruit (name) VALUES ('outside')"), 0)
        database.close()
    }

    /// `second`: apple.
    func testDeletedWithAWAL() throws {
        try failDeleted(journal: "wal")
    }

    /// `second`: apple.
    func testDeletedWithARollbackJournal() throws {
        try failDeleted(journal: "delete")
    }

    private func failDeleted(journal: String) throws {
        let path = try freshPath("second.sqlite")
        let database = try OtherDatabase(OtherDatabase.second, path, journal: journal)
        try database.execute("INSERT INTO fruit (name) VALUES ('apple')")
        try FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)

        XCTFail("deleted in a second library")

        XCTAssertNil(size(of: path), "the file came back")
        // Without a WAL, SQLite refuses to write to a file without a name.
        if journal == "wal" { try database.execute("INSERT INTO fruit (name) VALUES ('pear')") }
        database.close()
    }
}

/// A connection of another copy of SQLite.
private final class OtherDatabase {
    static let nio = suite_sqlite_nio()
    /// The checks build this copy.
    static let second = suite_second_sqlite(ProcessInfo.processInfo.environment["SECOND_SQLITE"] ?? "")

    struct Failure: Error {
        let code: Int32
    }

    private let library: suite_other_sqlite
    private var handle: UnsafeMutableRawPointer?

    /// Opens a store with an empty table `fruit`.
    init(_ library: suite_other_sqlite, _ path: String = ":memory:", journal: String = "memory") throws {
        self.library = library
        // SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE and SQLITE_OPEN_FULLMUTEX, as sqlite-nio opens its connections.
        let code = try XCTUnwrap(library.open_v2, "the copy of SQLite is missing")(
            path, &handle, 0x10006, nil)
        guard code == 0 else { throw Failure(code: code) }
        let filler = path == ":memory:" ? "" : ", filler BLOB"
        try execute("PRAGMA journal_mode = \(journal); CREATE TABLE fruit (name TEXT NOT NULL\(filler))")
    }

    /// Adds 400 apples, which take more than 50 pages.
    func fill() throws {
        try execute(
            """
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 400)
            INSERT INTO fruit SELECT 'apple', zeroblob(600) FROM number
            """)
    }

    func execute(_ sql: String) throws {
        let code = library.exec(handle, sql, nil, nil, nil)
        guard code == 0 else { throw Failure(code: code) }
    }

    /// Prepares a statement and runs it, as sqlite-nio does, and returns the number of rows.
    @discardableResult func run(
        _ sql: String, _ value: String? = nil, atFirstRow: () throws -> Void = {}
    ) throws
        -> Int
    {
        var statement: UnsafeMutableRawPointer?
        let code = library.prepare_v2(handle, sql, -1, &statement, nil)
        defer { _ = library.finalize(statement) }
        guard code == 0 else { throw Failure(code: code) }
        // SQLITE_TRANSIENT
        if let value { _ = library.bind_text(statement, 1, value, -1, -1) }
        for rows in 0... {
            // SQLITE_ROW and SQLITE_DONE
            let code = library.step(statement)
            if code == 101 { return rows }
            guard code == 100 else { throw Failure(code: code) }
            if rows == 0 { try atFirstRow() }
        }
        return 0
    }

    /// Fails if a query doesn't return 1: `abs` then has no result.
    func check(_ query: String) throws {
        try execute("SELECT abs(iif((\(query)), 0, -9223372036854775808))")
    }

    func close() { XCTAssertEqual(library.close(handle), 0) }

    var error: String {
        "\(library.errcode(handle)): \(library.errmsg(handle).map { String(cString: $0) } ?? "")"
    }

    /// The memory of the page cache, in bytes.
    var cacheUsed: Int32 { status(1) }

    /// The number of pages that were written before the end of their transaction.
    var spilled: Int32 { status(12) }

    private func status(_ option: Int32) -> Int32 {
        var (current, highest): (Int32, Int32) = (0, 0)
        _ = library.db_status(handle, option, &current, &highest, 0)
        return current
    }
}
