import SuiteMarket
import XCTest

/// Failures of an application that uses GRDB, each with one mistake.
final class ExplanationTests: XCTestCase {
    private func market() throws -> Market {
        let market = try Market()
        try market.deliver("apple", kilos: 21, cents: 119)
        try market.deliver("pear", kilos: 40, cents: 249)
        try market.deliver("plum", kilos: 52, cents: 333)
        return market
    }

    /// Memory: the fifth transaction has set the price of all fruits.
    func testWrongWrite() throws {
        let market = try market()
        try market.reprice("pear", cents: 260)
        XCTAssertEqual(try market.price(of: "plum"), 333)
    }

    /// Memory: one of the changes of the fifth transaction is wrong, and the others are right.
    func testWrongPartOfAWrite() throws {
        let market = try market()
        try market.sell("pear", kilos: 3)
        XCTAssertEqual(try market.stock(), 110)
    }

    /// Memory: all rows are right, and the query leaves out one of them.
    func testWrongQuery() throws {
        XCTAssertEqual(try market().stock(upTo: 249), 61)
    }

    /// Memory: the row and the query are right, and the code after the query calculates something else.
    func testWrongCode() throws {
        XCTAssertEqual(try market().priceWithTax(of: "plum", kilos: 5), 1782)
    }

    /// Memory: the query returns the expected value, and the test compares another one.
    func testWrongReader() throws {
        let price = try market().price(of: "plum")
        XCTAssertEqual(price.map { $0 + 1 }, 333)
    }

    /// Memory: a query that returns no row.
    func testMissingRow() throws { XCTAssertNotEqual(try market().price(of: "fig"), nil) }

    /// Memory: more writes than can be undone, and a query that takes many steps.
    func testManyWrites() throws {
        let market = try Market()
        for number in 1...250 {
            try market.deliver("fruit \(number)", kilos: number % 60, cents: number * 7 % 400)
        }
        XCTAssertEqual(try market.pairs(), 12_345)
    }
}
