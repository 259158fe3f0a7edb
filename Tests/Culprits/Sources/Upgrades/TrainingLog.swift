import Foundation
import GRDB

/// A training log (GRDB), whose first versions stored distances as text.
struct TrainingLog: Sendable {
    let database: any DatabaseWriter

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1.0") { db in
            try db.execute(
                sql: """
                    CREATE TABLE workout (id INTEGER PRIMARY KEY, sport TEXT NOT NULL, day TEXT NOT NULL,
                        distance TEXT NOT NULL, comment TEXT);
                    CREATE TABLE shoe (id INTEGER PRIMARY KEY, model TEXT NOT NULL, retiredOn TEXT);
                    """)
        }
        migrator.registerMigration("1.1") { db in
            try db.execute(sql: "ALTER TABLE workout ADD COLUMN shoeID INTEGER REFERENCES shoe (id)")
        }
        migrator.registerMigration("2.0") { db in
            try db.execute(sql: "ALTER TABLE workout ADD COLUMN meters INTEGER NOT NULL DEFAULT 0")
            try db.execute(  // Culprit: testDistanceOfTheYear
                sql: "UPDATE workout SET meters = replace(distance, ' m', '')")
        }
        return migrator
    }

    func addShoe(_ model: String) throws {
        try database.write { db in
            try db.execute(sql: "INSERT INTO shoe (model) VALUES (?)", arguments: [model])
        }
    }

    func retireShoe(_ id: Int, on day: String) throws {
        try database.write { db in
            try db.execute(
                sql: "UPDATE shoe SET retiredOn = ? WHERE id = ? AND retiredOn IS NULL",
                arguments: [day, id])
        }
    }

    /// Adds a workout in the form of the versions 1.x.
    func addWorkout(_ sport: String, on day: String, distance: String, comment: String? = nil) throws {
        try database.write { db in
            try db.execute(
                sql: "INSERT INTO workout (sport, day, distance, comment) VALUES (?, ?, ?, ?)",
                arguments: [sport, day, distance, comment])
        }
    }

    func meters(in year: Int) throws -> Int {
        try database.read { db in
            try Int.fetchOne(
                db, sql: "SELECT CAST(sum(meters) AS INTEGER) FROM workout WHERE substr(day, 1, 4) = ?",
                arguments: [String(year)]) ?? 0
        }
    }
}

extension TrainingLog {
    /// Returns the time per kilometer, such as "5:07".
    static func pace(seconds: Int, meters: Int) -> String {
        let perKilometer = Double(seconds) / Double(meters) * 1_000
        let minutes = Int(perKilometer / 60)
        let rest = Int((perKilometer - Double(minutes * 60)).rounded())
        return "\(minutes):\(rest < 10 ? "0" : "")\(rest)"
    }
}
