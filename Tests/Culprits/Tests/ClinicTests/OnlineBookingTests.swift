import Clinic
import Foundation
import GRDB
import XCTest

final class OnlineBookingTests: ClinicTestCase {
    // Expected: appointments id=14
    func testWeekWithAnOnlineBooking() throws {
        let clinic = try clinic(database())
        try clinic.book(patients[1], with: "ADL", at: monday + 2 * 86_400)
        try clinic.book(
            online:
                #"{"patient": "\#(patients[4])", "doctor": "BRA", "time": \#((monday + 90_000) * 1_000)}"#
        )
        try clinic.addNote("Wants a certificate", to: 13)
        try clinic.prescribe(3, 16, to: patients[1], on: "2026-03-04")
        XCTAssertEqual(try clinic.appointmentCount(from: monday, days: 7), 14)
    }

    // Expected: nothing
    func testPlanAfterAMissedAppointment() throws {
        let clinic = try clinic(database())
        try clinic.removeMissedAppointment(2)
        try clinic.prescribe(1, 50, to: patients[2], on: "2026-03-05")
        let drugs = try clinic.plan(of: patients[2]).map { $0.prefix { $0.isLetter } }
        XCTAssertEqual(drugs.joined(separator: "/"), "Aspirin, Candesartan")
    }
}
