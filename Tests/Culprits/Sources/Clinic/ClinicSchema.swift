import GRDB

/// The database of a clinic.
///
/// Identifiers of patients are UUIDs as text. Times are seconds since 1970, dates are ISO 8601 text.
package enum ClinicSchema {
    package static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("initial") { db in
            try db.execute(
                sql: """
                    CREATE TABLE doctors (
                        code TEXT PRIMARY KEY NOT NULL, full_name TEXT NOT NULL, quarter_rate INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE patients (
                        id TEXT PRIMARY KEY NOT NULL, full_name TEXT NOT NULL, birth_date TEXT NOT NULL,
                        phone TEXT, insurance_code TEXT
                    );
                    CREATE TABLE drugs (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, strength_mg INTEGER);
                    CREATE TABLE appointments (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        patient_id TEXT NOT NULL REFERENCES patients(id) ON DELETE CASCADE,
                        doctor_code TEXT NOT NULL REFERENCES doctors(code),
                        starts_at INTEGER NOT NULL, minutes INTEGER NOT NULL DEFAULT 15,
                        status TEXT NOT NULL DEFAULT 'planned'
                    );
                    CREATE TABLE prescriptions (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        patient_id TEXT NOT NULL REFERENCES patients(id) ON DELETE CASCADE,
                        drug_id INTEGER NOT NULL, daily_mg INTEGER NOT NULL, issued_on TEXT NOT NULL
                    );
                    CREATE TABLE invoices (
                        id INTEGER PRIMARY KEY, appointment_id INTEGER NOT NULL UNIQUE REFERENCES appointments(id),
                        amount_cents INTEGER NOT NULL CHECK (amount_cents > 0), paid_on TEXT
                    );
                    CREATE TABLE visit_notes (
                        appointment_id INTEGER NOT NULL, line_no INTEGER NOT NULL, body TEXT NOT NULL,
                        PRIMARY KEY (appointment_id, line_no)
                    ) WITHOUT ROWID;
                    CREATE INDEX appointments_by_patient ON appointments (patient_id, starts_at);
                    CREATE VIEW open_invoices AS
                        SELECT invoices.id, patient_id, amount_cents FROM invoices
                        JOIN appointments ON appointments.id = appointment_id WHERE paid_on IS NULL;
                    """)
        }
        migrator.registerMigration("unique-insurance") { db in
            try db.execute(
                sql: """
                    CREATE TABLE patients_new (
                        id TEXT PRIMARY KEY NOT NULL, full_name TEXT NOT NULL, birth_date TEXT NOT NULL,
                        phone TEXT, insurance_code TEXT UNIQUE, language TEXT NOT NULL DEFAULT 'en'
                    )
                    """)
            try db.execute(  // Culprit: testInsuranceAfterUpgrade
                sql: """
                    INSERT INTO patients_new (id, full_name, birth_date, phone)
                    SELECT id, full_name, birth_date, phone FROM patients
                    """)
            try db.execute(sql: "DROP TABLE patients")  // Culprit: testInsuranceAfterUpgrade
            try db.execute(sql: "ALTER TABLE patients_new RENAME TO patients")
        }
        return migrator
    }
}
