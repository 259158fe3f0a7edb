import CBenchmarkSQLite
import FailureArtifacts
import Foundation
import XCTest

/// Failing tests with a store that the benchmark created.
///
/// They write the measurements to a JSON file.
final class CaptureTests: XCTestCase {
    /// Fails once with the store at `BENCHMARK_STORE` open.
    ///
    /// Records when the assertion started and ended, in nanoseconds of the monotonic clock.
    func testFailWithStore() throws {
        let variables = ProcessInfo.processInfo.environment
        let path = try XCTUnwrap(variables["BENCHMARK_STORE"])
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_exec(handle, "SELECT count(*) FROM sqlite_master", nil, nil, nil) == SQLITE_OK
        else { fatalError("Cannot open \(path).") }
        if variables["BENCHMARK_WRITES"] == "1" {
            let code = sqlite3_exec(
                handle, "UPDATE note SET score = score + 1 WHERE id % 100 = 0", nil, nil, nil)
            guard code == SQLITE_OK else { fatalError("Cannot write to \(path).") }
        }
        // Small transactions, of which each third one changes a row of the large table.
        if let count = Int(variables["BENCHMARK_TRANSACTIONS"] ?? ""), count > 0 {
            let schema = "PRAGMA wal_autocheckpoint = 0; CREATE TABLE tally(id INTEGER PRIMARY KEY, n)"
            guard sqlite3_exec(handle, schema, nil, nil, nil) == SQLITE_OK else {
                fatalError("Cannot write to \(path).")
            }
            for number in 1..<count {
                let sql =
                    number % 3 == 0
                    ? "UPDATE note SET score = -score WHERE id = \(number)"
                    : "INSERT INTO tally(n) VALUES (\(number))"
                guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { fatalError(sql) }
            }
        }

        // The number that the assertion compares.
        let number = try variables["BENCHMARK_QUERY"].map { try integer(of: $0, handle) } ?? 0
        let reached = now()
        XCTAssertEqual(number, -1)
        let left = now()

        let report = try JSONEncoder().encode(["reached": reached, "left": left])
        try report.write(to: URL(fileURLWithPath: try XCTUnwrap(variables["BENCHMARK_REPORT"])))
    }

    private func integer(of sql: String, _ handle: OpaquePointer?) throws -> Int64 {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
        guard code == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW else { fatalError(sql) }
        return sqlite3_column_int64(statement, 0)
    }
}

/// Failing tests, one after the other, each with the store at `BENCHMARK_STORE` open.
final class SmallCaptureTests: XCTestCase {
    func testNothing() {}

    /// Runs `BENCHMARK_COUNT` tests after all other tests.
    ///
    /// Records for each the nanoseconds from its failure until its end, when its bundle is complete.
    override class func tearDown() {
        let variables = ProcessInfo.processInfo.environment
        CaptureConfiguration.current.packsInBackground = variables["BENCHMARK_BACKGROUND"] != nil
        guard let path = variables["BENCHMARK_STORE"], let report = variables["BENCHMARK_REPORT"],
            let count = Int(variables["BENCHMARK_COUNT"] ?? "")
        else { fatalError("BENCHMARK_STORE, BENCHMARK_REPORT or BENCHMARK_COUNT is missing.") }
        var times: [UInt64] = []
        for _ in 0..<count {
            var reached: UInt64 = 0
            let test = OneFailureTest(name: "testFailure") { _ in
                var handle: OpaquePointer?
                guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
                    sqlite3_exec(handle, "SELECT count(*) FROM note", nil, nil, nil) == SQLITE_OK
                else { fatalError("Cannot open \(path).") }
                reached = now()
                XCTFail("a failure")
                sqlite3_close(handle)
            }
            test.run()
            times.append(now() - reached)
        }
        do {
            try JSONEncoder().encode(times).write(to: URL(fileURLWithPath: report))
        } catch {
            fatalError("\(error)")
        }
    }
}

/// A test created at run time.
private final class OneFailureTest: XCTestCase {}

private func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
