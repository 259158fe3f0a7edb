import Foundation
import Ledger
import Stores
import XCTest

final class BankingTests: LedgerTestCase {
    private let payees = ["Landlord", "Market", "Railway", "Bakery", "Power", "Phone"]

    private func lines(_ count: Int, month: String, from first: Int = 1) -> [BankLine] {
        (first..<first + count).map { number in
            let day = String(format: "%02d", number % 27 + 1)
            let payee = number % 9 == 4 ? nil : payees[number % payees.count]
            return BankLine("\(month)/\(number)", "\(month)-\(day)", payee, -1_000 - 10 * number)
        }
    }

    // Expected: bankLine id=5
    func testUnmatchedLines() throws {
        let ledger = try Ledger(connect())
        let home = try Household(ledger)
        for line in lines(9, month: "2025-06") { try ledger.add(line) }
        var transfers: [Int] = []
        for line in 3...8 {
            let amount = 1_000 + 10 * line
            let transfer = try ledger.move(
                amount, from: home.checking, to: home.food, on: "2025-06-1\(line)")
            try ledger.match(line, with: transfer)
            transfers.append(transfer)
        }
        try ledger.remove(transfers[2])
        try ledger.log("closed", "2025-06")
        XCTAssertEqual(try ledger.transferCount(), 25)
        XCTAssertEqual(try ledger.unmatchedLineCount(), 4)
    }

    // Expected: bankLine id=3; bankLine id=9; bankLine id=10; bankLine id=11
    func testImportedLines() throws {
        let ledger = try Ledger(connect())
        let home = try Household(ledger)
        for line in lines(8, month: "2025-06") { try ledger.add(line) }
        // The bank's statements overlap by a day.
        let next =
            lines(3, month: "2025-07") + [lines(3, month: "2025-06")[2]]
            + lines(4, month: "2025-07", from: 4)
        try ledger.importStatement(next)
        try ledger.move(3_000, from: home.checking, to: home.food, on: "2025-07-09", memo: "Market")
        try ledger.move(4_000, from: home.checking, to: home.food, on: "2025-07-16", memo: "Market")
        XCTAssertEqual(try ledger.lineCount(), 15)
    }

    // Expected: bankLine id=13
    func testJuneLines() throws {
        let ledger = try Ledger(connect())
        try Household(ledger).ledger.log("import", "bank")
        for line in lines(12, month: "2025-06") { try ledger.add(line) }
        try ledger.add(BankLine("cash/1", "14.06.2025", "Flea market", 2_500))
        for line in lines(10, month: "2025-06", from: 13) { try ledger.add(line) }
        for line in lines(6, month: "2025-07") { try ledger.add(line) }
        XCTAssertEqual(try ledger.lineCount(), 29)
        XCTAssertEqual(try ledger.lineTotal(month: "2025-06"), -22_030)
    }

    // Expected: lines
    func testImportWhileReading() throws {
        let app = try Ledger(connect())
        let home = try Household(app)
        for line in lines(14, month: "2025-06") { try app.add(line) }
        let newest = try app.newestLines()
        let payee = newest.next()?[1].string  // Culprit: testImportWhileReading
        XCTAssertEqual(payee, "Railway")

        let importer = try Ledger(connect())
        XCTAssertNoThrow(
            try importer.move(1_140, from: home.checking, to: home.travel, on: "2025-06-15", memo: payee)
        )
        XCTAssertNil(newest.next()?[1].string)
    }

    // Expected: lines
    func testSuggestionsAreFast() throws {
        let connection = try connect()
        let ledger = try Ledger(connection)
        let home = try Household(ledger)
        try ledger.importStatement(lines(700, month: "2025-06"))
        for number in 1...300 {
            let memo = payees[number % 5]
            try ledger.move(number, from: home.checking, to: home.food, on: "2025-06-12", memo: memo)
        }
        // A store in memory has one connection.
        let db = StoreKind.current == .memory ? connection : try connect()
        for _ in 1...4 {
            try db.run("INSERT INTO transfer (date, memo) SELECT date, memo FROM transfer")
        }
        let start = Date()
        XCTAssertGreaterThan(try ledger.suggestions() ?? 0, 1_000)
        XCTAssertLessThan(Date().timeIntervalSince(start), 0.05)
    }

    // Expected: bankLine id=4; bankLine id=13
    func testUnknownPayees() throws {
        let ledger = try Ledger(connect())
        let home = try Household(ledger)
        for line in lines(16, month: "2025-06") { try ledger.add(line) }
        try ledger.requirePayees()
        try ledger.add(BankLine("2025-06/17", "2025-06-30", "Phone", -2_999))
        try ledger.move(2_999, from: home.checking, to: home.rent, on: "2025-06-30", memo: "Phone")
        XCTAssertEqual(try ledger.lineCount(payee: "unknown"), 2)
    }

    // Expected: lines
    func testArchive() throws {
        let ledger = try Ledger(connect())
        try Household(ledger).ledger.clearJournal()
        for month in 1...4 { try ledger.importStatement(lines(500, month: "2025-0\(month)")) }
        let archive = (0..<60_000).map { number in
            BankLine("\(number * 7_919 % 60_000)-\(number)", "2019-01-01", payees[number % 6], -number)
        }
        try ledger.importArchive(archive + [archive[17]])
        XCTAssertEqual(try ledger.lineCount(), 2_000)
    }
}
