import CSuiteCallbacks
import CSuiteSQLite
import Foundation
import XCTest

/// Tests in a process in which a library opened stores when the process started.
final class FrameworkTests: XCTestCase {
    /// `own`: apple, and the stores that don't belong to a framework.
    func testFailsBesideThem() throws {
        let own = try Database(try freshPath("own.sqlite"), journal: "wal", fruit: "apple")
        // The library is linked even if nothing else calls it.
        XCTAssertEqual(suite_run(UnsafeMutableRawPointer(own.handle), "SELECT 1"), SQLITE_OK)
        XCTFail("beside stores of frameworks")
        try own.close()
    }
}
