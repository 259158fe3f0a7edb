import Foundation
import GRDB
import Inventory
import XCTest

final class HealthyInventoryTests: InventoryTestCase {
    // Expected: nothing
    func testLabel() throws {
        let inventory = try inventory(database())
        // An item without a supplier is made in the company.
        try inventory.add(Item(sku: "OWN-1", title: "Jig", reorderPoint: 0))
        try inventory.receive(1, of: "OWN-1", in: "HH", note: "N-100")
        try inventory.receive(1, of: "OWN-1", in: "HH", note: "N-101")
        let level = try XCTUnwrap(inventory.level(of: "OWN-1", in: "HH"))
        let label = "\(level.sku) / \(level.warehouseCode)"
        XCTAssertEqual(label.lowercased(), "own-1/hh")
    }

    // Expected: nothing
    func testEventOfReceipt() throws {
        final class Listener: @unchecked Sendable { var events: [String] = [] }
        let inventory = try inventory(database())
        let listener = Listener()
        let observation = ValueObservation.tracking {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM movements") ?? 0
        }
        let cancellable = observation.start(
            in: inventory.db, scheduling: .async(onQueue: .main), onError: { _ in },
            onChange: { _ in listener.events.append("changed") })
        cancellable.cancel()
        try inventory.receive(7, of: "IT-209", in: "MUC", note: "N-102")
        try inventory.transfer(40, of: "IT-209", from: "MUC", to: "HH")
        XCTAssertEqual(listener.events.count, 2)
    }

    // Expected: nothing
    func testPercentageFull() throws {
        let inventory = try inventory(database())
        try inventory.moveBin(9, of: "HH", to: "MUC")
        try inventory.enterCounts(["IT-201,2026-05-01,13", "IT-202,2026-05-01,16"], by: nil)
        var shrunk = try XCTUnwrap(inventory.level(of: "IT-210", in: "HH"))
        shrunk.quantity -= 1
        try inventory.save(shrunk)
        let capacity = try inventory.capacities().values.reduce(0, +)
        let used = try inventory.total() * 100 / capacity
        XCTAssertEqual(Double(used), 73.3, accuracy: 0.05)
    }

    // Expected: nothing
    func testMovementsOfTheYear() throws {
        let inventory = try inventory(database())
        try inventory.correct(2, of: "IT-204", in: "HH")
        try inventory.forgetMovements(of: "nowhere", before: 5)
        // Each movement has a delivery note or was a correction.
        let notes = try (5...11).map { number -> String in
            try inventory.movement(number)?["delivery_note"] ?? "correction"
        }
        XCTAssertEqual(notes.joined(separator: ","), "N-36, N-37, N-38, N-39, N-40, N-41, correction")
    }
}
