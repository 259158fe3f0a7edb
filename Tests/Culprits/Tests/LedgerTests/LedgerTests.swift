import Ledger
import XCTest

final class LedgerTests: LedgerTestCase {
    // Expected: orphan; receipt id=3; receipt id=4
    func testStorage() throws {
        let ledger = try Ledger(connect())
        let home = try Household(ledger)
        var trips: [Int] = []
        for day in 1...6 {
            let trip = try ledger.move(
                4_000 + day, from: home.cash, to: home.travel, on: "2025-06-0\(day)")
            try ledger.attach("receipts/\(trip).pdf", bytes: 1_000 + day * 10, to: trip)
            if day == 3 { try ledger.attach("receipts/\(trip)-2.pdf", bytes: 500, to: trip) }
            trips.append(trip)
        }
        try ledger.remove(trips[2])
        try ledger.move(900, from: home.cash, to: home.food, on: "2025-06-09", memo: "Bakery")
        XCTAssertEqual(try ledger.transferCount(), 26)
        XCTAssertEqual(try ledger.storageUsed(), 5_180)
    }

    // Expected: broad-write
    func testUnreconciledCount() throws {
        let ledger = try Ledger(connect())
        let home = try Household(ledger)
        let first = try ledger.move(2_500, from: home.checking, to: home.food, on: "2025-06-02")
        try ledger.move(7_900, from: home.checking, to: home.travel, on: "2025-06-04", memo: "Train")
        try ledger.reconcile(first)
        try ledger.move(1_200, from: home.cash, to: home.food, on: "2025-06-05")
        try ledger.move(1_300, from: home.cash, to: home.food, on: "2025-06-06")
        XCTAssertEqual(try ledger.balance(of: home.travel), 7_900)
        XCTAssertEqual(try ledger.unreconciledCount(), 23)
    }

    // Expected: constraint-failed; account id=3
    func testImportsChart() throws {
        let ledger = try Ledger(connect())
        let home = try Household(ledger)
        try ledger.log("import", "chart.csv")
        for (name, kind) in [
            ("Car", "expense"), ("Interest", "income"), ("CASH", "asset"), ("Loan", "liability"),
        ] {
            try ledger.openAccount(name, kind: kind)
        }
        XCTAssertEqual(try ledger.openAccountCount(), 11)
        XCTAssertEqual(try ledger.balance(of: home.rent), 475_000)
    }
}
