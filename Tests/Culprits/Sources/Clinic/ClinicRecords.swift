import GRDB

package protocol ClinicRecord: Codable, FetchableRecord, PersistableRecord {}

extension ClinicRecord {
    package static var databaseColumnDecodingStrategy: DatabaseColumnDecodingStrategy {
        .convertFromSnakeCase
    }
    package static var databaseColumnEncodingStrategy: DatabaseColumnEncodingStrategy {
        .convertToSnakeCase
    }
}

package struct Patient: ClinicRecord {
    package static let databaseTableName = "patients"
    package static let appointments = hasMany(Appointment.self, using: ForeignKey(["patient_id"]))

    package var id: String
    package var fullName: String
    package var birthDate: String
    package var phone: String?
    package var insuranceCode: String?

    package init(
        id: String, fullName: String, birthDate: String, phone: String? = nil,
        insuranceCode: String? = nil
    ) {
        self.id = id
        self.fullName = fullName
        self.birthDate = birthDate
        self.phone = phone
        self.insuranceCode = insuranceCode
    }
}

package struct Appointment: ClinicRecord {
    package static let databaseTableName = "appointments"
    package static let patient = belongsTo(Patient.self, using: ForeignKey(["patient_id"]))

    package var id: Int64?
    package var patientId: String
    package var doctorCode: String
    package var startsAt: Int
    package var minutes: Int
    package var status = "planned"
}

package struct Prescription: ClinicRecord {
    package static let databaseTableName = "prescriptions"

    package var id: Int64?
    package var patientId: String
    package var drugId: Int64
    package var dailyMg: Int
    package var issuedOn: String
}
