import Foundation
import XCTest

/// A store whose transactions the checks choose.
final class SmallHistoryTests: XCTestCase {
    /// `small`: the steps in the variable `SUITE_STEPS`, each of which is the number of a connection and a statement.
    ///
    /// A statement may fail.
    func testSteps() throws {
        let text = try XCTUnwrap(ProcessInfo.processInfo.environment["SUITE_STEPS"])
        let path = try freshPath("small.sqlite")
        var databases: [String: Database] = [:]
        for step in try JSONDecoder().decode([[String]].self, from: Data(text.utf8)) {
            let database = try databases[step[0]] ?? Database(path)
            databases[step[0]] = database
            try? database.execute(step[1])
        }
        XCTFail("after the steps")
        for database in databases.values { try database.close() }
    }
}
