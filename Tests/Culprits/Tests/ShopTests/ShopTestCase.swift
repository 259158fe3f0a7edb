import GRDB
import Shop
import Stores

class ShopTestCase: StoreTestCase {
    func database(foreignKeys: Bool = true) throws -> any DatabaseWriter {
        try StoreKind.current.writer(
            path("shop.db"),
            configuration: ShopDatabase.configuration(foreignKeys: foreignKeys))
    }
}

/// The catalog, the customers and the first purchases of a shop.
struct Season {
    let shop: Shop
    let categories: [Int64]
    let products: [Int64]
    let customers: [Int64]

    init(_ db: any DatabaseWriter) throws {
        let shop = try Shop(db)
        self.shop = shop
        categories = try ["Tea", "Coffee", "Cups"].map(shop.addCategory)
        let categories = categories
        products = try (0..<18).map { number in
            try shop.add(
                Product(
                    sku: "A-\(100 + number)", name: "Article \(number + 1)", price: 450 + 125 * number,
                    stock: 20 + number, categoryId: categories[number % 3]))
        }
        customers = try ["Ada", "Ben", "Cleo", "Dora", "Emil"].enumerated().map { number, name in
            try shop.register(
                Customer(
                    email: "\(name.lowercased())@example.com", name: name,
                    stripeID: "cus_\(9_000 + number)"))
        }
        for day in 1...8 {
            let items = [
                (product: products[day], quantity: 1), (product: products[day + 7], quantity: 2),
            ]
            let id = try shop.buy(items, customer: customers[day % 5], on: "2026-05-0\(day)")
            if day % 3 == 0 { try shop.setShipping(0, of: id) }
        }
    }
}
