import Clinic
import Foundation
import GRDB
import Stores
import XCTest

/// A test with a directory for its databases and a clinic with a busy week.
class ClinicTestCase: XCTestCase {
    private var directory = URL(fileURLWithPath: NSTemporaryDirectory())

    /// Identifiers of patients.
    let patients = (1...6).map { "6f1c2b9a-0000-4d3e-8a11-00000000000\($0)" }
    /// 2 March 2026 at eight o'clock.
    let monday = 1_772_438_400

    override func setUpWithError() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "clinic-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        if let reason = try StoreKind.current.reasonToSkip(name) { throw XCTSkip(reason) }
    }

    override func tearDownWithError() throws {
        try FileManager.default.removeItem(at: directory)
    }

    func database(_ configuration: Configuration = Configuration()) throws -> any DatabaseWriter {
        try StoreKind.current.writer(
            directory.appendingPathComponent("clinic.sqlite").path, configuration: configuration)
    }

    func fill(_ db: any DatabaseWriter) throws {
        try db.write { db in
            for (code, name, rate) in [("ADL", "Dr. Adler", 4_200), ("BRA", "Dr. Braun", 3_800)] {
                try db.execute(
                    sql: "INSERT INTO doctors VALUES (?, ?, ?)", arguments: [code, name, rate])
            }
            let drugs = [
                ("Aspirin", 100), ("Bisoprolol", 5), ("Candesartan", 16), ("Doxazosin", 4),
                ("Enalapril", 20),
            ]
            for (name, strength) in drugs {
                try db.execute(
                    sql: "INSERT INTO drugs (name, strength_mg) VALUES (?, ?)",
                    arguments: [name, strength])
            }
        }
        let names = ["Mara Holt", "Nils Iver", "Olga Jahn", "Piet Kroon", "Quirin Lang", "Rosa Meyer"]
        for (number, name) in names.enumerated() {
            try db.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO patients (id, full_name, birth_date, phone, insurance_code)
                        VALUES (?, ?, ?, ?, ?)
                        """,
                    arguments: [
                        patients[number], name, "19\(52 + number * 7)-0\(number + 1)-1\(number)",
                        "030 555 0\(10 + number)", "K\(70_400 + number * 13)",
                    ])
            }
        }
    }

    /// Opens a clinic with six patients, twelve appointments and eight prescriptions.
    func clinic(_ db: any DatabaseWriter) throws -> Clinic {
        let clinic = try Clinic(db)
        try fill(db)
        for number in 0..<12 {
            let start = monday + number / 2 * 86_400 + number % 4 * 1_800
            let id = try clinic.book(
                patients[number % 6], with: number % 2 == 0 ? "ADL" : "BRA", at: start,
                minutes: 15 + number % 2 * 15)
            if number < 3 { try clinic.addNote("Seen before, no complaints", to: id) }
        }
        for number in 0..<8 {
            try clinic.prescribe(
                Int64(1 + number % 5), 5 * (number + 1), to: patients[number % 6],
                on: "2026-02-1\(number)")
        }
        return clinic
    }
}
