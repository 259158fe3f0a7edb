import Foundation
import XCTest

/// The kilos of apples in the stores; 3 is too few.
private let kilos = ProcessInfo.processInfo.environment["SUITE_KILOS"] ?? "4"

/// Tests that fail on one attempt and pass on another.
///
/// Their stores are gone at their end.
final class RetriedTests: XCTestCase {
    private var directory = ""
    private var database: Database?

    override func setUpWithError() throws {
        let path = try freshPath("open.sqlite")
        directory = (path as NSString).deletingLastPathComponent
        let database = try Database(path)
        try database.execute(
            "PRAGMA journal_mode = wal; CREATE TABLE fruit (name TEXT PRIMARY KEY, kilos INTEGER)")
        self.database = database
    }

    override func tearDownWithError() throws {
        XCTAssertNotEqual(kilos, "5", "in tearDown")
        try database?.execute("DELETE FROM fruit")
        try database?.close()
        try FileManager.default.removeItem(atPath: directory)
    }

    private func plant(_ database: Database?) throws {
        let apples = Int(kilos)
        try database?.execute("INSERT INTO fruit VALUES ('apple', \(apples ?? 0)), ('pear', 1)")
        if apples == nil { abort() }
    }

    /// `open`: apple, pear.
    func testOpen() throws {
        try plant(database)
        XCTAssertNotEqual(kilos, "3", "too little")
    }

    /// `open`: empty; `closed`: apple, pear, although its file is deleted before the test ends.
    func testClosed() throws {
        let path = directory + "/closed.sqlite"
        let database = try Database(path)
        addTeardownBlock {
            XCTAssertNoThrow(try database.close())
            XCTAssertNoThrow(try FileManager.default.removeItem(atPath: path))
        }
        try database.execute("CREATE TABLE fruit (name TEXT PRIMARY KEY, kilos INTEGER)")
        try plant(database)
        XCTAssertNotEqual(kilos, "3", "too little")
    }

    /// `open`: empty; `memory`: apple, pear, closed within the test.
    func testMemory() throws {
        let database = try Database(":memory:")
        try database.execute("CREATE TABLE fruit (name TEXT PRIMARY KEY, kilos INTEGER)")
        try plant(database)
        XCTAssertNotEqual(kilos, "3", "too little")
        try database.close()
    }

    /// Neither failed nor passed.
    func testSkipped() throws {
        try plant(database)
        throw XCTSkip("not today")
    }

    /// `open`: apple, pear.
    func testAsynchronous() async throws {
        try plant(database)
        await Task.yield()
        XCTAssertNotEqual(kilos, "3", "too little")
    }
}
