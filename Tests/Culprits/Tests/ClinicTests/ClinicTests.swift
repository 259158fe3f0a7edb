import Clinic
import Foundation
import GRDB
import XCTest

final class ClinicTests: ClinicTestCase {
    // Expected: invoices id=2
    func testInvoiceOfLongVisit() throws {
        let clinic = try clinic(database())
        let visit = try clinic.book(patients[2], with: "ADL", at: monday + 700_000, minutes: 50)
        try clinic.addNote("Long conversation", to: visit)
        try clinic.invoice(2)
        try clinic.invoice(visit)
        try clinic.invoice(5)
        try clinic.prescribe(1, 100, to: patients[2], on: "2026-03-10")
        XCTAssertEqual(
            try clinic.db.read {
                try Int.fetchAll($0, sql: "SELECT amount_cents FROM invoices ORDER BY id")
            },
            [7_600, 16_800, 4_200])
    }

    // Expected: patients id=6f1c2b9a-0000-4d3e-8a11-000000000004
    func testPhone() throws {
        let clinic = try clinic(database())
        let id = try XCTUnwrap(UUID(uuidString: patients[3]))
        try clinic.setPhone("0170 222 333", of: id)
        try clinic.cancelAppointments(of: patients[3], from: monday + 9 * 86_400)
        try clinic.prescribe(5, 20, to: patients[3], on: "2026-03-02")
        XCTAssertEqual(try clinic.patient(patients[3])?.phone, "0170 222 333")
    }

    // Expected: appointments id=8; appointments id=10; appointments id=12; appointments id=11; appointments id=9
    func testAgenda() throws {
        let clinic = try clinic(database())
        try clinic.invoice(1)
        try clinic.cancelAppointments(of: patients[0], from: monday + 3 * 86_400)
        try clinic.addNote("Called in sick", to: 7)
        try clinic.book(patients[4], with: "BRA", at: monday + 20 * 86_400)
        XCTAssertEqual(
            try clinic.agenda(of: "BRA"),
            [
                "Nils Iver", "Piet Kroon", "Rosa Meyer", "Nils Iver", "Piet Kroon", "Rosa Meyer",
                "Quirin Lang",
            ])
    }

    // Expected: prescriptions id=9; prescriptions id=10
    func testMedication() async throws {
        let clinic = try clinic(database())
        let twin = "b20e77aa-1111-4c0f-9d2e-000000000001"
        try clinic.register(
            Patient(id: twin, fullName: "Olga Jahn", birthDate: "1966-03-12", insuranceCode: "K99001"))
        try clinic.book(twin, with: "ADL", at: monday + 8 * 86_400)
        try clinic.prescribe(4, 4, to: twin, on: "2026-03-03")
        try clinic.prescribe(2, 5, to: twin, on: "2026-03-03")
        try await clinic.merge(twin, into: patients[2])
        try clinic.addNote("Records merged", to: 13)
        try clinic.invoice(13)
        XCTAssertEqual(
            try clinic.plan(of: patients[2]), ["Bisoprolol 5", "Candesartan 15", "Doxazosin 4"])
    }

    // Expected: prescriptions id=4; drugs id=4
    func testPlan() throws {
        let clinic = try clinic(database())
        try clinic.prescribe(1, 50, to: patients[3], on: "2026-03-01")
        try clinic.discontinue("Doxazosin")
        try clinic.invoice(4)
        try clinic.pay(1, on: "2026-03-09")
        XCTAssertEqual(try clinic.plan(of: patients[3]).count, 2)
    }

    // Expected: patients id=imported-4
    func testAdults() throws {
        let clinic = try clinic(database())
        try clinic.importPatients(
            """
            Sven Noll;1971-04-02;L1
            Tine Ott;1983-11-30;L2
            Udo Papst;1990-01-17;L3
            Vera Quint;23.05.1979;L4
            Willi Rau;2001-08-08;L5
            Xenia Sand;1968-12-24;L6
            """)
        try clinic.book("imported-1", with: "ADL", at: monday + 86_400 * 11)
        XCTAssertEqual(
            try clinic.names(bornBefore: "1985-01-01").filter { !$0.contains("Holt") },
            [
                "Nils Iver", "Olga Jahn", "Piet Kroon", "Quirin Lang", "Sven Noll", "Tine Ott",
                "Vera Quint",
                "Xenia Sand",
            ])
    }

    // Expected: invoices id=1; invoices id=2; invoices id=3
    func testBilling() throws {
        let clinic = try clinic(database())
        clinic.invoiceAll([(1, 4_200), (2, 7_600), (3, 4_200), (4, 0), (5, 4_200)])
        try clinic.addNote("Vaccination, no charge", to: 4)
        try clinic.book(patients[5], with: "BRA", at: monday + 86_400 * 12)
        XCTAssertEqual(try clinic.balance(of: patients[0]), 4_200)
    }

    // Expected: patients id=6f1c2b9a-0000-4d3e-8a11-000000000005; patients id=6f1c2b9a-0000-4d3e-8a11-000000000001
    func testInsuranceAfterUpgrade() throws {
        let queue = try database()
        try ClinicSchema.migrator.migrate(queue, upTo: "initial")
        try fill(queue)
        let clinic = try Clinic(queue)
        try clinic.book(patients[4], with: "ADL", at: monday)
        try clinic.prescribe(3, 8, to: patients[4], on: "2026-03-01")
        try clinic.invoice(1)
        XCTAssertEqual(try clinic.patient(patients[4])?.insuranceCode, "K70452")
    }

    // Expected: prescriptions id=5; prescriptions id=6; prescriptions id=7; prescriptions id=8
    func testExpiredPrescriptions() throws {
        let clinic = try clinic(database())
        try clinic.removePrescriptions(issuedBefore: "2026-02-13")
        try clinic.addNote("Plan was printed", to: 5)
        XCTAssertEqual(try clinic.plan(of: patients[0]), ["Bisoprolol 35"])
    }

    // Expected: appointments id=1; appointments id=2; appointments id=3; appointments id=4; appointments id=5
    func testAppointmentsOfTheWeek() throws {
        let clinic = try clinic(database())
        try clinic.register(Patient(id: "guest-1", fullName: "Yuki Tan", birthDate: "1999-09-09"))
        let visit = try clinic.book("guest-1", with: "ADL", at: monday + 86_400)
        try clinic.db.write { db in
            try db.execute(
                sql: "UPDATE appointments SET status = 'cancelled' WHERE id = ?", arguments: [visit])
        }
        try clinic.removeCancelledAppointments(before: monday + 3 * 86_400)
        let count = try clinic.db.read { try Appointment.fetchCount($0) }
        XCTAssertEqual(count, 12)
    }
}
