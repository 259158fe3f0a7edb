import Ledger
import XCTest

/// Statements that another connection's transaction keeps out.
final class StudioLockTests: LedgerTestCase {
    private func studio(busyTimeout: Int32 = 0) throws -> Studio {
        let studio = try Studio(connect("studio.db", busyTimeout: busyTimeout))
        if try studio.number("SELECT count(*) FROM member") == 0 {
            for name in ["Ann", "Bo", "Cy", "Dee"] { try studio.join(name, email: nil) }
            try studio.rename(9, "Nobody")
        }
        return studio
    }

    /// Fails with an error's text without its statement.
    private func expectNoLock(_ body: () throws -> Void) {
        do { try body() } catch let error as SQLError { XCTFail(error.message) } catch {
            XCTFail("\(error)")
        }
    }

    // Expected: lines
    func testDeskWaits() throws {
        let (studio, desk) = (try studio(), try studio(busyTimeout: 50))
        try studio.begin()
        try studio.join("Eli", email: nil)
        try desk.rename(1, "Anna")
    }

    // Expected: lines
    func testBegins() throws {
        let (studio, desk) = (try studio(), try studio())
        try studio.begin()
        try studio.join("Eli", email: nil)
        expectNoLock { try desk.begin() }
    }

    // Expected: lines
    func testUpgrade() throws {
        let (studio, desk) = (try studio(), try studio())
        try desk.beginReading()
        XCTAssertEqual(try desk.number("SELECT count(*) FROM member"), 4)
        try studio.begin()
        try studio.join("Eli", email: nil)
        expectNoLock { try desk.rename(1, "Anna") }
    }

    // Expected: lines
    func testOldRows() throws {
        let (studio, desk) = (try studio(), try studio())
        try desk.beginReading()
        XCTAssertEqual(try desk.number("SELECT count(*) FROM member"), 4)
        try studio.join("Eli", email: nil)
        expectNoLock { try desk.rename(1, "Anna") }
    }

    // Expected: lines
    func testCursor() throws {
        let (studio, desk) = (try studio(), try studio())
        let cursor = try desk.members()
        XCTAssertNotNil(cursor.next())  // Culprit: testCursor
        expectNoLock { try studio.join("Eli", email: nil) }
    }
}
