import Foundation
import GRDB
import Stores
import XCTest

@testable import Upgrades

/// Upgrades of a notebook from one released version to the next.
final class NotebookTests: StoreTestCase {
    // Expected: author id=1; author id=2; author id=4; author id=5
    func testBirthdaysSurviveTheUpgrade() throws {
        let notebook = try notebook("v2")
        try fill(notebook)
        let authors: [(String, String?, String?)] = [
            ("Mary Shelley", "mary@example.com", "1797-08-30"), ("Jules Verne", nil, "1828-02-08"),
            ("Wilma Writer", "wilma@example.com", nil), ("Selma Lagerlöf", nil, "1858-11-20"),
            ("Karel Čapek", "karel@example.com", "1890-01-09"),
        ]
        for (name, email, birthday) in authors {
            try notebook.database.write { db in
                try db.execute(
                    sql: "INSERT INTO author (name, email, birthday) VALUES (?, ?, ?)",
                    arguments: [name, email, birthday])
            }
        }

        try Notebook.migrator.migrate(notebook.database, upTo: "v3")
        try notebook.addFolder("Reading list")
        try notebook.addNote("Frankenstein", in: 4, at: minute(50))
        try notebook.addNote("R.U.R.", in: 4, at: minute(51))

        let romantics = try notebook.database.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT givenName FROM author WHERE birthday < '1850-01-01' ORDER BY birthday")
        }
        XCTAssertEqual(romantics, ["Mary", "Jules"])
    }

    // Expected: noteTag noteID=2 tagID=4; noteTag noteID=6 tagID=5; tag id=4; tag id=5
    func testTagsOfANoteAfterTheyWereJoined() throws {
        let notebook = try notebook("v3")
        try fill(notebook)
        for tag in ["urgent", "garden", "recipe", "Urgent", "Recipe", "travel"] {
            try notebook.database.write { db in
                try db.execute(sql: "INSERT INTO tag (name) VALUES (?)", arguments: [tag])
            }
        }
        for (note, tag) in [(1, 2), (2, 4), (2, 2), (3, 1), (5, 6), (6, 3), (6, 5)] {
            try notebook.database.write { db in
                try db.execute(sql: "INSERT INTO noteTag VALUES (?, ?)", arguments: [note, tag])
            }
        }

        try Notebook.migrator.migrate(notebook.database, upTo: "v4")
        try notebook.pin(3)
        try notebook.addNote("Repot the lemon tree", in: 2, at: minute(60))

        XCTAssertEqual(try notebook.tags(of: 3), ["urgent"])
        XCTAssertEqual(try notebook.tags(of: 2), ["garden", "urgent"])
    }

    // Expected: reminder id=2; reminder id=3
    func testRemindersKeepTheirText() throws {
        let notebook = try notebook("v4")
        try fill(notebook)
        for note: Int64 in [2, 5, 6] { try notebook.pin(note) }
        try Notebook.migrator.migrate(notebook.database, upTo: "v5")
        try notebook.addNote("Buy stamps", at: minute(61))

        try Notebook.migrator.migrate(notebook.database, upTo: "v6")
        try notebook.addNote("Tea for Ben", in: 1, at: minute(62))
        try notebook.addFolder("Archive")

        let last = try notebook.database.read { db in
            try String.fetchOne(db, sql: "SELECT text FROM reminder ORDER BY id DESC")
        }
        XCTAssertEqual(last, "Grandma's dumplings")
    }

    // Expected: lines
    func testEditKeepsARevision() throws {
        let notebook = try notebook()
        try fill(notebook)
        try notebook.pin(1)
        try notebook.addNote("Packing list", body: "Passport", in: 3, at: minute(70))

        let revisions = try notebook.edit(8, body: "Passport, tent")
        try notebook.pin(8)
        try notebook.addNote("Weather", at: minute(71))
        XCTAssertEqual(revisions, 1)
    }

    /// Opens a notebook of a released version, by default the newest one.
    private func notebook(_ version: String? = nil) throws -> Notebook {
        let database = try StoreKind.current.writer(path("notebook.sqlite"))
        if let version {
            try Notebook.migrator.migrate(database, upTo: version)
        } else {
            try Notebook.migrator.migrate(database)
        }
        return Notebook(database: database)
    }

    /// Adds three folders and seven notes, one of which is in no folder.
    private func fill(_ notebook: Notebook) throws {
        for name in ["Kitchen", "Garden", "Travel"] { try notebook.addFolder(name) }
        try notebook.addNote("Compost", body: "Turn it in March", in: 2, at: minute(0))
        try notebook.addNote("Order seeds", body: "Beans, chard", in: 2, at: minute(4))
        try notebook.addNote("Descale the kettle", in: 1, at: minute(9))
        try notebook.addNote("Idea", body: "A bench under the pear tree", at: minute(15))
        try notebook.addNote("Night train to Vienna", in: 3, at: minute(22))
        try notebook.addNote("Grandma's dumplings", body: "Six potatoes", in: 1, at: minute(30))
        try notebook.addNote("Water the tomatoes", in: 2, at: minute(41))
    }

    private func minute(_ minutes: Int) -> Date {
        Date(timeIntervalSince1970: 1_772_700_000 + Double(minutes * 60))
    }
}
