import Foundation
import GRDB

/// The front desk of a clinic.
package final class Clinic: Sendable {
    package let db: any DatabaseWriter

    package init(_ db: any DatabaseWriter) throws {
        self.db = db
        try ClinicSchema.migrator.migrate(db)
    }

    // MARK: Patients

    package func register(_ patient: Patient) throws {
        try db.write { try patient.insert($0) }
    }

    /// Imports patients from a table with the columns name, birth date and insurance code.
    package func importPatients(_ text: String) throws {
        for (number, line) in text.split(separator: "\n").enumerated() {
            let fields = line.split(separator: ";").map(String.init)
            let patient = Patient(
                id: "imported-\(number + 1)", fullName: fields[0], birthDate: fields[1],
                insuranceCode: fields[2])
            try db.write { db in
                try patient.insert(db)  // Culprit: testAdults
            }
        }
    }

    package func setPhone(_ phone: String, of id: UUID) throws {
        try db.write { db in
            try db.execute(  // Culprit: testPhone
                sql: "UPDATE patients SET phone = ? WHERE id = ?", arguments: [phone, id.uuidString])
        }
    }

    package func patient(_ id: String) throws -> Patient? {
        try db.read { try Patient.fetchOne($0, key: id) }
    }

    package func names(bornBefore date: String) throws -> [String] {
        try db.read { db in
            try Patient.filter(Column("birth_date") < date).order(Column("full_name")).fetchAll(db).map(
                \.fullName)
        }
    }

    /// Moves what belongs to a duplicate to the original, and removes the duplicate.
    package func merge(_ duplicate: String, into original: String) async throws {
        try await db.write { db in
            try Appointment.filter(Column("patient_id") == duplicate)
                .updateAll(db, Column("patient_id").set(to: original))
            _ = try Patient.deleteOne(db, key: duplicate)  // Culprit: testMedication
        }
    }

    // MARK: Appointments

    @discardableResult
    package func book(_ patient: String, with doctor: String, at time: Int, minutes: Int = 15) throws
        -> Int64
    {
        try db.write { db in
            try Appointment(
                id: nil, patientId: patient, doctorCode: doctor, startsAt: time, minutes: minutes
            )
            .insert(db)
            return db.lastInsertedRowID
        }
    }

    /// Cancels the appointments of a patient from a time on.
    package func cancelAppointments(of patient: String, from time: Int) throws {
        try db.write { db in
            let planned = Appointment.filter(
                Column("starts_at") >= time && Column("status") == "planned")
            guard try planned.filter(Column("patient_id") == patient).fetchCount(db) > 0 else { return }
            try planned.updateAll(db, Column("status").set(to: "cancelled"))  // Culprit: testAgenda
        }
    }

    /// Removes the cancelled appointments before a time.
    package func removeCancelledAppointments(before time: Int) throws {
        try db.write { db in
            let old = Appointment.filter(Column("starts_at") < time)
            let cancelled = Appointment.filter(Column("status") == "cancelled")
            guard try cancelled.fetchCount(db) > 0 else { return }
            try old.deleteAll(db)  // Culprit: testAppointmentsOfTheWeek
        }
    }

    package func agenda(of doctor: String) throws -> [String] {
        try db.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT patients.full_name FROM appointments JOIN patients ON patients.id = patient_id
                    WHERE doctor_code = ? AND status = 'planned' ORDER BY starts_at
                    """, arguments: [doctor])
        }
    }

    package func addNote(_ body: String, to appointment: Int64) throws {
        try db.write { db in
            try db.execute(
                sql: """
                    INSERT INTO visit_notes
                    SELECT ?1, 1 + count(*), ?2 FROM visit_notes WHERE appointment_id = ?1
                    """, arguments: [appointment, body])
        }
    }

    // MARK: Drugs

    package func prescribe(_ drug: Int64, _ dailyMg: Int, to patient: String, on date: String) throws {
        try db.write { db in
            try Prescription(id: nil, patientId: patient, drugId: drug, dailyMg: dailyMg, issuedOn: date)
                .insert(db)
        }
    }

    /// Removes the prescriptions that were issued before a date.
    package func removePrescriptions(issuedBefore date: String) throws {
        try db.write { db in
            for prescription in try Prescription.fetchAll(db) where prescription.issuedOn > date {
                try prescription.delete(db)  // Culprit: testExpiredPrescriptions
            }
        }
    }

    /// Removes a drug that is sold no longer.
    package func discontinue(_ name: String) throws {
        try db.write { db in
            try db.execute(  // Culprit: testPlan
                sql: "DELETE FROM drugs WHERE name = ?", arguments: [name])
        }
    }

    /// The drugs of a patient, as printed on the plan.
    package func plan(of patient: String) throws -> [String] {
        try db.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT name || ' ' || daily_mg FROM prescriptions JOIN drugs ON drugs.id = drug_id
                    WHERE patient_id = ? ORDER BY name
                    """, arguments: [patient])
        }
    }

    // MARK: Invoices

    /// Charges each quarter of an hour that has begun.
    package func invoice(_ appointment: Int64) throws {
        try db.write { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT minutes, quarter_rate FROM appointments JOIN doctors ON code = doctor_code
                    WHERE id = ?
                    """, arguments: [appointment])
            guard let row else { return }
            let amount = (row["minutes"] as Int) / 15 * (row["quarter_rate"] as Int)
            try db.execute(  // Culprit: testInvoiceOfLongVisit
                sql: "INSERT INTO invoices (appointment_id, amount_cents) VALUES (?, ?)",
                arguments: [appointment, amount])
            try db.execute(
                sql: "UPDATE appointments SET status = 'done' WHERE id = ?", arguments: [appointment])
        }
    }

    /// Invoices the appointments of a day at once.
    package func invoiceAll(_ fees: [(appointment: Int64, cents: Int)]) {
        try? db.write { db in
            for fee in fees {
                try db.execute(  // Culprit: testBilling
                    sql: "INSERT INTO invoices (appointment_id, amount_cents) VALUES (?, ?)",
                    arguments: [fee.appointment, fee.cents])
            }
        }
    }

    package func pay(_ invoice: Int64, on date: String) throws {
        try db.write { db in
            try db.execute(
                sql: "UPDATE invoices SET paid_on = ? WHERE id = ?", arguments: [date, invoice])
        }
    }

    package func balance(of patient: String) throws -> Int {
        try db.read { db in
            try Int.fetchOne(
                db, sql: "SELECT total(amount_cents) FROM open_invoices WHERE patient_id = ?",
                arguments: [patient])
                ?? 0
        }
    }
}
