import XCTest

/// A failure with an existing store.
final class LargeTests: XCTestCase {
    /// The store at the path in `SUITE_STORE`, which has a table `fruit`.
    func testGivenStore() throws {
        let path = try XCTUnwrap(ProcessInfo.processInfo.environment["SUITE_STORE"])
        let database = try Database(path)
        XCTAssertEqual(try database.integer("SELECT count(*) FROM fruit"), 0, "a large store")
        try database.close()
    }
}
