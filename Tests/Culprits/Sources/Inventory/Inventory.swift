import Foundation
import GRDB

/// An item that the warehouses stock.
package struct Item: Codable, FetchableRecord, PersistableRecord {
    package static let databaseTableName = "items"
    enum CodingKeys: String, CodingKey {
        case sku, title
        case supplierID = "supplier_id"
        case reorderPoint = "reorder_point"
    }

    package var sku: String
    package var title: String
    package var supplierID: Int64?
    package var reorderPoint: Int?

    package init(sku: String, title: String, supplierID: Int64? = nil, reorderPoint: Int? = nil) {
        self.sku = sku
        self.title = title
        self.supplierID = supplierID
        self.reorderPoint = reorderPoint
    }
}

/// The stock of an item in one warehouse.
package struct StockLevel: Codable, FetchableRecord, PersistableRecord {
    package static let databaseTableName = "stock_levels"
    enum CodingKeys: String, CodingKey {
        case sku, quantity, reserved
        case warehouseCode = "warehouse_code"
    }

    package var sku: String
    package var warehouseCode: String
    package var quantity: Int
    package var reserved: Int
}

/// A supplier and the items that it delivers.
package struct Supplier: Codable, FetchableRecord, PersistableRecord {
    package static let databaseTableName = "suppliers"
    package static let items = hasMany(Item.self, using: ForeignKey(["supplier_id"]))

    package var id: Int64?
    package var name: String
    package var contact: String?
}

package final class Inventory: Sendable {
    package let db: any DatabaseWriter

    package init(_ db: any DatabaseWriter) throws {
        self.db = db
        try InventorySchema.migrator.migrate(db)
    }

    // MARK: Items and suppliers

    package func add(_ item: Item) throws {
        try db.write { db in
            try item.insert(db)  // Culprit: testReorderList
        }
    }

    /// Adds a supplier, or changes the contact of a known one.
    package func saveSupplier(_ name: String, contact: String) {
        _ = try? db.write { db in
            if let known = try Supplier.filter(sql: "name = ? COLLATE BINARY", arguments: [name])
                .fetchOne(db)
            {
                try Supplier(id: known.id, name: name, contact: contact).update(db)
            } else {
                let new = Supplier(id: nil, name: name, contact: contact)
                try new.insert(db)  // Culprit: testSupplierContact
            }
        }
    }

    package func contact(for sku: String) async throws -> String? {
        try await db.read { db in
            try String.fetchOne(
                db,
                sql:
                    "SELECT contact FROM items JOIN suppliers ON suppliers.id = supplier_id WHERE sku = ?",
                arguments: [sku])
        }
    }

    /// The items of which less is available than their reorder points.
    package func reorderList() throws -> [String] {
        try db.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT sku FROM items JOIN stock_totals USING (sku)
                    WHERE quantity - reserved < reorder_point ORDER BY sku
                    """)
        }
    }

    // MARK: Stock

    package func receive(_ quantity: Int, of sku: String, in warehouse: String, note: String) throws {
        try db.write { db in
            try db.execute(  // Culprit: testDeliveries
                sql:
                    "INSERT INTO movements (sku, warehouse_code, quantity, delivery_note) VALUES (?, ?, ?, ?)",
                arguments: [sku, warehouse, quantity, note])
        }
    }

    /// Corrects the stock after a stocktake, without a delivery note.
    package func correct(_ quantity: Int, of sku: String, in warehouse: String) throws {
        try db.write { db in
            try db.execute(
                sql: "INSERT INTO movements (sku, warehouse_code, quantity) VALUES (?, ?, ?)",
                arguments: [sku, warehouse, quantity])
        }
    }

    /// Removes the old movements of a warehouse.
    package func forgetMovements(of warehouse: String, before id: Int64) throws {
        try db.write { db in
            try db.execute(  // Culprit: testMovementsOfOtherWarehouse, testOldMovement
                sql: "DELETE FROM movements WHERE warehouse_code = ? OR id < ?",
                arguments: [warehouse, id])
        }
    }

    package func movementCount() throws -> Int {
        try db.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM movements") ?? 0 }
    }

    /// The quantity and the delivery note of a movement.
    package func movement(_ id: Int64) throws -> Row? {
        try db.read {
            try Row.fetchOne($0, sql: "SELECT * FROM movements WHERE id = ?", arguments: [id])
        }
    }

    package func level(of sku: String, in warehouse: String) throws -> StockLevel? {
        try db.read { try StockLevel.fetchOne($0, key: ["sku": sku, "warehouse_code": warehouse]) }
    }

    package func save(_ level: StockLevel) throws {
        try db.write { db in
            try level.update(db)  // Culprit: testReservedAndPicked
        }
    }

    package func total() throws -> Int {
        try db.read { try Int.fetchOne($0, sql: "SELECT sum(quantity) FROM stock_totals") ?? 0 }
    }

    /// Enters the result of a stocktake, with lines of SKU, date and quantity.
    package func enterCounts(_ lines: [String], by person: String?) throws {
        for line in lines {
            let fields = line.split(separator: ",", maxSplits: 2).map(String.init)
            try db.write { db in
                try db.execute(  // Culprit: testShelfCounts
                    sql: "INSERT INTO counts VALUES (?, ?, ?, ?)",
                    arguments: [fields[0], fields[1], fields[2], person])
            }
        }
    }

    package func counted(on date: String, below quantity: Int) throws -> [String] {
        try db.read { db in
            try String.fetchAll(
                db, sql: "SELECT sku FROM counts WHERE counted_on = ? AND quantity < ? ORDER BY sku",
                arguments: [date, quantity])
        }
    }

    // MARK: Warehouses

    package func addWarehouse(_ code: String, city: String, bins: Int) throws {
        try db.write { db in
            try db.execute(sql: "INSERT INTO warehouses VALUES (?, ?)", arguments: [code, city])
            for bin in stride(from: 1, through: bins, by: 1) {
                try db.execute(
                    sql: "INSERT INTO bins (warehouse_code, bin_no) VALUES (?, ?)",
                    arguments: [code, bin])
            }
        }
    }

    package func moveBin(_ bin: Int, of warehouse: String, to target: String) throws {
        try db.write { db in
            try db.execute(  // Culprit: testCapacityByCity
                sql: "UPDATE bins SET warehouse_code = ? WHERE warehouse_code = ? AND bin_no = ?",
                arguments: [target, warehouse, bin])
        }
    }

    package func capacities() throws -> [String: Int] {
        try db.read { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT city, sum(capacity) AS capacity FROM bins
                    JOIN warehouses ON code = warehouse_code GROUP BY city
                    """)
            return try Dictionary(uniqueKeysWithValues: rows.map { ($0["city"], $0["capacity"]) })
        }
    }

    /// Moves stock between warehouses, and marks an item that runs low at the source.
    package func transfer(_ quantity: Int, of sku: String, from source: String, to target: String) throws
    {
        try db.writeWithoutTransaction { db in
            try db.beginTransaction()
            for (warehouse, change) in [(source, -quantity), (target, quantity)] {
                try db.execute(  // Culprit: testTransferSeenByShop
                    sql: "INSERT INTO movements (sku, warehouse_code, quantity) VALUES (?, ?, ?)",
                    arguments: [sku, warehouse, change])
            }
            let level = try StockLevel.fetchOne(db, key: ["sku": sku, "warehouse_code": source])
            let point = try Item.fetchOne(db, key: sku)?.reorderPoint ?? 0
            guard let level, level.quantity < point else { return }
            try db.execute(
                sql:
                    "UPDATE items SET attributes_json = json_set(attributes_json, '$.low', ?) WHERE sku = ?",
                arguments: [source, sku])
            try db.commit()
        }
    }
}
