import GRDB
import XCTest

/// Errors of GRDB, whose descriptions have SQLite's message and the statement.
final class FailedStatementTests: XCTestCase {
    func testUnknownFunction() throws {
        let queue = try DatabaseQueue()
        try queue.plant("apple")
        _ = try queue.read { try String.fetchAll($0, sql: "SELECT jsonb_foo(name) FROM fruit") }
    }
}
