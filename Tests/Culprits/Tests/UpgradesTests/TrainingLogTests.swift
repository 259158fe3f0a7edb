import Foundation
import GRDB
import Stores
import XCTest

@testable import Upgrades

/// Upgrades of a training log.
final class TrainingLogTests: StoreTestCase {
    // Expected: workout id=8; workout id=13
    func testDistanceOfTheYear() throws {
        let log = try log(upTo: "1.1")
        for shoe in ["Pegasus", "Speedgoat"] { try log.addShoe(shoe) }
        let distances = [
            "5000 m", "8200 m", "400 m", "10000 m", "7350 m", "6100 m", "3000 m", "12 500 m", "5000 m",
            "9000 m", "4800 m", "7100 m", "21.1 km", "6000 m",
        ]
        for (index, distance) in distances.enumerated() {
            try log.addWorkout(
                "running", on: "2026-01-\(10 + index)", distance: distance,
                comment: index == 4 ? "windy" : nil)
        }
        try log.retireShoe(1, on: "2026-01-20")

        try TrainingLog.migrator.migrate(log.database, upTo: "2.0")
        try log.addShoe("Ghost")

        XCTAssertEqual(try log.meters(in: 2026), 105_550)
    }

    // Expected: nothing
    func testPaceOfTheLastWorkout() throws {
        let log = try log(upTo: "1.1")
        try log.addShoe("Pegasus")
        for day in 1...9 {
            try log.addWorkout(
                "running", on: "2026-03-0\(day)", distance: "\(4_000 + day * 150) m",
                comment: day == 3 ? "with Ben" : nil)
        }
        try TrainingLog.migrator.migrate(log.database, upTo: "2.0")
        try log.retireShoe(1, on: "2026-03-09")
        try log.retireShoe(1, on: "2026-03-10")
        let meters = try log.database.read { db in
            try Int.fetchOne(db, sql: "SELECT meters FROM workout ORDER BY day DESC") ?? 0
        }
        XCTAssertEqual(meters, 5_350)

        XCTAssertEqual(TrainingLog.pace(seconds: 1_924, meters: meters), "6:00")
    }

    private func log(upTo version: String) throws -> TrainingLog {
        let database = try StoreKind.current.writer(path("training.sqlite"))
        try TrainingLog.migrator.migrate(database, upTo: version)
        return TrainingLog(database: database)
    }
}
