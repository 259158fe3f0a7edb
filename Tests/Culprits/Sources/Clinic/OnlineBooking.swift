import Foundation
import GRDB

/// A request that the form on the clinic's website sends.
package struct BookingRequest: Decodable {
    let patient, doctor: String
    /// The time as JavaScript's `Date.now()` counts it.
    let time: Int
}

extension Clinic {
    /// Books an appointment that was requested online.
    package func book(online json: String) throws {
        let request = try JSONDecoder().decode(BookingRequest.self, from: Data(json.utf8))
        try db.write { db in
            try db.execute(  // Culprit: testWeekWithAnOnlineBooking
                sql: "INSERT INTO appointments (patient_id, doctor_code, starts_at) VALUES (?, ?, ?)",
                arguments: [request.patient, request.doctor, request.time])
        }
    }

    package func appointmentCount(from start: Int, days: Int) throws -> Int {
        try db.read { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM appointments WHERE starts_at BETWEEN ? AND ?",
                arguments: [start, start + days * 86_400]) ?? 0
        }
    }

    /// Removes a missed appointment.
    ///
    /// Its notes have to be kept for ten years.
    package func removeMissedAppointment(_ id: Int64) throws {
        try db.write { db in
            try db.execute(sql: "DELETE FROM appointments WHERE id = ?", arguments: [id])
        }
    }
}
