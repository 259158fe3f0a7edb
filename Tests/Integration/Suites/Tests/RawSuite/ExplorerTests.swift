import CSuiteSQLite
import XCTest

/// A store with a long history, for the page of the report.
final class ExplorerTests: XCTestCase {
    /// `steps`: 500 transactions on 10,000 rows, of which one sets a wrong value.
    func testManySteps() throws {
        let database = try Database(try freshPath("steps.sqlite"), journal: "wal", fruit: "apple")
        try database.execute("PRAGMA wal_autocheckpoint = 0")
        try database.execute(
            """
            CREATE TABLE movement (id INTEGER PRIMARY KEY, account INTEGER, cents INTEGER, note TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
            INSERT INTO movement SELECT i, i % 7, 100, 'movement ' || i FROM n
            """)
        for number in 1...500 {
            let cents = number == 321 ? -9999 : 100 + number
            // One transaction changes another table, too.
            if number == 400 {
                try database.execute("BEGIN; UPDATE fruit SET name = 'movement'")
            }
            try database.execute("UPDATE movement SET cents = \(cents) WHERE id = \(number * 17)")
            if number == 400 { try database.execute("COMMIT") }
        }
        XCTAssertEqual(try database.integer("SELECT min(cents) FROM movement"), 100)
        try database.close()
    }
}
