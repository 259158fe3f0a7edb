import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

/// Stores whose logs have the bound values, so that the statements can be replayed.
///
/// Each test fails.
final class ReplayTests: XCTestCase {
    override func setUp() { CaptureConfiguration.current.recordsBoundValues = true }

    override func tearDown() { CaptureConfiguration.current.recordsBoundValues = false }

    /// Runs a statement with one text as its value.
    private func run(_ sql: String, _ text: String, on database: Database) {
        var statement: OpaquePointer?
        XCTAssertEqual(sqlite3_prepare_v2(database.handle, sql, -1, &statement, nil), SQLITE_OK)
        text.withCString { text in
            XCTAssertEqual(sqlite3_bind_text(statement, 1, text, -1, nil), SQLITE_OK)
            XCTAssertEqual(sqlite3_step(statement), SQLITE_DONE)
        }
        sqlite3_finalize(statement)
    }

    /// `shop`: the statements alone lead to its content.
    func testStatementsAlone() throws {
        let database = try Database(try freshPath("shop.sqlite"), journal: "wal", fruit: "apple")
        run("INSERT INTO fruit (name) VALUES (?)", "pear's", on: database)
        try database.execute("BEGIN")
        run("UPDATE fruit SET name = ? WHERE name = 'apple'", "kiwi", on: database)
        try database.execute("COMMIT")
        XCTFail("replayed")
        try database.close()
    }

    /// `shop`: small updates, some of which leave rows or pages as they were.
    func testSmallUpdates() throws {
        let database = try Database(try freshPath("shop.sqlite"), journal: "wal", fruit: "apple")
        try database.execute(
            "CREATE TABLE stock (code TEXT PRIMARY KEY, amount INTEGER, note TEXT); "
                + "CREATE INDEX stock_note ON stock (note); INSERT INTO stock VALUES ('a', 1, 'x'), ('b', 2, 'y')"
        )
        for sql in [
            "UPDATE stock SET amount = 3 WHERE code = 'a'",
            "UPDATE stock SET amount = 3 WHERE code = 'a'",
            "UPDATE stock SET note = 'x' WHERE code = 'a'", "UPDATE stock SET note = note",
            "UPDATE stock SET code = 'c' WHERE code = 'b'", "UPDATE fruit SET rowid = 7",
            "UPDATE stock SET amount = 4 WHERE code = 'none'",
            "INSERT INTO stock VALUES ('a', 9, 'z') ON CONFLICT (code) DO UPDATE SET amount = 3",
            "REPLACE INTO stock VALUES ('a', 3, 'x')",
            "BEGIN; UPDATE stock SET amount = 5 WHERE code = 'a'; UPDATE stock SET amount = 3 WHERE code = 'a'; COMMIT",
            "UPDATE stock SET amount = 6 WHERE code = 'a'",
        ] {
            try database.execute(sql)
        }
        XCTFail("replayed")
        try database.close()
    }

    /// `shop`: another process adds a plum.
    func testAnotherProcess() throws {
        let path = try freshPath("shop.sqlite")
        let database = try Database(path, journal: "wal", fruit: "apple")
        run("INSERT INTO fruit (name) VALUES (?)", "pear", on: database)
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        other.arguments = ["sqlite3", path, "INSERT INTO fruit (name) VALUES ('plum')"]
        try other.run()
        other.waitUntilExit()
        XCTAssertEqual(other.terminationStatus, 0)
        run("INSERT INTO fruit (name) VALUES (?)", "kiwi", on: database)
        XCTFail("changed by another process")
        try database.close()
    }
}
