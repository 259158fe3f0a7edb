import Clinic
import Foundation
import GRDB
import XCTest

final class HealthyClinicTests: ClinicTestCase {
    // Expected: nothing
    func testLetterhead() throws {
        let clinic = try clinic(database())
        try clinic.register(Patient(id: "guest-1", fullName: "Yuki Tan", birthDate: "1999-09-09"))
        try clinic.invoice(3)
        try clinic.pay(1, on: "2026-03-20")
        let name = try XCTUnwrap(clinic.patient(patients[1])?.fullName)
        let initials = name.split(separator: " ").map { String($0.prefix(1)) }.joined()
        XCTAssertEqual(initials, "N.I.")
    }

    // Expected: nothing
    func testReminderTime() throws {
        let clinic = try clinic(database())
        try clinic.cancelAppointments(of: "unknown", from: monday)
        try clinic.addNote("Asks for a reminder", to: 6)
        try clinic.addNote("Asks for a reminder", to: 7)
        let start = try clinic.db.read {
            try Int.fetchOne($0, sql: "SELECT max(starts_at) FROM appointments")
        }
        let reminder = Date(timeIntervalSince1970: Double(try XCTUnwrap(start) - 7_200))
        XCTAssertEqual(reminder, Date(timeIntervalSince1970: Double(monday + 5 * 86_400)))
    }

    // Expected: nothing
    func testTooManyDigits() async throws {
        let clinic = try clinic(database())
        try clinic.discontinue("Paracetamol")
        try await clinic.merge("unknown", into: patients[0])
        for id in 1...4 as ClosedRange<Int64> { try clinic.invoice(id) }
        let total = try await clinic.db.read {
            try Int.fetchOne($0, sql: "SELECT sum(amount_cents) FROM invoices")
        }
        let euros = String(format: "%.1f", Double(try XCTUnwrap(total)) / 100)
        XCTAssertEqual(euros, "236.00")
    }
}
