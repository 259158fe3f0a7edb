import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

/// Baselines: bundles that ask for them have the stores' content from when the test began to use them.
///
/// Each test fails, unless its name says that it passes.
final class BaselineTests: XCTestCase {
    private static let shared: Database? = try? Database(
        freshPath("shared.sqlite"), journal: "wal", fruit: "apple")

    override class func setUp() {
        CaptureConfiguration.current.baseline = true
        XCTAssertNotNil(shared)
    }

    override class func tearDown() {
        CaptureConfiguration.current.baseline = false
        sqlite3_finalize(addition)
        XCTAssertNoThrow(try shared?.close())
    }

    /// Creates a file with apple and pear that no connection has open.
    ///
    /// - Parameters:
    ///   - journal: The journal mode.
    ///   - ballast: The number of additional bytes.
    /// - Returns: The file's path.
    /// - Throws: An error if the file can't be created.
    private func template(journal: String, ballast: Int = 0) throws -> String {
        let original = try freshPath("original.sqlite")
        let database = try Database(original, journal: journal, fruit: "apple", "pear")
        if ballast > 0 {
            try database.execute(
                "CREATE TABLE ballast (content); INSERT INTO ballast VALUES (zeroblob(\(ballast)))")
        }
        try database.close()
        let path = try freshPath("template.sqlite")
        try FileManager.default.copyItem(atPath: original, toPath: path)
        try FileManager.default.removeItem(atPath: original)
        return path
    }

    /// `template`: from apple, pear to kiwi.
    func testTemplateInWALMode() throws {
        let database = try Database(template(journal: "wal"))
        try database.execute("DELETE FROM fruit; INSERT INTO fruit VALUES ('kiwi')")
        XCTFail("template")
        try database.close()
    }

    /// `template`: from apple, pear to kiwi.
    func testTemplateWithARollbackJournal() throws {
        let database = try Database(template(journal: "delete"))
        try database.execute("BEGIN; DELETE FROM fruit; INSERT INTO fruit VALUES ('kiwi'); COMMIT")
        XCTFail("template")
        try database.close()
    }

    /// `template`: from apple, pear to pear, kiwi, over two connections one after the other.
    func testStoreThatWasClosedMeanwhile() throws {
        let path = try template(journal: "wal")
        let first = try Database(path)
        try first.execute("DELETE FROM fruit WHERE name = 'apple'")
        try first.close()
        let second = try Database(path)
        try second.add("kiwi")
        XCTFail("reopened")
        try second.close()
    }

    /// `template`: from apple, pear to pear, closed before the failure.
    func testStoreThatIsClosed() throws {
        let database = try Database(template(journal: "delete"))
        try database.execute("DELETE FROM fruit WHERE name = 'apple'")
        try database.close()
        XCTFail("closed")
    }

    /// `memory`: from nothing to apple.
    func testNewStoreInMemory() throws {
        let database = try Database(":memory:")
        // These settings require an empty store.
        try database.execute(
            "PRAGMA page_size = 1024; PRAGMA encoding = 'UTF-16le'; PRAGMA auto_vacuum = 1")
        try database.execute("CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple')")
        XCTAssertEqual(try database.integer("PRAGMA page_size"), 1024)
        XCTAssertEqual(try database.integer("PRAGMA auto_vacuum"), 1)
        XCTAssertEqual(
            try database.integer("SELECT encoding = 'UTF-16le' FROM pragma_encoding"), 1)
        XCTFail("memory")
        try database.close()
    }

    /// `template`: larger than the limit for saved states.
    func testStoreBeyondTheLimit() throws {
        let limit = Int(CaptureConfiguration.current.maximumKeptBytes)
        let database = try Database(template(journal: "wal", ballast: limit + 1))
        try database.add("kiwi")
        XCTFail("large")
        try database.close()
    }

    /// `template`: from apple, pear to eight more, added by as many threads that start at the same time.
    func testStoreThatThreadsBeginToUseAtOnce() throws {
        let path = try template(journal: "wal")
        let databases = try (0..<8).map { _ in try Database(path) }
        // Not set by a statement, which would be the first use.
        for database in databases { sqlite3_busy_timeout(database.handle, 10_000) }
        let gate = DispatchSemaphore(value: 0)
        let done = DispatchGroup()
        for database in databases {
            let thread = Thread {
                gate.wait()
                // A row that can't be added is missing from the copy.
                try? database.add("kiwi")
                done.leave()
            }
            done.enter()
            thread.start()
        }
        for _ in databases { gate.signal() }
        done.wait()
        XCTFail("threads")
        for database in databases { try database.close() }
    }

    /// A statement that is prepared once for all tests, as by libraries that cache statements.
    private nonisolated(unsafe) static let addition: OpaquePointer? = {
        var statement: OpaquePointer?
        let sql = "INSERT INTO fruit (name) VALUES (?)"
        XCTAssertEqual(sqlite3_prepare_v2(shared?.handle, sql, -1, &statement, nil), SQLITE_OK)
        return statement
    }()

    private func addToShared(_ fruit: String) {
        fruit.withCString { text in
            XCTAssertEqual(sqlite3_bind_text(Self.addition, 1, text, -1, nil), SQLITE_OK)
            XCTAssertEqual(sqlite3_step(Self.addition), SQLITE_DONE)
            XCTAssertEqual(sqlite3_reset(Self.addition), SQLITE_OK)
        }
    }

    func testThatUsesTheSharedStoreAndPasses() {
        addToShared("pear")
        addToShared("plum")
    }

    /// `shared`: from apple to apple, kiwi.
    ///
    /// If the test above has run, from apple, pear, plum to one more.
    func testWithTheSharedStore() {
        addToShared("kiwi")
        XCTFail("shared")
    }
}
