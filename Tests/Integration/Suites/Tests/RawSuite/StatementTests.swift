import CSuiteCallbacks
import CSuiteSQLite
import XCTest

/// The recorded statements before a failure.
final class StatementTests: XCTestCase {
    private nonisolated(unsafe) static var earlier: Database?

    override class func setUp() {
        earlier = try? Database(
            try freshPath("statements.sqlite"), journal: "wal", fruit: "apple")
    }

    override class func tearDown() { earlier = nil }

    /// `statements`: apple, pear, plum.
    func testStatementsOfTwoConnections() throws {
        let database = try XCTUnwrap(Self.earlier)
        try database.execute("CREATE UNIQUE INDEX by_name ON fruit (name)")
        let path = String(cString: try XCTUnwrap(sqlite3_db_filename(database.handle, "main")))
        let other = try Database(path)
        try other.add("pear")
        XCTAssertThrowsError(try database.add("apple"))
        let long = "INSERT /* \(String(repeating: "long ", count: 60)) */ INTO fruit VALUES ('apple')"
        XCTAssertThrowsError(try database.execute(long))
        XCTAssertThrowsError(try database.execute("INSERT INTO vegetables VALUES ('leek')"))
        try database.execute("INSERT INTO fruit\n\tVALUES ('plum') -- \"ä\" \\ \u{1}")
        try other.close()
        XCTAssertThrowsError(try database.execute(long))
        XCTFail("after some statements")
    }

    /// `replaced`: apple, pear.
    func testAReplacedTrace() throws {
        let database = try Database(try freshPath("replaced.sqlite"), journal: "wal", fruit: "apple")
        suite_replace_trace(UnsafeMutableRawPointer(database.handle))
        try database.add("pear")
        XCTFail("the trace was replaced")
        try database.close()
    }

    /// `scanned`: 2,000 rows.
    func testAScan() throws {
        let database = try Database(try freshPath("scanned.sqlite"), journal: "wal")
        try database.execute(
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000) "
                + "INSERT INTO fruit SELECT n FROM c")
        try database.execute("SELECT * FROM fruit WHERE name = 'plum' ORDER BY name DESC")
        XCTFail("scanned")
        try database.close()
    }
}
