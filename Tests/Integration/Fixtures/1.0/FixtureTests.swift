import Foundation
import XCTest

// The bundles name the file without the folder of a checkout.
#sourceLocation(file: "FixtureTests.swift", line: 6)

/// The tests that left the bundles in this folder.
///
/// The file belongs to no target. `README.md` says how the bundles were made with it.
final class FixtureTests: XCTestCase {
    private func makeLedger(_ path: String) throws -> Database {
        let database = try Database(path)
        try database.execute(
            """
            PRAGMA journal_mode = wal;
            CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT NOT NULL, cents INTEGER NOT NULL);
            """)
        try database.execute("INSERT INTO account VALUES (1, 'Cash', 500), (2, 'Bank', 900)")
        try database.execute("UPDATE account SET cents = 400 WHERE id = 1")
        try database.execute("INSERT INTO account VALUES (3, 'Loan', -300)")
        return database
    }

    /// Two stores; the ledger has a history and an open transaction.
    func testOrdinary() throws {
        let ledger = try makeLedger(try freshPath("ledger.sqlite"))
        let settings = try Database(try freshPath("settings.sqlite"))
        try settings.execute(
            "CREATE TABLE setting(key TEXT PRIMARY KEY, value); INSERT INTO setting VALUES ('theme', 'dark')")
        try ledger.execute("BEGIN; DELETE FROM account WHERE id = 2; UPDATE account SET cents = 1 WHERE id = 1")
        XCTAssertEqual(try ledger.integer("SELECT sum(cents) FROM account"), 1000, "the sum is wrong")
    }

    /// Two failures with a change between them.
    func testFailsTwice() throws {
        let ledger = try makeLedger(try freshPath("ledger.sqlite"))
        XCTFail("the first failure")
        try ledger.execute("INSERT INTO account VALUES (4, 'Late', 0)")
        XCTFail("the second failure")
    }

    func testRedacted() throws {
        let users = try Database(try freshPath("users.sqlite"))
        try users.execute(
            """
            PRAGMA journal_mode = wal;
            CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT, token TEXT);
            CREATE TABLE session(content TEXT);
            """)
        try users.execute("INSERT INTO user VALUES (1, 'Ada', 'fixture-secret-1'), (2, 'Bo', 'fixture-secret-2')")
        try users.execute("INSERT INTO session VALUES ('fixture-secret-3')")
        XCTFail("after the secrets were stored")
    }

    func testIsKilled() throws {
        let ledger = try makeLedger(try freshPath("ledger.sqlite"))
        try ledger.execute("BEGIN; DELETE FROM account")
        kill(getpid(), SIGKILL)
        pause()
    }

    /// The same store as in `testSharesSecond`.
    func testSharesFirst() throws { try failWithTheSameStore() }

    func testSharesSecond() throws { try failWithTheSameStore() }

    private func failWithTheSameStore() throws {
        let same = try Database(try freshPath("same.sqlite"))
        try same.execute("CREATE TABLE fruit(name TEXT); INSERT INTO fruit VALUES ('apple'), ('pear')")
        XCTFail("the same store as another test")
    }
}
