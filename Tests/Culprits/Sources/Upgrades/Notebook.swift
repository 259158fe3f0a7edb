import Foundation
import GRDB

/// An application for notes (GRDB).
struct Notebook: Sendable {
    let database: any DatabaseWriter

    /// The schema as far as it was released.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        registerFirstVersions(in: &migrator)
        registerPeople(in: &migrator)
        registerTags(in: &migrator)
        registerReminders(in: &migrator)
        return migrator
    }

    private static func registerFirstVersions(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("v1") { db in
            try db.create(table: "folder") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
            }
            try db.create(table: "note") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("folderID", .integer).references("folder", onDelete: .setNull)
                table.column("title", .text).notNull()
                table.column("body", .text).notNull().defaults(to: "")
                table.column("createdAt", .datetime).notNull()
            }
            try db.create(table: "author") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
                table.column("email", .text)
                table.column("birthday", .date)
            }
        }
        migrator.registerMigration("v2") { db in
            try db.create(table: "tag") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
            }
            try db.create(table: "noteTag") { table in
                table.column("noteID", .integer).notNull().references("note", onDelete: .cascade)
                table.column("tagID", .integer).notNull().references("tag", onDelete: .cascade)
                table.primaryKey(["noteID", "tagID"])
            }
            try db.create(table: "thumbnail") { table in
                table.column("noteID", .integer).notNull()
                table.column("width", .integer).notNull()
            }
            try db.alter(table: "note") { table in
                table.add(column: "isPinned", .boolean).notNull().defaults(to: false)
            }
        }
    }

    /// Splits the names of authors.
    private static func registerPeople(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("v3") { db in
            try db.create(table: "newAuthor") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("givenName", .text).notNull()
                table.column("familyName", .text).notNull()
                table.column("email", .text)
                table.column("birthday", .date)
            }
            try db.execute(  // Culprit: testBirthdaysSurviveTheUpgrade
                sql: """
                    INSERT INTO newAuthor (id, givenName, familyName, email)
                    SELECT id, substr(name, 1, instr(name, ' ') - 1), substr(name, instr(name, ' ') + 1),
                        email
                    FROM author
                    """)
            try db.drop(table: "author")
            try db.rename(table: "newAuthor", to: "author")
        }
    }

    /// Joins tags that differ only in case.
    private static func registerTags(in migrator: inout DatabaseMigrator) {
        migrator = migrator.disablingDeferredForeignKeyChecks()
        migrator.registerMigration("v4") { db in
            try db.execute(sql: "DELETE FROM thumbnail")
            try db.execute(  // Culprit: testTagsOfANoteAfterTheyWereJoined
                sql: """
                    DELETE FROM tag WHERE id NOT IN (SELECT min(id) FROM tag GROUP BY lower(name))
                    """)
            try db.execute(sql: "UPDATE tag SET name = lower(name)")
        }
    }

    /// Replaces the pinned notes by reminders.
    private static func registerReminders(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("v5") { db in
            try db.create(table: "reminder") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("noteID", .integer).notNull().references("note", onDelete: .cascade)
                table.column("text", .text).notNull()
                table.column("dueAt", .datetime)
            }
            try db.execute(
                sql: "INSERT INTO reminder (noteID, text) SELECT id, title FROM note WHERE isPinned")
        }
        migrator.registerMigration("v6") { db in
            try db.alter(table: "note") { $0.add(column: "deletedAt", .datetime) }
            try db.execute(  // Culprit: testRemindersKeepTheirText
                sql: "UPDATE reminder SET text = (SELECT note.title FROM note WHERE note.isPinned)")
        }
    }

    /// Adds the revisions of notes.
    static func registerRevisions(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("v7") { db in
            try db.create(table: "revision") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("noteID", .integer).notNull().references("note", onDelete: .cascade)
                table.column("body", .text).notNull()
            }
        }
    }
}

struct Folder: Codable, FetchableRecord, PersistableRecord, Sendable {
    var id: Int64?
    var name: String
}

struct Note: Codable, FetchableRecord, PersistableRecord, Sendable {
    var id: Int64?
    var folderID: Int64?
    var title: String
    var body: String
    var createdAt: Date
}

extension Notebook {
    func addFolder(_ name: String) throws {
        try database.write { try Folder(name: name).insert($0) }
    }

    func addNote(_ title: String, body: String = "", in folder: Int64? = nil, at date: Date) throws {
        let note = Note(folderID: folder, title: title, body: body, createdAt: date)
        try database.write { try note.insert($0) }
    }

    func pin(_ note: Int64) throws {
        try database.write { db in
            try db.execute(sql: "UPDATE note SET isPinned = 1 WHERE id = ?", arguments: [note])
        }
    }

    /// Replaces the body of a note and keeps the old one as a revision.
    ///
    /// - Returns: The number of revisions that the note has.
    func edit(_ note: Int64, body: String) throws -> Int {
        try database.write { db in
            try db.execute(
                sql: "UPDATE note SET body = ? WHERE id = ?", arguments: [body, note])
        }
        return (try? revise(note)) ?? 0
    }

    private func revise(_ note: Int64) throws -> Int {
        try database.write { db in
            try db.execute(  // Culprit: testEditKeepsARevision
                sql: "INSERT INTO revision (noteID, body) SELECT id, body FROM note WHERE id = ?",
                arguments: [note])
            return try Int.fetchOne(
                db, sql: "SELECT count(*) FROM revision WHERE noteID = ?", arguments: [note]) ?? 0
        }
    }

    func tags(of note: Int64) throws -> [String] {
        try database.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT tag.name FROM noteTag JOIN tag ON tag.id = noteTag.tagID
                    WHERE noteTag.noteID = ? ORDER BY tag.name
                    """, arguments: [note])
        }
    }
}
