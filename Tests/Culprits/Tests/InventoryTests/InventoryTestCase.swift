import Foundation
import GRDB
import Inventory
import Stores
import XCTest

/// A test with a directory for its databases and a stocked inventory.
class InventoryTestCase: XCTestCase {
    private var directory = URL(fileURLWithPath: NSTemporaryDirectory())

    override func setUpWithError() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "stock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        if let reason = try StoreKind.current.reasonToSkip(name) { throw XCTSkip(reason) }
    }

    override func tearDownWithError() throws {
        try FileManager.default.removeItem(at: directory)
    }

    func database(_ configuration: Configuration = Configuration()) throws -> any DatabaseWriter {
        try StoreKind.current.writer(
            directory.appendingPathComponent("inventory.db").path, configuration: configuration)
    }

    /// Opens an inventory with two warehouses, three suppliers and ten items.
    func inventory(_ db: any DatabaseWriter) throws -> Inventory {
        let inventory = try Inventory(db)
        try inventory.addWarehouse("HH", city: "Hamburg", bins: 5)
        try inventory.addWarehouse("MUC", city: "Munich", bins: 4)
        for name in ["Bolt & Sons", "Keller", "Nordwood"] {
            inventory.saveSupplier(name, contact: "sales@\(name.lowercased().prefix(4)).example")
        }
        for number in 1...10 {
            try inventory.add(
                Item(
                    sku: "IT-\(200 + number)", title: "Part \(number)",
                    supplierID: Int64(number % 3 + 1),
                    reorderPoint: 5 + number))
        }
        for number in 1...10 {
            try inventory.receive(
                10 + 3 * number, of: "IT-\(200 + number)", in: number % 2 == 0 ? "HH" : "MUC",
                note: "N-\(31 + number)")
        }
        return inventory
    }
}
