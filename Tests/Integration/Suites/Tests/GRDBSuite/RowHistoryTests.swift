import GRDB
import XCTest

/// A store whose rows have a history.
final class RowHistoryTests: XCTestCase {
    /// `shop`: a migration, writes in transactions and savepoints.
    ///
    /// The statements have no parameters, so that the checks can run them again. A comment marks the line of a culprit.
    func testShop() throws {
        let pool = try DatabasePool(path: try freshPath("shop.sqlite"))
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(sql: "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, stock INTEGER)")
            try db.execute(
                sql: "CREATE TABLE sale (item INTEGER REFERENCES item ON DELETE CASCADE, pieces)")
        }
        try migrator.migrate(pool)
        for number in 1...10 {
            try pool.write { db in
                try db.execute(sql: "INSERT INTO item VALUES (\(number), 'item \(number)', 5)")
                try db.execute(sql: "INSERT INTO sale VALUES (\(number), 1)")
            }
        }
        for number in 1...6 {
            let sale = "stock = stock - \(number) WHERE id = \(number)"
            try pool.write { db in
                try db.execute(sql: "UPDATE item SET \(sale)")  // line: sell
                try db.execute(sql: "INSERT INTO sale VALUES (\(number), \(number))")
            }
        }
        try pool.write { db in
            try db.inSavepoint {
                try db.execute(sql: "UPDATE item SET name = 'lost'")
                return .rollback
            }
            try db.execute(sql: "DELETE FROM item WHERE id = 9")  // line: delete
        }
        try pool.write { try $0.execute(sql: "UPDATE item SET stock = 1 WHERE stock < 0") }
        XCTFail("with a history")
    }
}
