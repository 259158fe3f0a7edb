import Foundation
import Testing

@testable import Catalog

@Suite struct LoanTests {
    // Expected: loan id=3
    @Test func returnedCopiesAreNoLongerOnLoan() throws {
        let catalog = try Town().catalog
        try catalog.lend(7, to: 1, on: "2026-03-06")
        try catalog.lend(6, to: 2, on: "2026-03-07")
        try catalog.addMember("Dora")
        try catalog.takeBackAll(of: 4, on: "2026-03-08")
        try catalog.takeBack(7, on: "2026-03-10")
        try catalog.addCopy(of: 1, shelf: "A1")
        try catalog.takeBackAll(of: 2, on: "2026-03-12")

        #expect(try catalog.openLoans(of: 2).isEmpty)
        #expect(try catalog.openLoans(of: 1).count == 0)
    }

    // Expected: loan id=3
    @Test func overdueCopiesOfAMember() throws {
        let catalog = try Town().catalog
        try catalog.lend(6, to: 2, on: "2026-03-07")
        try catalog.addMember("Dora")
        try catalog.takeBackOverdue(of: 3, on: "2026-03-20")
        try catalog.addCopy(of: 3, shelf: "A3")
        let copies = try catalog.openLoans(of: 2).map(\.copyID)
        #expect(copies == [4, 6])
    }

    // Expected: loan id=3
    @Test func renewedLoansAreDueTwoWeeksLater() throws {
        let catalog = try Town().catalog
        try catalog.lend(5, to: 1, on: "2026-03-06")
        try catalog.lend(6, to: 2, on: "2026-03-07")
        try catalog.renew(3)
        try catalog.takeBackAll(of: 2, on: "2026-03-18")
        try catalog.addMember("Emil", email: "emil@example.com", cardID: "TL-0311")
        let loan = try #require(try catalog.openLoans(of: 1).first)
        #expect(loan.dueOn == "2026-04-10")
    }

    // Expected: reservation id=3; reservation id=4
    @Test func reservationsAreCounted() throws {
        struct Timeout: Error {}
        let catalog = try Town().catalog
        try catalog.reserve(5, for: 1, on: "2026-03-01") { _ in }
        try catalog.reserve(2, for: 1, on: "2026-03-02") { _ in }
        var isFirstAttempt = true
        try catalog.reserve(5, for: 3, on: "2026-03-02") { _ in
            defer { isFirstAttempt = false }
            if isFirstAttempt { throw Timeout() }
        }
        try catalog.reserve(4, for: 2, on: "2026-03-03") { _ in }
        try catalog.lend(2, to: 2, on: "2026-03-04")
        try catalog.addCopy(of: 5, shelf: "S1")

        #expect(try catalog.reservations(of: 5) == 2)
    }

    // Expected: lines
    @Test func bothDesksTakeBooksBack() throws {
        let town = try Town()
        let entrance = try Town.openCatalog(town.path)
        try entrance.lend(2, to: 1, on: "2026-02-10")
        try town.catalog.lend(6, to: 2, on: "2026-02-11")
        try entrance.addMember("Dora", email: "dora@example.com")
        try town.catalog.takeBackAll(of: 1, on: "2026-03-01")
        #expect(try town.catalog.nextReminder(on: "2026-03-20") == "Chidi")

        try entrance.takeBackAll(of: 2, on: "2026-03-20")
        #expect(try entrance.openLoans(of: 2).isEmpty)
    }

    // Expected: nothing
    @Test func feesAreLimited() throws {
        let catalog = try Town().catalog
        try catalog.lend(5, to: 1, on: "2026-01-20")
        try catalog.takeBackAll(of: 1, on: "2026-03-22")
        try catalog.takeBackAll(of: 1, on: "2026-03-22")
        try catalog.addMember("Emil")
        try catalog.addMember("Emil", cardID: "TL-0400")
        try catalog.connection.execute("BEGIN; DELETE FROM loan; ROLLBACK")
        #expect(Rules.fee(daysLate: 40) == 1_000)
        #expect(Rules.fee(daysLate: 30) == 1_000)
    }

    // Expected: nothing
    @Test func remindersAreSent() async throws {
        let catalog = try Town().catalog
        try catalog.lend(5, to: 1, on: "2026-02-20")
        try catalog.lend(6, to: 2, on: "2026-02-21")
        try catalog.takeBackAll(of: 3, on: "2026-03-13")
        let loans = try (1...3).flatMap { try catalog.openLoans(of: $0) }
        await confirmation("A reminder is sent", expectedCount: 2) { reminder in
            for loan in loans where loan.dueOn < "2026-03-14" { reminder() }
        }
    }
}
