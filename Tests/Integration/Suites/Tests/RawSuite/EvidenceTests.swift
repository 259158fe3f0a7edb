import CSuiteSQLite
import XCTest

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

    /// The statement names an attached database.
    func testAttachedTable() throws {
        let database = try Database(":memory:", journal: "memory", fruit: "apple")
        try database.execute("ATTACH ':memory:' AS archive")
        XCTAssertNoThrow(try database.execute("SELECT name FROM archive.tests"))
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
