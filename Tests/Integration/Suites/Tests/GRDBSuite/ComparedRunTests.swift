import Foundation
import GRDB
import XCTest

/// Tests whose stores are mostly local, so that they are closed at the end at the latest, and the WAL is deleted.
///
/// They pass unless `COMPARED_RUN` is `wrong`. The identifiers and the times of the sales differ in every run.
final class ComparedRunTests: XCTestCase {
    private var property: Stock?

    override func tearDown() { property = nil }

    /// `stock`: a pool that `tearDown` closes.
    func testProperty() throws {
        let stock = try Stock(path: try freshPath("stock.sqlite"))
        property = stock
        try stock.sell(1, of: "apple")
        try stock.sell(2, of: "pear")
        try stock.sell(1, of: "plum")
        XCTAssertEqual(try stock.total(), 56)
    }

    /// `stock`: a pool that is closed before the assertion.
    func testClosedBefore() throws {
        let path = try freshPath("stock.sqlite")
        func total() throws -> Int {
            let stock = try Stock(path: path)
            try stock.sell(1, of: "apple")
            try stock.sell(2, of: "pear")
            try stock.sell(1, of: "plum")
            return try stock.total()
        }
        XCTAssertEqual(try total(), 56)
    }

    /// `stock`: the test ends with an error, after the pool was closed.
    func testError() throws {
        let stock = try Stock(path: try freshPath("stock.sqlite"))
        try stock.sell(1, of: "apple")
        try stock.sell(2, of: "pear")
        try stock.sell(1, of: "plum")
        if try stock.total() != 56 { throw CocoaError(.coderInvalidValue) }
    }
}

private struct Stock {
    let pool: DatabasePool
    let isWrong = ProcessInfo.processInfo.environment["COMPARED_RUN"] == "wrong"

    init(path: String) throws {
        pool = try DatabasePool(path: path)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.create(table: "product") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull().unique()
                table.column("stock", .integer).notNull()
            }
            try db.create(table: "sale") { table in
                table.primaryKey("id", .text)
                table.column("productID", .integer).notNull().references("product")
                table.column("soldAt", .datetime).notNull()
            }
        }
        migrator.registerMigration("2") { db in
            for name in ["apple", "pear", "plum"] {
                try db.execute(
                    sql: "INSERT INTO product (name, stock) VALUES (?, 20)", arguments: [name])
            }
        }
        try migrator.migrate(pool)
    }

    func sell(_ count: Int, of product: String) throws {
        try pool.write { db in
            let id = try Int64.fetchOne(
                db, sql: "SELECT id FROM product WHERE name = ?", arguments: [product])
            try db.execute(
                sql: "INSERT INTO sale VALUES (?, ?, ?)", arguments: [UUID().uuidString, id, Date()])
            let taken = isWrong && product == "pear" ? count + 3 : count
            try db.execute(
                sql: "UPDATE product SET stock = stock - ? WHERE id = ?", arguments: [taken, id])
        }
    }

    func total() throws -> Int {
        try pool.read { db in try Int.fetchOne(db, sql: "SELECT sum(stock) FROM product") ?? 0 }
    }
}
