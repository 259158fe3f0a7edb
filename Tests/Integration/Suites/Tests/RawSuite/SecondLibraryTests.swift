import Foundation
import XCTest

/// A store that a second copy of SQLite has open, as in packages that include SQLite with different symbol
/// names.
///
/// The checks build the copy, and `SECOND_SQLITE` is its path. Discovery can't see its connections.
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
        let database = try SecondDatabase(path, journal: journal)
        try database.execute("INSERT INTO fruit VALUES ('apple')")

        XCTFail("in a second library")

        // A process that finds no lock on a WAL store would remove the WAL when it closes the store.
        XCTAssertEqual(
            try exitStatusOfSQLite3(path, "INSERT INTO fruit VALUES ('pear')"), 0, "a writer was refused"
        )
        try database.execute("INSERT INTO fruit VALUES ('kiwi')")
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
        let database = try SecondDatabase(path, journal: journal)
        try database.execute("INSERT INTO fruit VALUES ('apple')")
        try database.execute("BEGIN IMMEDIATE; INSERT INTO fruit VALUES ('pear')")

        XCTFail("in a second library's transaction")

        XCTAssertNotEqual(
            try exitStatusOfSQLite3(path, "INSERT INTO fruit VALUES ('outside')"), 0,
            "the write lock was lost")
        try database.execute("COMMIT")
        XCTAssertEqual(try exitStatusOfSQLite3(path, "INSERT INTO fruit VALUES ('outside')"), 0)
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
        let database = try SecondDatabase(path, journal: journal)
        try database.execute("INSERT INTO fruit VALUES ('apple')")
        try FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)

        XCTFail("deleted in a second library")

        XCTAssertNil(size(of: path), "the file came back")
        // Without a WAL, SQLite refuses to write to a file without a name.
        if journal == "wal" { try database.execute("INSERT INTO fruit VALUES ('pear')") }
        database.close()
    }
}

/// A connection of the second copy of SQLite.
private final class SecondDatabase {
    private typealias Open =
        @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<OpaquePointer?>) -> Int32
    private typealias Execute =
        @convention(c) (
            OpaquePointer?, UnsafePointer<CChar>, OpaquePointer?, OpaquePointer?, OpaquePointer?
        ) -> Int32
    private typealias Close = @convention(c) (OpaquePointer?) -> Int32

    private let library: UnsafeMutableRawPointer
    private var handle: OpaquePointer?

    /// Opens a store with an empty table `fruit`.
    init(_ path: String, journal: String) throws {
        let name = try XCTUnwrap(ProcessInfo.processInfo.environment["SECOND_SQLITE"])
        library = try XCTUnwrap(dlopen(name, RTLD_NOW | RTLD_LOCAL))
        let open = unsafeBitCast(try symbol("open"), to: Open.self)
        XCTAssertEqual(open(path, &handle), 0)
        try execute("PRAGMA journal_mode = \(journal); CREATE TABLE fruit (name TEXT NOT NULL)")
    }

    func execute(_ sql: String) throws {
        let execute = unsafeBitCast(try symbol("exec"), to: Execute.self)
        XCTAssertEqual(execute(handle, sql, nil, nil, nil), 0, sql)
    }

    func close() {
        guard let symbol = try? symbol("close") else { return }
        XCTAssertEqual(unsafeBitCast(symbol, to: Close.self)(handle), 0)
    }

    private func symbol(_ name: String) throws -> UnsafeMutableRawPointer {
        try XCTUnwrap(dlsym(library, "second_sqlite3_" + name))
    }
}
