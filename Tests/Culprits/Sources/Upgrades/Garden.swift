import Foundation
import GRDB

/// A garden planner with many small upgrades (GRDB).
struct Garden: Sendable {
    let database: any DatabaseWriter

    static var migrator: DatabaseMigrator {
        let steps = [
            "CREATE TABLE bed (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
            """
            CREATE TABLE plant (
                id INTEGER PRIMARY KEY, species TEXT NOT NULL, bedID INTEGER REFERENCES bed (id))
            """,
            "ALTER TABLE bed ADD COLUMN squareMeters REAL",
            "CREATE TABLE weather (day TEXT PRIMARY KEY, rainfall REAL NOT NULL)",
            "ALTER TABLE plant ADD COLUMN sownOn TEXT",
            "CREATE INDEX plant_species ON plant (species)",
            "DELETE FROM weather",
            "ALTER TABLE plant ADD COLUMN catalogID TEXT",
            "UPDATE plant SET sownOn = NULL WHERE sownOn = ''",
            """
            CREATE TABLE harvest (
                plantID INTEGER NOT NULL REFERENCES plant (id), grams INTEGER NOT NULL)
            """,
            "DROP TABLE weather",
        ]
        var migrator = DatabaseMigrator()
        for (index, sql) in steps.enumerated() {
            migrator.registerMigration("v\(index + 1)") { try $0.execute(sql: sql) }
        }
        return migrator
    }

    /// Returns the identifier of the newest applied migration.
    func schemaVersion() throws -> String? {
        try database.read { try Self.migrator.appliedIdentifiers($0).max() }
    }

    func addBed(_ name: String) throws {
        try database.write { db in
            try db.execute(sql: "INSERT INTO bed (name) VALUES (?)", arguments: [name])
        }
    }

    func plant(_ species: String, in bed: Int?, sownOn day: String) throws {
        try database.write { db in
            try db.execute(
                sql: "INSERT INTO plant (species, bedID, sownOn) VALUES (?, ?, ?)",
                arguments: [species, bed, day])
        }
    }
}
