import Foundation
import GRDB

/// A record that gets its identifier from the store.
package protocol StoredRecord: Codable, FetchableRecord, MutablePersistableRecord {
    var id: Int64? { get set }
}

extension StoredRecord {
    package mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

package struct Category: StoredRecord {
    package var id: Int64?
    package var name: String

    package init(name: String) { self.name = name }
}

package struct Product: StoredRecord {
    package var id: Int64?
    package var sku: String
    package var name: String
    package var price: Int
    package var stock: Int
    package var categoryId: Int64?
    package var deletedAt: Date?

    package static let category = belongsTo(Category.self)

    package init(sku: String, name: String, price: Int, stock: Int = 10, categoryId: Int64? = nil) {
        self.sku = sku
        self.name = name
        self.price = price
        self.stock = stock
        self.categoryId = categoryId
    }
}

package struct Customer: StoredRecord {
    // A customer that is imported again replaces the old one.
    package static let persistenceConflictPolicy = PersistenceConflictPolicy(
        insert: .replace, update: .abort)

    package var id: Int64?
    package var email: String
    package var name: String
    package var stripeID: String?

    package init(email: String, name: String, stripeID: String? = nil) {
        self.email = email
        self.name = name
        self.stripeID = stripeID
    }
}

package struct Purchase: StoredRecord {
    package var id: Int64?
    package var customerId: Int64
    package var placedOn: String
    package var status = "open"
    package var shipping = 490
    package var couponCode: String?

    package static let items = hasMany(PurchaseItem.self)

    package init(customerId: Int64, placedOn: String) {
        self.customerId = customerId
        self.placedOn = placedOn
    }
}

package struct PurchaseItem: StoredRecord {
    package var id: Int64?
    package var purchaseId: Int64
    package var productId: Int64
    package var quantity: Int
    package var price: Int
}

package struct CartItem: StoredRecord {
    package var id: Int64?
    package var customerId: Int64
    package var productId: Int64
    package var quantity: Int
}

package struct Coupon: StoredRecord {
    package var id: Int64?
    package var code: String
    package var percent: Int
    package var customerId: Int64?

    package init(code: String, percent: Int, customerId: Int64? = nil) {
        self.code = code
        self.percent = percent
        self.customerId = customerId
    }
}

package struct Review: StoredRecord {
    package var id: Int64?
    package var productId: Int64
    package var stars: Int
    package var text: String?

    package init(productId: Int64, stars: Int, text: String? = nil) {
        self.productId = productId
        self.stars = stars
        self.text = text
    }
}
