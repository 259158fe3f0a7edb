import Foundation
import GRDB
import Ledger
import XCTest

/// Tests of the books of a flat that Aiko, Ben and Chidi share.
final class LedgerTests: XCTestCase {
    private var directory: URL?
    private var books: Ledger?

    override func setUpWithError() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        self.directory = directory
        let path = directory.appendingPathComponent("ledger.sqlite").path
        let ledger = try Ledger(DatabasePool(path: path))
        try ledger.open("Aiko", "Ben", "Chidi", "Employer")
        books = ledger
    }

    override func tearDownWithError() throws {
        books = nil
        if let directory { try FileManager.default.removeItem(at: directory) }
    }

    func testMove() throws {
        let ledger = try XCTUnwrap(books)
        try ledger.move(2_500, from: "Aiko", to: "Ben", on: "2026-03-01", note: "Concert ticket")
        XCTAssertEqual(try ledger.balance(of: "Aiko"), -2_500)
        XCTAssertEqual(try ledger.balance(of: "Ben"), 2_500)
    }

    func testUnknownAccount() throws {
        let ledger = try XCTUnwrap(books)
        let booking = { try ledger.move(1, from: "Aiko", to: "Dora", on: "2026-03-01", note: "Stamp") }
        XCTAssertThrowsError(try booking()) { error in
            XCTAssertEqual(error as? Ledger.BookingError, .unknownAccount("Dora"))
        }
        XCTAssertEqual(try ledger.total(), 0)
    }

    func testEvenSplitGivesTheRestToTheFirst() throws {
        let ledger = try XCTUnwrap(books)
        try ledger.splitEvenly(
            10_000, paidBy: "Aiko", among: ["Aiko", "Ben", "Chidi"], on: "2026-03-02", note: "Dinner")
        XCTAssertEqual(try ledger.balance(of: "Ben"), 3_333)
        XCTAssertEqual(try ledger.total(), 0)
    }

    func testSplitByShares() throws {
        let ledger = try XCTUnwrap(books)
        try ledger.split(120_000, paidBy: "Ben", shares: rooms, on: "2026-03-03", note: "Rent")
        XCTAssertEqual(try ledger.balance(of: "Aiko"), 60_000)
        XCTAssertEqual(try ledger.balance(of: "Chidi"), 24_000)
        XCTAssertEqual(try ledger.total(), 0)
    }

    func testSharesAddUpToAHundredPercent() throws {
        let ledger = try XCTUnwrap(books)
        let shares = [(name: "Aiko", percent: 50), (name: "Ben", percent: 49)]
        XCTAssertThrowsError(
            try ledger.split(100, paidBy: "Ben", shares: shares, on: "2026-03-03", note: "Bread")
        ) { error in
            XCTAssertEqual(error as? Ledger.BookingError, .notAHundredPercent(99))
        }
    }

    func testBooksOfMarchAreBalanced() throws {
        let ledger = try XCTUnwrap(books)
        let all = ["Aiko", "Ben", "Chidi"]
        for name in all {
            try ledger.move(210_000, from: "Employer", to: name, on: "2026-03-01", note: "Salary")
        }
        try ledger.split(120_000, paidBy: "Ben", shares: rooms, on: "2026-03-03", note: "Rent")
        try ledger.splitEvenly(4_790, paidBy: "Chidi", among: all, on: "2026-03-07", note: "Groceries")
        try ledger.split(8_735, paidBy: "Aiko", shares: rooms, on: "2026-03-12", note: "Electricity")
        try ledger.splitEvenly(10_000, paidBy: "Ben", among: all, on: "2026-03-14", note: "Dinner")
        try ledger.split(6_420, paidBy: "Chidi", shares: rooms, on: "2026-03-19", note: "Internet")
        try ledger.splitEvenly(2_399, paidBy: "Aiko", among: all, on: "2026-03-28", note: "Cleaning")

        XCTAssertEqual(try ledger.total(), 0, "The books of March are not balanced")
    }

    /// Shares by the size of the rooms.
    private var rooms: [(name: String, percent: Int)] {
        [("Aiko", 50), ("Ben", 30), ("Chidi", 20)]
    }
}
