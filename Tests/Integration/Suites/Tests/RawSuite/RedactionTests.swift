import CSuiteSQLite
import Foundation
import XCTest

/// Tests with secrets in their stores.
///
/// Variables control the secrets that a bundle may contain.
///
/// The secret is random and comes from `SUITE_SECRET`. It is not in the source, because failure messages
/// quote the source.
final class RedactionTests: XCTestCase {
    private let secret = ProcessInfo.processInfo.environment["SUITE_SECRET"] ?? "no secret"

    /// Creates users with names and tokens: some in an index, some deleted, some not committed.
    private func makeStore(_ path: String, journal: String) throws -> Database {
        let database = try Database(path)
        try database.execute(
            """
            PRAGMA secure_delete = 0; PRAGMA journal_mode = \(journal); PRAGMA wal_autocheckpoint = 3;
            CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL,
                token TEXT CHECK (token NOT LIKE '*%'));
            CREATE INDEX by_token ON users(token);
            CREATE TABLE sessions(content BLOB);
            """)
        for number in 1...60 {
            try database.execute(
                """
                INSERT INTO users(name, token) VALUES ('user \(number)', '\(secret)-\(number)');
                INSERT INTO sessions VALUES (CAST('\(secret)-session-\(number)' AS BLOB));
                """)
        }
        try database.execute(
            """
            DELETE FROM users WHERE id % 3 = 0; UPDATE users SET token = '\(secret)-new' WHERE id = 1;
            DELETE FROM sessions WHERE rowid > 40;
            CREATE TABLE passing(a); INSERT INTO passing SELECT token FROM users; DROP TABLE passing;
            """)
        return database
    }

    private func useAndFail(journal: String, path: String? = nil, transaction: Bool = false) throws {
        let database = try makeStore(try path ?? freshPath("redacted.sqlite"), journal: journal)
        if transaction {
            try database.execute(
                "BEGIN; INSERT INTO users(name, token) VALUES ('open', '\(secret)-open')")
        }
        XCTFail("planned")
    }

    func testWAL() throws { try useAndFail(journal: "wal") }
    func testRollbackJournal() throws { try useAndFail(journal: "delete") }
    func testPersistentJournal() throws { try useAndFail(journal: "persist") }
    func testInMemory() throws { try useAndFail(journal: "memory", path: ":memory:") }
    func testTransactionInWAL() throws { try useAndFail(journal: "wal", transaction: true) }
    func testTransactionWithJournal() throws { try useAndFail(journal: "delete", transaction: true) }

    func testThrownError() throws {
        struct Planned: Error {}
        let database = try makeStore(try freshPath("redacted.sqlite"), journal: "wal")
        defer { try? database.close() }
        try database.execute("BEGIN; INSERT INTO users(name, token) VALUES ('gone', '\(secret)-gone')")
        defer { try? database.execute("ROLLBACK") }
        throw Planned()
    }

    func testClosedStore() throws {
        try makeStore(try freshPath("redacted.sqlite"), journal: "wal").close()
        XCTFail("planned")
    }

    func testClosedInMemory() throws {
        try makeStore(":memory:", journal: "memory").close()
        XCTFail("planned")
    }

    func testFailsAgainAndAgain() throws {
        let database = try makeStore(try freshPath("redacted.sqlite"), journal: "wal")
        XCTFail("planned")
        try database.execute("UPDATE users SET token = '\(secret)-second'")
        XCTFail("planned too")
    }

    func testStatements() throws {
        let database = try makeStore(try freshPath("redacted.sqlite"), journal: "wal")
        try database.execute(
            """
            SELECT name FROM users WHERE token = '\(secret)' OR token = "\(secret)" -- \(secret)
            LIMIT 1; CREATE TRIGGER refuse BEFORE DELETE ON users BEGIN SELECT RAISE(ABORT, 'refused'); END;
            """)
        var statement: OpaquePointer?
        sqlite3_prepare_v2(
            database.handle, "SELECT name FROM users WHERE token = ?", -1, &statement, nil)
        sqlite3_bind_text(statement, 1, secret, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
        while sqlite3_step(statement) == SQLITE_ROW {}
        sqlite3_finalize(statement)
        XCTAssertThrowsError(
            try database.execute("INSERT INTO users SELECT json_extract('{\(secret)', '$.a'), 'x', 'y'"))
        XCTFail("planned")
    }

    func testFullText() throws {
        let database = try makeStore(try freshPath("redacted.sqlite"), journal: "delete")
        try database.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(token); INSERT INTO texts SELECT token FROM users")
        XCTFail("planned")
    }

    /// The application has copied the secret to another table.
    func testCopiedElsewhere() throws {
        let database = try makeStore(try freshPath("redacted.sqlite"), journal: "delete")
        try database.execute("CREATE TABLE elsewhere(a); INSERT INTO elsewhere SELECT token FROM users")
        XCTFail("planned")
    }

    func testStoreThatCannotBeRedacted() throws {
        let path = try freshPath("redacted.sqlite")
        try Data("no database, but \(secret)".utf8).write(to: URL(fileURLWithPath: path))
        let database = try Database(path)
        XCTAssertThrowsError(try database.execute("SELECT * FROM sqlite_master"))
        XCTFail("planned")
    }

    func testIsKilled() throws {
        _ = try makeStore(try freshPath("redacted.sqlite"), journal: "wal")
        killSelf()
    }

    func testFailsAndIsKilled() throws {
        let database = try makeStore(try freshPath("redacted.sqlite"), journal: "wal")
        XCTFail("planned")
        try database.execute("UPDATE users SET token = '\(secret)-after'")
        killSelf()
    }

    func testHangs() throws {
        let database = try makeStore(try freshPath("redacted.sqlite"), journal: "wal")
        while try database.integer("SELECT 1") == 1 { pause() }
    }

    /// Fails until the checks end the process.
    func testFailsForEver() throws {
        let database = try makeStore(try freshPath("redacted.sqlite"), journal: "wal")
        print("failing")
        fflush(nil)
        for number in 1... {
            XCTFail("planned")
            try database.execute("UPDATE users SET token = '\(secret)-\(number)-' || id")
        }
    }
}
