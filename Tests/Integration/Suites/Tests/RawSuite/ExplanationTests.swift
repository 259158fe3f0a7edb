import SuiteRawMarket
import XCTest

/// Failures of an application that uses the C interface.
final class ExplanationTests: XCTestCase {
    /// Memory: the third transaction after the table has changed the wrong fruit.
    func testWrongWrite() {
        let market = RawMarket()
        market.deliver("apple", kilos: 41, cents: 120)
        market.deliver("pear", kilos: 37, cents: 250)
        market.sell("apple", kilos: 12)
        XCTAssertEqual(market.kilos(of: "pear"), 37)
    }
}
