import Ledger
import XCTest

/// Tests of right code with outdated or wrong expectations.
final class HealthyStudioTests: LedgerTestCase {
    /// Returns a studio with eight members, of whom one has no e-mail.
    private func studio(enforcing: Bool = false) throws -> Studio {
        let connection = try connect()
        if enforcing { try connection.run("PRAGMA foreign_keys = ON") }
        let studio = try Studio(connection)
        for name in ["Ann", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus"] {
            try studio.join(name, email: "\(name.lowercased())@example.com")
        }
        try studio.join("Guest", email: nil)
        for (number, minutes) in [60, 90, 45, 60, 75, 90].enumerated() {
            try studio.attend(number + 1, "Tango", minutes: minutes)
            try studio.write("Note \(number)", about: number + 1)
        }
        return studio
    }

    // Expected: nothing
    func testNameAfterRenaming() throws {
        let studio = try studio()
        try studio.rename(3, "Cyril")
        XCTAssertEqual(try studio.value("name", of: 3)?.string, "Cy")
    }

    // Expected: nothing
    func testEmailAfterSaving() throws {
        let studio = try studio()
        try studio.save(3, name: "Cyril", email: "cyril@example.org", level: "expert")
        XCTAssertEqual(try studio.value("email", of: 3)?.string, "cy@example.com")
    }

    // Expected: nothing
    func testLevelAfterReturning() throws {
        let studio = try studio()
        try studio.save(2, name: "Bo", email: "bo@example.com", level: "teacher")
        try studio.save(2, name: "Bo", email: "bo@example.com", level: "beginner")
        XCTAssertEqual(try studio.value("level", of: 2)?.string, "teacher")
    }

    // Expected: nothing
    func testVisitsInJanuary() throws {
        let studio = try studio()
        for member in 1...7 { try studio.setVisits(member, 10 + member) }
        try studio.beginYear()
        XCTAssertEqual(try studio.value("visits", of: 4)?.int, 14)
    }

    // Expected: nothing
    func testCreditAfterPayment() throws {
        let studio = try studio()
        try studio.pay(5, cents: 1_250)
        XCTAssertEqual(try studio.value("credit", of: 5)?.int, 5_000)
    }

    // Expected: nothing
    func testEmailOfGuest() throws {
        let studio = try studio()
        XCTAssertEqual(try studio.value("email", of: 8)?.string, "guest@example.com")
    }

    // Expected: nothing
    func testLongestLessonOfAll() throws {
        let studio = try studio()
        try studio.leave(2)
        XCTAssertEqual(try studio.number("SELECT max(minutes) FROM attendance"), 120)
    }

    // Expected: nothing
    func testPaymentsOfFormerMembers() throws {
        let studio = try studio()
        for (member, cents) in [(1, 900), (2, 1_100), (3, 700), (4, 800)] {
            try studio.pay(member, cents: cents)
        }
        try studio.leave(2)
        XCTAssertEqual(try studio.number("SELECT sum(cents) FROM payment"), 2_400)
    }

    // Expected: nothing
    func testNotesOfFormerMembers() throws {
        let studio = try studio(enforcing: true)
        try studio.join("Hal", email: "hal@example.com")
        try studio.write("Came twice", about: 9)
        try studio.leave(9)
        XCTAssertEqual(try studio.number("SELECT count(*) FROM note"), 7)
    }

    // Expected: nothing
    func testSearches() throws {
        let studio = try studio()
        for term in ["tango", "salsa", "waltz", "samba", "swing", "polka"] { try studio.search(term) }
        XCTAssertEqual(try studio.number("SELECT count(*) FROM search"), 6)
    }

    // Expected: nothing
    func testForgottenSearches() throws {
        let studio = try studio()
        for term in ["tango", "salsa", "waltz", "samba"] { try studio.search(term) }
        try studio.forgetSearches()
        XCTAssertEqual(try studio.number("SELECT count(*) FROM search"), 4)
    }

    // Expected: nothing
    func testMembersDuringRegistration() throws {
        let (studio, desk) = (try studio(), try Studio(connect()))
        try studio.begin()
        try studio.join("Hal", email: "hal@example.com")
        XCTAssertEqual(try desk.number("SELECT count(*) FROM member"), 11)
        try studio.commit()
    }

    // Expected: nothing
    func testMembersAfterCancelledRegistration() throws {
        let studio = try studio()
        try studio.begin()
        try studio.join("Hal", email: "hal@example.com")
        try studio.rollBack()
        XCTAssertEqual(try studio.number("SELECT count(*) FROM member"), 9)
    }

    // Expected: nothing
    func testRefusedLesson() throws {
        let studio = try studio()
        XCTAssertThrowsError(try studio.attend(1, "Tango", minutes: 0))
        XCTAssertEqual(try studio.number("SELECT count(*) FROM attendance"), 7)
    }

    // Expected: nothing
    func testNameFromTwoDesks() throws {
        let (studio, desk) = (try studio(), try Studio(connect()))
        XCTAssertEqual(try desk.value("name", of: 1)?.string, "Ann")
        try studio.rename(1, "Anna")
        try desk.rename(1, "Annabel")
        XCTAssertEqual(try studio.value("name", of: 1)?.string, "Anna")
    }
}
