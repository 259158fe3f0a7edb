import CBenchmarkSQLite
import Foundation
import XCTest

/// Failures with a store that the benchmark has made; what is measured is written to a file as JSON.
final class CaptureTests: XCTestCase {
    /// Fails once with the store at `BENCHMARK_STORE` open, and tells when, in nanoseconds of the monotonic
    /// clock, the assertion was reached and left.
    func testFailWithStore() throws {
        let variables = ProcessInfo.processInfo.environment
        let path = try XCTUnwrap(variables["BENCHMARK_STORE"])
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_exec(handle, "SELECT count(*) FROM sqlite_master", nil, nil, nil) == SQLITE_OK
        else { fatalError("Cannot open \(path).") }

        let reached = now()
        XCTFail("a failure")
        let left = now()

        let report = try JSONEncoder().encode(["reached": reached, "left": left])
        try report.write(to: URL(fileURLWithPath: try XCTUnwrap(variables["BENCHMARK_REPORT"])))
    }

    private func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
