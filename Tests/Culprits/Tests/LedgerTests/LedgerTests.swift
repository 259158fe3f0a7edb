import Ledger
import XCTest

final class LedgerTests: LedgerTestCase {
    // Expected: receipt id=3; receipt id=4
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

    // Expected: lines
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

    // Expected: account id=3
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

final class UpkeepTests: LedgerTestCase {
    private var opened: Ledger?

    override func setUpWithError() throws {
        try super.setUpWithError()
        opened = try Ledger(connect())
    }

    override func tearDownWithError() throws {
        opened = nil
        try super.tearDownWithError()
    }

    private var ledger: Ledger {
        get throws { try XCTUnwrap(opened) }
    }

    // Expected: budget accountID=6 month=2025-06
    func testRemaining() throws {
        let ledger = try ledger
        let home = try Household(ledger)
        for month in 1...6 {
            try ledger.addBudget(30_000, for: home.food, month: "2025-0\(month)")
            try ledger.addBudget(100_000, for: home.rent, month: "2025-0\(month)")
        }
        try ledger.setBudget(36_000, for: home.food, month: "2025-06")
        try ledger.move(4_100, from: home.cash, to: home.food, on: "2025-06-04", memo: "Market")
        try ledger.move(7_300, from: home.cash, to: home.food, on: "2025-06-11", memo: "Market")
        XCTAssertEqual(try ledger.remainingBudget(of: home.food, month: "2025-06"), 24_600)
    }

    // Expected: budget accountID=7 month=2025-08
    func testYearlyBudget() throws {
        let ledger = try ledger
        let home = try Household(ledger)
        try ledger.addBudget(30_000, for: home.food, month: "2025-01")
        var budgets: [(account: Int, month: String, amount: Int)] = []
        for month in 1...9 {
            budgets.append((home.food, "2025-0\(month)", 30_000))
            budgets.append((home.travel, "2025-0\(month)", month == 8 ? -12_000 : 12_000))
        }
        try ledger.loadBudgets(budgets)
        try ledger.log("budget", "2025")
        XCTAssertEqual(try ledger.totalBudget(), 378_000)
    }

    // Expected: posting id=42; posting id=44; posting id=46; posting id=48
    func testMerge() throws {
        let ledger = try ledger
        let home = try Household(ledger)
        let wallet = try ledger.openAccount("Wallet", kind: "asset")
        for (day, account) in zip(1...4, [wallet, home.savings, home.savings, wallet]) {
            try ledger.move(1_000 * day, from: home.checking, to: account, on: "2025-06-0\(day)")
        }
        try ledger.merge(wallet, into: home.savings)
        try ledger.move(700, from: home.checking, to: home.food, on: "2025-06-08")
        XCTAssertEqual(try ledger.openAccountCount(), 7)
        XCTAssertEqual(try ledger.balance(of: home.savings), 10_000)
    }

    // Expected: transfer id=23; transfer id=24; posting id=45; posting id=46; posting id=47; posting id=48
    func testFees() throws {
        let ledger = try ledger
        let home = try Household(ledger)
        let bank = try ledger.openAccount("Bank fees", kind: "expense")
        try ledger.chargeFees(
            350, to: [home.checking, home.cash, home.savings], payee: bank, on: "2025-06-01")
        try ledger.chargeFees(350, to: [home.checking, home.cash], payee: bank, on: "2025-07-01")

        let report = try Ledger(connect())
        XCTAssertEqual(try report.openAccountCount(), 8)
        XCTAssertEqual(try report.balance(of: bank), 1_400)
    }

    // Expected: account id=2
    func testInterest() throws {
        let ledger = try ledger
        let home = try Household(ledger)
        for month in 1...6 {
            try ledger.move(20_000, from: home.checking, to: home.savings, on: "2025-0\(month)-28")
        }
        try ledger.refreshCachedBalances()
        try ledger.accrueInterest(basisPoints: 250, account: home.savings)
        try ledger.move(1_900, from: home.cash, to: home.food, on: "2025-07-02")
        XCTAssertEqual(try ledger.cachedBalance(of: home.savings), 123_035)
    }

    // Expected: account id=3
    func testTwoTills() throws {
        let ledger = try ledger
        let home = try Household(ledger)
        try ledger.refreshCachedBalances()
        let front = try Till(ledger, account: home.cash)
        let back = try Till(Ledger(connect()), account: home.cash)
        try front.deposit(1_500)
        try front.deposit(2_500)
        try back.deposit(1_000)
        try ledger.move(1_900, from: home.checking, to: home.food, on: "2025-07-02")
        XCTAssertEqual(try ledger.cachedBalance(of: home.cash), 32_750)
    }

    // Expected: lines
    func testArchivedTransfers() throws {
        let ledger = try ledger
        let home = try Household(ledger)
        try ledger.move(1_900, from: home.cash, to: home.food, on: "2026-01-02", memo: "Market")
        XCTAssertNoThrow(try ledger.archive(before: "2026-01-01"))
        XCTAssertEqual(try ledger.transferCount(), 1)
    }
}
