import Foundation
import GRDB
import Inventory
import XCTest

final class InventoryTests: InventoryTestCase {
    // Expected: movements id=12; movements id=14
    func testDeliveries() throws {
        let inventory = try inventory(database())
        try inventory.receive(8, of: "IT-203", in: "HH", note: "N-60")
        try inventory.receive(25, of: "IT-204", in: "HH", note: "N-61")
        try inventory.receive(8, of: "IT-205", in: "HH", note: "N-62")
        // The scanner sent the delivery note again, because the network was slow.
        try inventory.receive(25, of: "IT-204", in: "HH", note: "N-61")
        try inventory.receive(4, of: "IT-206", in: "MUC", note: "N-63")
        XCTAssertEqual(try inventory.total(), 310)
    }

    // Expected: stock_levels sku=IT-207 warehouse_code=MUC
    func testReservedAndPicked() async throws {
        let shop = try inventory(database())
        let floor = try Inventory(database())
        var reserving = try XCTUnwrap(shop.level(of: "IT-207", in: "MUC"))
        var picking = try XCTUnwrap(floor.level(of: "IT-207", in: "MUC"))
        reserving.reserved += 6
        try shop.save(reserving)
        try shop.receive(2, of: "IT-201", in: "HH", note: "N-70")
        picking.quantity -= 9
        try floor.save(picking)
        try floor.receive(1, of: "IT-208", in: "HH", note: "N-71")
        let reserved = try await shop.db.read {
            try Int.fetchOne($0, sql: "SELECT sum(reserved) FROM stock_totals")
        }
        XCTAssertEqual(reserved, 6)
    }

    // Expected: suppliers id=2
    func testSupplierContact() async throws {
        let inventory = try inventory(database())
        inventory.saveSupplier("Nordwood", contact: "orders@nordwood.example")
        inventory.saveSupplier("KELLER", contact: "keller@new.example")
        inventory.saveSupplier("Quast", contact: "info@quast.example")
        try inventory.receive(3, of: "IT-201", in: "HH", note: "N-80")
        let contact = try await inventory.contact(for: "IT-204")
        XCTAssertEqual(contact, "keller@new.example")
    }

    // Expected: bins warehouse_code=BRE bin_no=3
    func testCapacityByCity() throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let inventory = try inventory(database(configuration))
        try inventory.addWarehouse("HB", city: "Bremen", bins: 1)
        try inventory.moveBin(4, of: "HH", to: "HB")
        try inventory.moveBin(3, of: "MUC", to: "BRE")
        try inventory.receive(9, of: "IT-202", in: "HB", note: "N-90")
        XCTAssertEqual(try inventory.capacities()["Bremen"], 120)
    }

    // Expected: items sku=IT-213
    func testReorderList() throws {
        let inventory = try inventory(database())
        for number in 11...16 {
            let sku = "IT-\(200 + number)"
            let point = number == 13 ? nil : 12
            try inventory.add(
                Item(
                    sku: sku, title: "Part \(number)", supplierID: Int64(number % 3 + 1),
                    reorderPoint: point))
            try inventory.receive(number % 2 == 0 ? 30 : 2, of: sku, in: "HH", note: "N-\(89 + number)")
        }
        XCTAssertEqual(try inventory.reorderList(), ["IT-211", "IT-213", "IT-215"])
    }

    // Expected: stock_levels sku=IT-205 warehouse_code=HH; movements id=13; movements id=14
    func testTransferSeenByShop() throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let floor = try inventory(database(configuration))
        let shop = try database()
        try floor.transfer(10, of: "IT-202", from: "HH", to: "MUC")
        try floor.transfer(12, of: "IT-205", from: "MUC", to: "HH")
        let quantity = try shop.read {
            try Int.fetchOne(
                $0,
                sql: "SELECT quantity FROM stock_levels WHERE sku = 'IT-205' AND warehouse_code = 'HH'")
        }
        XCTAssertEqual(quantity, 12)
    }

    // Expected: counts sku=IT-206 counted_on=2026-04-30
    func testShelfCounts() throws {
        let inventory = try inventory(database())
        try inventory.enterCounts(
            [
                "IT-201,2026-04-30,13", "IT-202,2026-04-30,15", "IT-203,2026-04-30,60",
                "IT-204,2026-04-30,21",
                "IT-205,2026-04-30,2", "IT-206,2026-04-30,28 pcs", "IT-207,2026-04-30,71",
                "IT-208,2026-04-30,33",
            ], by: "ute")
        try inventory.receive(5, of: "IT-205", in: "HH", note: "N-99")
        XCTAssertEqual(
            try inventory.counted(on: "2026-04-30", below: 30),
            ["IT-201", "IT-202", "IT-204", "IT-205", "IT-206"])
    }

    // Expected: movements id=2; movements id=4; movements id=7; movements id=9
    func testMovementsOfOtherWarehouse() throws {
        let inventory = try inventory(database())
        try inventory.receive(6, of: "IT-202", in: "HH", note: "N-70")
        try inventory.correct(-1, of: "IT-204", in: "HH")
        try inventory.receive(9, of: "IT-206", in: "HH", note: "N-71")
        try inventory.receive(5, of: "IT-208", in: "HH", note: "N-72")
        try inventory.forgetMovements(of: "MUC", before: 6)
        XCTAssertEqual(try inventory.movementCount(), 11)
    }

    // Expected: movements id=7; movements id=9; movements id=11
    func testOldMovement() throws {
        let inventory = try inventory(database())
        try inventory.receive(6, of: "IT-202", in: "MUC", note: "N-70")
        try inventory.correct(-1, of: "IT-204", in: "HH")
        try inventory.forgetMovements(of: "MUC", before: 4)
        try inventory.receive(5, of: "IT-208", in: "HH", note: "N-72")
        let movement = try XCTUnwrap(inventory.movement(11))
        XCTAssertEqual(movement["delivery_note"], "N-70")
    }
}
