import Foundation
import GRDB
import Shop
import XCTest

final class HealthyShopTests: ShopTestCase {
    private final class Outbox: Mailer {
        var messages: [String] = []

        func send(_ text: String, to address: String) {
            messages.append("\(address): \(text)")
        }
    }

    private func connectOutbox(to shop: Shop) {
        let outbox = Outbox()
        shop.mailer = outbox
    }

    // Expected: nothing
    func testPriceTag() throws {
        let season = try Season(database())
        try season.shop.raisePrices(of: season.categories[1], percent: 4)
        try season.shop.add(Product(sku: "GIFT", name: "Gift card", price: 5_000, stock: 1_000))
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.currencyCode = "EUR"
        formatter.locale = Locale(identifier: "de_DE")
        let price = Double(try season.shop.product(sku: "A-101")?.price ?? 0) / 100
        XCTAssertEqual(formatter.string(from: price as NSNumber), "€5.98")
    }

    // Expected: nothing
    func testConfirmationMail() throws {
        let season = try Season(database())
        try season.shop.retire(sku: "A-110", at: Date(timeIntervalSince1970: 1_780_000_000))
        connectOutbox(to: season.shop)
        try season.shop.buy([(season.products[3], 1)], customer: season.customers[1], on: "2026-05-11")
        try season.shop.buy([(season.products[3], 1)], customer: season.customers[1], on: "2026-05-11")
        XCTAssertEqual((season.shop.mailer as? Outbox)?.messages.count, 2)
    }

    // Expected: nothing
    func testSecondPage() throws {
        let season = try Season(database())
        try season.shop.register(Customer(email: "ines@example.com", name: "Ines"))
        try season.shop.ship(404)
        let names = try season.shop.catalog()
        let page = names.dropFirst(2 * 6).prefix(6)
        XCTAssertEqual(page.first, "Article 15")
    }

    // Expected: nothing
    func testSoldOutPurchase() throws {
        let season = try Season(database())
        let (shop, ada) = (season.shop, season.customers[0])
        XCTAssertThrowsError(
            try shop.buy(
                [(season.products[1], 2), (season.products[0], 99)], customer: ada, on: "2026-05-30")
        ) {
            XCTAssertEqual("\($0)", #"soldOut("A-100")"#)
        }
    }

    // Expected: nothing
    func testShortNames() throws {
        let season = try Season(database())
        for code in ["GIFTWRAP", "GIFTWRAP", "EXPRESS"] {
            try season.shop.issue(Coupon(code: code, percent: 3))
        }
        try season.shop.addToCart(season.products[0], of: season.customers[0])
        let names = try season.shop.catalog().sorted { $0.count < $1.count }
        XCTAssertEqual(names.last?.count, 9)
    }

    // Expected: nothing
    func testDeliveryDate() async throws {
        let season = try Season(database())
        for day in 10...13 {
            try season.shop.buy(
                [(season.products[day], 1)], customer: season.customers[0], on: "2026-05-\(day)")
        }
        try season.shop.cancelPurchases(before: "2026-04-01", limit: 10)
        let delivered = expectation(description: "delivered")
        await fulfillment(of: [delivered], timeout: 0.05)
    }
}
