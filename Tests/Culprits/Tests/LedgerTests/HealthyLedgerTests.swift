import Foundation
import Ledger
import XCTest

final class HealthyLedgerTests: LedgerTestCase {
    // Expected: nothing
    func testPrintedBalance() throws {
        let ledger = try Ledger(connect())
        try ledger.clearJournal()
        let home = try Household(ledger)
        try ledger.move(1_500, from: home.cash, to: home.food, on: "2025-06-01", memo: nil)
        try ledger.fillMemos("Holiday", on: "2025-12-24")
        try ledger.refreshCachedBalances()
        let euros = Double(try ledger.balance(of: home.cash) ?? 0) / 100
        XCTAssertEqual(String(format: "%.2f", euros), "262,50")
    }

    // Expected: nothing
    func testLargestExpenses() throws {
        let ledger = try Ledger(connect())
        let home = try Household(ledger)
        let memos = ["Train", "Hotel", "Ferry", "Museum", "Guide", "Tickets", "Taxi", "Bus"]
        for (number, memo) in memos.enumerated() {
            try ledger.move(
                1_000 * (9 - number), from: home.checking, to: home.travel, on: "2025-06-02", memo: memo)
        }
        try ledger.move(100, from: home.checking, to: home.travel, on: "2025-06-03")
        let totals = try ledger.totalsByMemo(of: home.travel)
        XCTAssertEqual(totals.values.reduce(0, +), 44_100)
        XCTAssertEqual(Array(totals.keys), memos + ["other"])
    }

    // Expected: nothing
    func testPreviewOfATrip() throws {
        let ledger = try Ledger(connect())
        let home = try Household(ledger)
        try ledger.move(5_000, from: home.checking, to: home.savings, on: "2025-06-01", memo: "Saved")
        try ledger.move(5_000, from: home.checking, to: home.savings, on: "2025-06-01", memo: "Saved")
        let planned = try ledger.preview {
            try ledger.plan(80_000, from: home.savings, to: home.travel)
            return try ledger.balance(of: home.travel)
        }
        try ledger.log("preview", nil)
        XCTAssertEqual(planned, 80_000)
        XCTAssertEqual(try ledger.balance(of: home.travel), 80_000)
    }
}
