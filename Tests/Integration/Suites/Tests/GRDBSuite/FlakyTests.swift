import Foundation
import GRDB
import XCTest

final class FlakyTests: XCTestCase {
    /// `shop`: each run counts itself in a file, and the run that `FLAKY_RUN` names takes too much out of stock.
    ///
    /// The times and the identifiers differ from run to run. With `FLAKY_END`, the run crashes or hangs before the
    /// assertion.
    func testStock() throws {
        let variables = ProcessInfo.processInfo.environment
        let counter = URL(fileURLWithPath: try XCTUnwrap(variables["FLAKY_COUNTER"]))
        let number = 1 + ((try? String(contentsOf: counter, encoding: .utf8)).flatMap { Int($0) } ?? 0)
        try String(number).write(to: counter, atomically: true, encoding: .utf8)
        let pool = try DatabasePool(path: try freshPath("shop.sqlite"))
        try pool.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE product(id INTEGER PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL);
                    CREATE TABLE sale(id TEXT PRIMARY KEY, productID INTEGER NOT NULL, soldAt TEXT NOT NULL)
                    """)
            for name in ["apple", "pear", "plum"] {
                try db.execute(
                    sql: "INSERT INTO product (name, stock) VALUES (?, 20)", arguments: [name])
            }
        }
        for product in 1...3 {
            let isWrong = variables["FLAKY_RUN"] == String(number) && product == 2
            try pool.write { db in
                try db.execute(
                    sql: "INSERT INTO sale VALUES (?, ?, ?)",
                    arguments: [UUID().uuidString, product, Date()])
                try db.execute(
                    sql: "UPDATE product SET stock = stock - ? WHERE id = ?",
                    arguments: [isWrong ? 4 : 1, product])
            }
        }
        if variables["FLAKY_RUN"] == String(number) {
            if variables["FLAKY_END"] == "crash" { fatalError("The stock is wrong") }
            while variables["FLAKY_END"] == "hang" { sleep(1000) }
        }
        XCTAssertEqual(try pool.read { try Int.fetchOne($0, sql: "SELECT sum(stock) FROM product") }, 57)
    }
}
