import GRDB
import XCTest

/// A database whose statements the application traces.
final class TraceTests: XCTestCase {
    private final class Heard: @unchecked Sendable {
        var events: [String] = []
    }

    /// `traced`: apple; all statements are in the log.
    func testATracedDatabase() throws {
        let heard = Heard()
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            db.trace(options: [.statement, .profile]) { heard.events.append($0.description) }
        }
        let queue = try DatabaseQueue(path: try freshPath("traced.sqlite"), configuration: configuration)
        try queue.plant("apple")
        let inserts = heard.events.filter { $0.contains("INSERT INTO \"fruit\"") }
        // The start and the end.
        XCTAssertEqual(inserts.count, 2, "\(heard.events)")
        let count = heard.events.count
        XCTFail("traced by GRDB")
        XCTAssertEqual(heard.events.count, count, "the trace heard a statement")
    }
}
