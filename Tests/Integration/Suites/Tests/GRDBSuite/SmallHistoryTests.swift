import GRDB
import XCTest

/// A store with a few transactions of several connections.
final class SmallHistoryTests: XCTestCase {
    /// `small`: two pools that write in turn, one of them in savepoints.
    ///
    /// The statements have no parameters, so that the checks can run them again.
    func testPools() throws {
        let path = try freshPath("small.sqlite")
        let pool = try DatabasePool(path: path)
        let other = try DatabasePool(path: path)
        try pool.write { db in
            try db.execute(sql: "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, stock INTEGER)")
            try db.execute(
                sql: "CREATE TABLE sale (item REFERENCES item ON UPDATE CASCADE ON DELETE CASCADE)")
        }
        try other.write { db in
            try db.execute(sql: "INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
        }
        try pool.write { db in
            try db.inSavepoint {
                try db.execute(sql: "UPDATE item SET stock = 0")
                return .rollback
            }
            try db.execute(sql: "INSERT INTO sale SELECT id FROM item")
        }
        try other.writeWithoutTransaction { db in
            try db.execute(sql: "UPDATE item SET stock = 3 WHERE id = 3")
            try db.execute(sql: "UPDATE item SET id = 4 WHERE id = 3")
        }
        _ = try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sale") }
        try pool.write { db in
            try db.execute(sql: "UPDATE item SET stock = 9 WHERE id = 7")
            try db.execute(sql: "DELETE FROM item WHERE id = 1")
        }
        try other.write { db in
            try db.execute(sql: "UPDATE item SET stock = stock + 1 WHERE id = 2")
        }
        XCTFail("with a history")
    }
}
