import CSuiteSQLite
import XCTest

/// Tests that share stores, whose connections stay open.
///
/// They run in the order of their names, and the first one passes.
final class SharedRowTests: XCTestCase {
    private static let stores = Result {
        [
            try Database(":memory:", journal: "memory", fruit: "apple"),
            try Database(try freshPath("journal.sqlite"), journal: "delete", fruit: "apple"),
        ]
    }

    override func setUpWithError() throws {
        for store in try Self.stores.get() {
            try store.execute("DELETE FROM fruit WHERE name <> 'apple'")
        }
    }

    func testAddsARow() throws {
        for store in try Self.stores.get() { try store.add("cherry") }
    }

    /// `journal`, memory: apple, cherry.
    ///
    /// Only apple is a leftover.
    func testFindsItsOwnRow() throws {
        for store in try Self.stores.get() { try store.add("cherry") }
        let counts = try Self.stores.get().map { try $0.integer("SELECT count(*) FROM fruit") }
        XCTAssertEqual(counts, [0, 0])
    }

    /// `journal`, memory: apple.
    func testFindsARowOfAnotherTest() throws {
        let counts = try Self.stores.get().map { try $0.integer("SELECT count(*) FROM fruit") }
        XCTAssertEqual(counts, [0, 0])
    }
}

/// Statements that fail, with SQLite's message in the test's message.
final class FailedStatementTests: XCTestCase {
    private func database() throws -> Database {
        let database = try Database(":memory:", journal: "memory", fruit: "apple", "pear")
        try database.execute("CREATE TABLE crate(id INTEGER PRIMARY KEY, fruit)")
        return database
    }

    private func assertNoError(in database: Database, _ sql: String, line: UInt = #line) {
        XCTAssertNoThrow(try database.execute(sql), line: line)
    }

    func testUnknownFunction() throws {
        assertNoError(in: try database(), "SELECT jsonb_foo(name) FROM fruit")
    }

    func testSyntax() throws { assertNoError(in: try database(), "SELECT name FORM fruit") }

    func testNumberOfValues() throws {
        assertNoError(in: try database(), "INSERT INTO crate VALUES (1)")
    }

    func testMismatch() throws {
        assertNoError(in: try database(), "INSERT INTO crate VALUES ('x', 'apple')")
    }

    func testTooBig() throws {
        let database = try database()
        sqlite3_limit(database.handle, SQLITE_LIMIT_LENGTH, 1000)
        assertNoError(in: database, "INSERT INTO crate SELECT 1, zeroblob(1001)")
    }

    func testReadOnly() throws {
        let database = try database()
        try database.execute("PRAGMA query_only = ON")
        assertNoError(in: database, "INSERT INTO crate VALUES (1, 'apple')")
    }

    func testFull() throws {
        let database = try database()
        try database.execute("PRAGMA max_page_count = 5")
        assertNoError(in: database, "INSERT INTO crate SELECT 1, zeroblob(100000)")
    }

    func testLockedTable() throws {
        let database = try database()
        var query: OpaquePointer?
        sqlite3_prepare_v2(database.handle, "SELECT name FROM fruit", -1, &query, nil)
        XCTAssertEqual(sqlite3_step(query), SQLITE_ROW)
        assertNoError(in: database, "DROP TABLE crate")
    }

    func testConstraint() throws {
        let database = try database()
        try database.execute("CREATE UNIQUE INDEX by_name ON fruit (name)")
        assertNoError(in: database, "INSERT INTO fruit VALUES ('pear')")
    }

    /// The long statement leaves no space for the reason in SQLite's log, until it is the last one.
    func testLongStatement() throws {
        let database = try database()
        let names = (1...60).map { "'name \($0)'" }.joined(separator: ", ")
        XCTAssertThrowsError(
            try database.execute("INSERT INTO fruit SELECT NULL WHERE 'name 1' IN (\(names))")
        ) { error in
            try? database.execute("SELECT 1")
            XCTFail("\(error)")
        }
    }
}

/// States that a log doesn't show.
final class UnloggedTests: XCTestCase {
    /// `closed`: empty.
    ///
    /// The first connection was closed inside a transaction.
    func testClosedTransaction() throws {
        let path = try freshPath("closed.sqlite")
        let first = try Database(path, journal: "delete", fruit: "apple")
        try first.execute("DELETE FROM fruit")
        try first.execute("BEGIN IMMEDIATE")
        try first.add("pear")
        try first.close()
        let second = try Database(path)
        XCTAssertEqual(try second.integer("SELECT count(*) FROM fruit"), 1)
    }

    /// SQLite doesn't log that a foreign key was broken.
    func testRollbackAfterAnUnloggedError() throws {
        let database = try Database(":memory:", journal: "memory", fruit: "apple")
        try database.execute("PRAGMA foreign_keys = ON; CREATE TABLE crate(id INTEGER PRIMARY KEY)")
        try database.execute("CREATE TABLE content(crate NOT NULL REFERENCES crate(id))")
        try database.execute("BEGIN")
        try database.add("pear")
        XCTAssertThrowsError(try database.execute("INSERT INTO content VALUES (7), (8)"))
        try database.execute("ROLLBACK")
        XCTAssertEqual(try database.integer("SELECT count(*) FROM fruit"), 2)
    }

    /// Two connections' updates of two rows.
    func testUpdatesOfTwoRows() throws {
        let path = try freshPath("accounts.sqlite")
        let first = try Database(path)
        try first.execute(
            "CREATE TABLE account(id INTEGER PRIMARY KEY, n); INSERT INTO account VALUES (1, 5), (2, 5)")
        let second = try Database(path)
        for (row, database) in [first, second].enumerated() {
            XCTAssertEqual(try database.integer("SELECT n FROM account WHERE id = \(row + 1)"), 5)
        }
        for (row, database) in [first, second].enumerated() {
            var statement: OpaquePointer?
            sqlite3_prepare_v2(
                database.handle, "UPDATE account SET n = ? WHERE id = ?", -1, &statement, nil)
            sqlite3_bind_int(statement, 1, 6)
            sqlite3_bind_int(statement, 2, Int32(row + 1))
            XCTAssertEqual(sqlite3_step(statement), SQLITE_DONE)
            sqlite3_finalize(statement)
        }
        XCTAssertEqual(try second.integer("SELECT sum(n) FROM account"), 13)
    }

    /// `notes`: ten rows, with a full-text index.
    func testRowsOfAnIndexedTable() throws {
        let database = try Database(try freshPath("notes.sqlite"))
        try database.execute(
            """
            PRAGMA journal_mode = wal;
            CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
            CREATE VIRTUAL TABLE search USING fts5(text, content = 'note', content_rowid = 'id');
            CREATE TRIGGER added AFTER INSERT ON note BEGIN
              INSERT INTO search(rowid, text) VALUES (new.id, new.text);
            END;
            """)
        let values = (1...10).map { "('note \($0)')" }.joined(separator: ", ")
        try database.execute("INSERT INTO note (text) VALUES \(values)")
        let columns = (1...30).map { "id + \($0) AS column\($0)" }.joined(separator: ", ")
        XCTAssertEqual(
            try database.integer(
                "SELECT id, \(columns) FROM note WHERE text LIKE 'note%' ORDER BY text DESC"), 10)
    }
}
