import GRDB

/// The database of a shop.
///
/// Prices are in cents.
package enum ShopDatabase {
    package static func configuration(foreignKeys: Bool = true) -> Configuration {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = foreignKeys
        return configuration
    }

    package static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "category") { t in
                t.autoIncrementedPrimaryKey("id")
                t.column("name", .text).notNull()
            }
            try db.create(table: "product") { t in
                t.autoIncrementedPrimaryKey("id")
                t.column("sku", .text).notNull().unique()
                t.column("name", .text).notNull()
                t.column("price", .integer).notNull()
                t.column("stock", .integer).notNull().defaults(to: 0)
                t.column("categoryId", .integer).references("category", onDelete: .cascade)
                t.column("deletedAt", .datetime)
            }
            try db.create(table: "customer") { t in
                t.autoIncrementedPrimaryKey("id")
                t.column("email", .text).notNull().unique()
                t.column("name", .text).notNull()
                t.column("stripeID", .text)
            }
            try db.create(table: "purchase") { t in
                t.autoIncrementedPrimaryKey("id")
                t.column("customerId", .integer).notNull().references("customer", onDelete: .cascade)
                t.column("placedOn", .text).notNull()
                t.column("status", .text).notNull().defaults(to: "open")
                t.column("shipping", .integer).notNull().defaults(to: 490)
                t.column("couponCode", .text)
            }
            try db.create(table: "purchaseItem") { t in
                t.autoIncrementedPrimaryKey("id")
                t.column("purchaseId", .integer).notNull().references("purchase", onDelete: .cascade)
                t.column("productId", .integer).notNull().references("product")
                t.column("quantity", .integer).notNull()
                t.column("price", .integer).notNull()
            }
        }
        migrator.registerMigration("v2") { db in
            try db.create(table: "cartItem") { t in
                t.autoIncrementedPrimaryKey("id")
                t.column("customerId", .integer).notNull().references("customer", onDelete: .cascade)
                t.column("productId", .integer).notNull().references("product")
                t.column("quantity", .integer).notNull()
            }
            try db.create(table: "coupon") { t in
                t.autoIncrementedPrimaryKey("id")
                t.column("code", .text).notNull()
                t.column("percent", .integer).notNull()
                t.column("customerId", .integer)
            }
            try db.create(table: "review") { t in
                t.autoIncrementedPrimaryKey("id")
                t.column("productId", .integer).notNull()
                t.column("stars", .integer).notNull().check { (1...5).contains($0) }
                t.column("text", .text)
            }
            try db.create(table: "priceCache") { t in
                t.primaryKey("productId", .integer)
                t.column("price", .integer).notNull()
            }
            try db.execute(
                sql: """
                    CREATE TRIGGER review_spam AFTER INSERT ON review WHEN NEW.text LIKE '%http%' BEGIN
                        DELETE FROM review WHERE productId = NEW.productId AND text IS NOT NULL;
                    END
                    """)
        }
        return migrator
    }
}
