import CSuiteSQLite
import Foundation
import XCTest

/// The values that SQLite passed to the application.
///
/// C callbacks find them through a pointer.
private final class Heard {
    var logged = 0
    var statements: [String] = []
    var commits = 0
    var rollbacks = 0
    var updates = 0

    var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func from(_ context: UnsafeMutableRawPointer?) -> Heard? {
        context.map { Unmanaged<Heard>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// An application that configures SQLite itself.
///
/// Every other check here is the test's own. The planned failure is the only one if nothing interferes.
final class ApplicationTests: XCTestCase {
    /// `configured`: apple.
    func testConfiguresAndShutsDownBeforeTheFirstOpen() throws {
        let heard = Heard()
        let log: @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?) -> Void = {
            context, _, _ in Heard.from(context)?.logged += 1
        }
        XCTAssertEqual(suite_config_serialized(), SQLITE_OK, "the first configuration")
        XCTAssertEqual(suite_config_log(log, heard.context), SQLITE_OK, "the first log")
        XCTAssertEqual(sqlite3_initialize(), SQLITE_OK)
        XCTAssertEqual(sqlite3_shutdown(), SQLITE_OK, "the first shutdown")
        XCTAssertEqual(suite_config_log(log, heard.context), SQLITE_OK, "the second log")

        let early = try Database(try freshPath("early.sqlite"), journal: "wal", fruit: "kiwi")
        XCTAssertThrowsError(try early.execute("INSERT INTO vegetables VALUES ('leek')"))
        XCTAssertEqual(heard.logged, 1)
        try early.close()
        XCTAssertEqual(sqlite3_shutdown(), SQLITE_OK, "the second shutdown")
        XCTAssertEqual(suite_config_log(log, heard.context), SQLITE_OK, "the third log")

        let path = try freshPath("configured.sqlite")
        let database = try Database(path, journal: "wal", fruit: "apple")
        XCTAssertThrowsError(try database.execute("INSERT INTO vegetables VALUES ('leek')"))
        XCTAssertEqual(heard.logged, 2)

        XCTFail("configured by the application")

        XCTAssertThrowsError(try database.execute("INSERT INTO vegetables VALUES ('leek')"))
        XCTAssertEqual(heard.logged, 3, "the application's log is not called as before")
        try database.close()
        XCTAssertEqual(sqlite3_shutdown(), SQLITE_OK, "the last shutdown")
        XCTAssertEqual(suite_config_log(nil, nil), SQLITE_OK, "the last log")
    }

    /// An earlier process has left a store, which is recovered with SQLite.
    func testConfiguresAfterARecovery() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: "failure-artifacts")
        XCTAssertTrue(files.contains { $0.hasSuffix(".zip") }, "the bundle isn't there yet")
        XCTAssertEqual(suite_config_serialized(), SQLITE_OK)
    }

    /// `hooked`: apple, and one row of each function's result.
    func testSetsItsOwnTraceHooksAndFunctions() throws {
        let heard = Heard()
        let database = try Database(try freshPath("hooked.sqlite"))
        let handle = database.handle
        sqlite3_trace_v2(
            handle, UInt32(SQLITE_TRACE_STMT),
            { _, context, statement, _ in
                let sql = sqlite3_sql(OpaquePointer(statement)).map { String(cString: $0) }
                Heard.from(context)?.statements.append(sql ?? "?")
                return 0
            }, heard.context)
        sqlite3_commit_hook(
            handle,
            { context in
                Heard.from(context)?.commits += 1
                return 0
            }, heard.context)
        sqlite3_rollback_hook(handle, { Heard.from($0)?.rollbacks += 1 }, heard.context)
        sqlite3_update_hook(
            handle, { context, _, _, _, _ in Heard.from(context)?.updates += 1 }, heard.context)
        sqlite3_create_function_v2(
            handle, "ripe", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
            { context, _, values in
                sqlite3_result_int64(context, sqlite3_value_int64(values?[0]) + 1)
            }, nil, nil, nil)

        try database.execute("CREATE TABLE fruit (name TEXT NOT NULL)")
        try database.execute("INSERT INTO fruit VALUES ('apple')")
        try database.execute("INSERT INTO fruit VALUES (ripe(41))")
        let expected = [
            "CREATE TABLE fruit (name TEXT NOT NULL)", "INSERT INTO fruit VALUES ('apple')",
            "INSERT INTO fruit VALUES (ripe(41))",
        ]
        XCTAssertEqual(heard.statements, expected)
        XCTAssertEqual([heard.commits, heard.rollbacks, heard.updates], [3, 0, 2])
        let changes = [sqlite3_total_changes(handle), sqlite3_changes(handle)]
        let lastRow = sqlite3_last_insert_rowid(handle)

        XCTFail("hooked by the application")

        XCTAssertEqual(heard.statements, expected, "the trace heard a statement")
        XCTAssertEqual([heard.commits, heard.rollbacks, heard.updates], [3, 0, 2], "a hook was called")
        XCTAssertEqual([sqlite3_total_changes(handle), sqlite3_changes(handle)], changes)
        XCTAssertEqual(sqlite3_last_insert_rowid(handle), lastRow)
        try database.execute("BEGIN; INSERT INTO fruit VALUES (ripe(1)); ROLLBACK")
        XCTAssertEqual(
            heard.statements, expected + ["BEGIN;", "INSERT INTO fruit VALUES (ripe(1));", "ROLLBACK"])
        XCTAssertEqual([heard.commits, heard.rollbacks, heard.updates], [3, 1, 3], "a hook is lost")
        try database.close()
    }
}
