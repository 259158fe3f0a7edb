import Foundation
import GRDB

/// An error of the shop.
package enum ShopError: Error {
    case soldOut(sku: String)
    case unknownProduct
}

/// Tells customers about their purchases.
package protocol Mailer: AnyObject {
    func send(_ text: String, to address: String)
}

package final class Shop {
    private let db: any DatabaseWriter
    package weak var mailer: (any Mailer)?

    package init(_ db: any DatabaseWriter) throws {
        self.db = db
        try ShopDatabase.migrator.migrate(db)
    }

    // MARK: Catalog

    @discardableResult
    package func add(_ product: Product) throws -> Int64 {
        try db.write { db in
            var product = product
            try product.insert(db)  // Culprit: testCatalog
            return product.id ?? 0
        }
    }

    @discardableResult
    package func addCategory(_ name: String) throws -> Int64 {
        try db.write { db in
            var category = Category(name: name)
            try category.insert(db)
            return category.id ?? 0
        }
    }

    package func product(sku: String) throws -> Product? {
        try db.read { db in try Product.filter(Column("sku") == sku).fetchOne(db) }
    }

    /// Returns the names of a catalog's products with their category.
    package func catalog() throws -> [String] {
        try db.read { db in
            let request = Product.filter(Column("deletedAt") == nil).joining(required: Product.category)
            return try request.order(Column("name")).fetchAll(db).map(\.name)
        }
    }

    package func productCount() throws -> Int {
        try db.read { db in try Product.fetchCount(db) }
    }

    package func retire(sku: String, at date: Date) throws {
        try db.write { db in
            _ = try Product.filter(Column("sku") == sku).updateAll(db, Column("deletedAt").set(to: date))
        }
    }

    /// Replaces a category by another one.
    package func merge(_ category: Int64, into other: Int64) throws {
        try db.write { db in
            _ = try Category.deleteOne(db, key: category)  // Culprit: testMergedCategory
            _ = try Product.filter(Column("categoryId") == category)
                .updateAll(db, Column("categoryId").set(to: other))
        }
    }

    /// Imports the stock from a supplier's file with lines such as `A-1;12`.
    package func importStock(_ csv: String) throws {
        try db.write { db in
            for line in csv.split(separator: "\n") {
                let fields = line.split(separator: ";", omittingEmptySubsequences: false).map(
                    String.init)
                let sql = "UPDATE product SET stock = ? WHERE sku = ?"
                try db.execute(sql: sql, arguments: [fields[1], fields[0]])  // Culprit: testStock
            }
        }
    }

    /// Adds packs that a supplier has delivered.
    package func receive(_ packs: Int, packsOf size: Int, sku: String) throws {
        try db.write { db in
            guard var product = try Product.filter(Column("sku") == sku).fetchOne(db) else {
                throw ShopError.unknownProduct
            }
            product.stock += packs + size
            try product.update(db)  // Culprit: testDelivery
        }
    }

    /// Removes a product that was never sold, and what belongs to it.
    package func remove(_ product: Int64) throws {
        try db.write { db in
            _ = try CartItem.filter(Column("productId") == product).deleteAll(db)
            _ = try Product.deleteOne(db, key: product)  // Culprit: testAverageStars, testDiscontinued
        }
    }

    package func totalStock() throws -> Int {
        try db.read { db in try Int.fetchOne(db, sql: "SELECT sum(stock) FROM product") ?? 0 }
    }

    /// Raises the prices of a category.
    package func raisePrices(of category: Int64, percent: Int) throws {
        try db.write { db in
            for var product in try Product.fetchAll(db) where product.categoryId == category {
                product.price += product.price * percent / 100
                try product.update(db, columns: ["price"])
            }
            let request = Product.select(Column("id"), Column("price"))
            try db.execute(sql: "DELETE FROM priceCache")
            for row in try Row.fetchAll(db, request) {
                try db.execute(
                    sql: "INSERT INTO priceCache (productId, price) VALUES (?, ?)",
                    arguments: [row["id"], row["price"]])
            }
        }
    }

    /// Lowers the price of a product for a sale.
    package func discount(sku: String, percent: Int) throws {
        try db.write { db in
            guard let product = try Product.filter(Column("sku") == sku).fetchOne(db) else {
                throw ShopError.unknownProduct
            }
            let price = product.price * percent / 100
            _ = try Product.filter(Column("categoryId") == product.categoryId)
                .updateAll(db, Column("price").set(to: price))  // Culprit: testSalePrices
        }
    }

    /// Returns the products that are nearly sold out.
    package func lowStock(below limit: Int) throws -> [Product] {
        try db.read { db in
            let filter = Column("stock") < limit && Column("deleted_at") == nil
            return try Product.filter(filter).fetchAll(db)  // Culprit: testLowStock
        }
    }

    // MARK: Customers

    @discardableResult
    package func register(_ customer: Customer) throws -> Int64 {
        try db.write { db in
            var customer = customer
            try customer.insert(db)  // Culprit: testImportedCustomers
            return customer.id ?? 0
        }
    }

    package func customerCount() throws -> Int {
        try db.read { db in try Customer.fetchCount(db) }
    }

    package func remove(customer: Int64) throws {
        try db.write { db in
            _ = try Customer.deleteOne(db, key: customer)  // Culprit: testForgottenCustomer
        }
    }

    // MARK: Carts and purchases

    /// Adds a product to a cart.
    package func addToCart(_ product: Int64, quantity: Int = 1, of customer: Int64) throws {
        try db.write { db in
            var item = CartItem(customerId: customer, productId: product, quantity: quantity)
            try item.insert(db)  // Culprit: testCart
        }
    }

    package func emptyCart(of customer: Int64) throws {
        try db.write { db in
            _ = try CartItem.all().deleteAll(db)  // Culprit: testOtherCart
        }
    }

    package func cartSize(of customer: Int64) throws -> Int {
        try db.read { db in try CartItem.filter(Column("customerId") == customer).fetchCount(db) }
    }

    /// Places a purchase, and takes its products out of the stock.
    @discardableResult
    package func buy(
        _ items: [(product: Int64, quantity: Int)], customer: Int64, on date: String
    ) throws -> Int64 {
        try db.write { db in
            var purchase = Purchase(customerId: customer, placedOn: date)
            try purchase.insert(db)
            for item in items {
                guard var product = try Product.fetchOne(db, key: item.product) else {
                    throw ShopError.unknownProduct
                }
                guard product.stock >= item.quantity else { throw ShopError.soldOut(sku: product.sku) }
                product.stock -= item.quantity
                try product.update(db)
                var line = PurchaseItem(
                    purchaseId: purchase.id ?? 0, productId: item.product, quantity: item.quantity,
                    price: product.price)
                try line.insert(db)
            }
            mailer?.send("Thank you for purchase \(purchase.id ?? 0)", to: "\(customer)")
            return purchase.id ?? 0
        }
    }

    /// Places a purchase as it comes from the old shop, with its own date.
    package func importPurchase(customer: Int64, on date: String) throws {
        try db.write { db in
            var purchase = Purchase(customerId: customer, placedOn: date)
            purchase.status = "done"
            try purchase.insert(db)  // Culprit: testPurchasesOfMay
        }
    }

    package func purchases(from start: String, to end: String) throws -> [Purchase] {
        try db.read { db in
            try Purchase.filter((start...end).contains(Column("placedOn"))).order(Column("id")).fetchAll(
                db)
        }
    }

    package func purchaseCount() throws -> Int {
        try db.read { db in try Purchase.fetchCount(db) }
    }

    /// Cancels open purchases that were placed before a date.
    ///
    /// If there are more than the limit, something is wrong with the date, and nothing is cancelled.
    package func cancelPurchases(before date: String, limit: Int) throws {
        try db.writeWithoutTransaction { db in
            try db.inTransaction {
                let sql =
                    "UPDATE purchase SET status = 'cancelled' WHERE placedOn < ? AND status = 'open'"
                try db.execute(sql: sql, arguments: [date])  // Culprit: testCancelled
                return db.changesCount < limit ? .rollback : .commit  // Culprit: testCancelled
            }
        }
    }

    package func purchaseCount(status: String) throws -> Int {
        try db.read { db in try Purchase.filter(Column("status") == status).fetchCount(db) }
    }

    /// Marks a purchase as shipped.
    package func ship(_ purchase: Int64) throws {
        try db.write { db in
            let sql = "UPDATE purchase SET status = 'shipped' WHERE id = ? AND status = 'paid'"
            try db.execute(sql: sql, arguments: [purchase])  // Culprit: testShipped
        }
    }

    package func setShipping(_ cents: Int, of purchase: Int64) throws {
        try db.write { db in
            guard var record = try Purchase.fetchOne(db, key: purchase) else { return }
            record.shipping = cents
            try record.update(db)
        }
    }

    package func total(of purchase: Int64) throws -> Int {
        try db.read { db in
            let sql = """
                SELECT shipping + coalesce(
                    (SELECT sum(quantity * price) FROM purchaseItem WHERE purchaseId = purchase.id), 0)
                FROM purchase WHERE id = ?
                """
            return try Int.fetchOne(db, sql: sql, arguments: [purchase]) ?? 0
        }
    }

    // MARK: Coupons and reviews

    package func issue(_ coupon: Coupon) throws {
        try db.write { db in
            var coupon = coupon
            try coupon.insert(db)  // Culprit: testWelcomeCoupon
        }
    }

    /// Returns the sum of the discounts that a code gives.
    package func percent(of code: String) throws -> Int {
        try db.read { db in
            try Coupon.filter(Column("code") == code).select(sum(Column("percent")), as: Int.self)
                .fetchOne(db)
                ?? 0
        }
    }

    package func add(_ review: Review) throws {
        try db.write { db in
            var review = review
            try review.insert(db)  // Culprit: testReviews
        }
    }

    package func averageStars() throws -> Double? {
        try db.read { db in
            try Review.select(average(Column("stars")), as: Double.self).fetchOne(db)
        }
    }

    package func reviewCount() throws -> Int {
        try db.read { db in try Review.fetchCount(db) }
    }
}

/// A back office, which changes products that it has read before.
package final class BackOffice {
    private let db: any DatabaseWriter

    package init(_ db: any DatabaseWriter) {
        self.db = db
    }

    package func open(sku: String) throws -> Product? {
        try db.read { db in try Product.filter(Column("sku") == sku).fetchOne(db) }
    }

    package func save(_ product: Product) throws {
        try db.write { db in
            try product.update(db)  // Culprit: testRestocked
        }
    }
}
