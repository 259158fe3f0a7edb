import GRDB
import XCTest

final class UnusableQueueTests: XCTestCase {
    /// The initializer throws: the path is a directory.
    func testDirectory() throws { _ = try DatabaseQueue(path: try freshPath("")) }
}
