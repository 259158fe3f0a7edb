import CSuiteSQLite
import Foundation
import XCTest

/// Tests that fail because SQLite can't open or read their store.
final class UnusableStoreTests: XCTestCase {
    /// The store of the environment, which another process has locked.
    func testAnotherProcessHasTheLock() throws {
        fails(try XCTUnwrap(ProcessInfo.processInfo.environment["SUITE_LOCKED"]), SQLITE_BUSY)
    }

    /// `locked`: none, because its table isn't committed.
    func testAnotherConnectionHasTheLock() throws {
        let path = try freshPath("locked.sqlite")
        let other = try openStore(path, journal: "delete")
        try execute("BEGIN EXCLUSIVE", on: other)
        fails(path, SQLITE_BUSY)
        XCTAssertEqual(sqlite3_close(other), SQLITE_OK)
    }

    /// The first test leaves a connection that has a lock, the second one finds it.
    nonisolated(unsafe) private static var left: (path: String, handle: OpaquePointer?)?

    func testLeft1Passes() throws {
        let path = try freshPath("left.sqlite")
        let handle = try openStore(path, journal: "delete", fruit: "apple")
        try execute("BEGIN EXCLUSIVE", on: handle)
        Self.left = (path, handle)
    }

    func testLeft2Fails() throws {
        fails(try XCTUnwrap(Self.left?.path), SQLITE_BUSY)
    }

    func testDirectory() throws { fails(try freshPath(""), SQLITE_CANTOPEN) }

    func testMissing() throws { fails(try freshPath("missing.sqlite"), SQLITE_CANTOPEN) }

    func testNoDatabase() throws {
        let path = try freshPath("text.sqlite")
        try Data(
            "This is no database, but a text of more than 100 bytes. \(String(repeating: "x", count: 100))"
                .utf8
        )
        .write(to: URL(fileURLWithPath: path))
        fails(path, SQLITE_NOTADB)
    }

    /// Opens the store, runs a statement, closes it, and fails if that has the expected result.
    private func fails(_ path: String, _ expected: Int32) {
        var handle: OpaquePointer?
        var code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil)
        if code == SQLITE_OK { code = sqlite3_exec(handle, "SELECT * FROM fruit", nil, nil, nil) }
        let message = String(cString: sqlite3_errmsg(handle))
        XCTAssertEqual(sqlite3_close(handle), SQLITE_OK)
        XCTAssertNotEqual(code, expected, message)
    }
}
