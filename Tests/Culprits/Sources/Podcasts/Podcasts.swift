import Foundation
import GRDB

/// An application for podcasts (GRDB).
struct Podcasts: Sendable {
    let database: any DatabaseWriter

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator().disablingDeferredForeignKeyChecks()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE podcast(id INTEGER PRIMARY KEY, title TEXT NOT NULL, isHidden INTEGER NOT NULL DEFAULT 0);
                    CREATE TABLE episode(id INTEGER PRIMARY KEY, podcastID INTEGER NOT NULL, title TEXT NOT NULL,
                        minutes INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'new');
                    CREATE TABLE download(id INTEGER PRIMARY KEY, episodeID INTEGER NOT NULL, bytes INTEGER NOT NULL);
                    """)
            // A store of an earlier release may have such rows.
            try db.execute(sql: "UPDATE episode SET state = 'new' WHERE state = ''")
        }
        migrator.registerMigration("v2") { db in
            try db.execute(
                sql: """
                    CREATE TABLE newDownload(id INTEGER PRIMARY KEY, episodeID INTEGER NOT NULL, bytes INTEGER NOT NULL)
                    """)
            try db.execute(  // Culprit: testDownloadsSurviveTheUpgrade
                sql: """
                    INSERT INTO newDownload SELECT d.id, d.episodeID, d.bytes FROM download d
                    JOIN episode e ON e.id = d.episodeID AND e.state = 'played'
                    """)
            try db.execute(sql: "DROP TABLE download; ALTER TABLE newDownload RENAME TO download")
        }
        return migrator
    }

    init(_ database: any DatabaseWriter, upTo version: String = "v1") throws {
        self.database = database
        try Self.migrator.migrate(database, upTo: version)
    }

    func run(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws {
        try database.write { db in try db.execute(sql: sql, arguments: arguments) }
    }

    // MARK: - Podcasts

    func follow(_ title: String) throws {
        try run("INSERT INTO podcast (title) VALUES (?)", [title])
    }

    func hide(_ title: String) throws {
        try run(  // Culprit: testEpisodesOfAllPodcasts
            "UPDATE podcast SET isHidden = 1 WHERE title LIKE ? || '%'", [title])
    }

    /// Replaces a podcast by one with another address.
    func replace(_ title: String, with new: String) throws {
        try run("DELETE FROM podcast WHERE title = ?", [title])
        try follow(new)
    }

    // MARK: - Episodes

    func add(_ title: String, to podcast: Int, minutes: Int) throws {
        try run(
            "INSERT INTO episode (podcastID, title, minutes) VALUES (?, ?, ?)",
            [podcast, title, minutes])
    }

    func play(_ title: String) throws {
        try run(  // Culprit: testNewEpisodesAreCounted
            "UPDATE episode SET state = 'played' WHERE title >= ?", [title])
    }

    func rename(_ title: String, to new: String) throws {
        try run(  // Culprit: testEpisodesAreSorted
            "UPDATE episode SET title = ' ' || ? WHERE title = ?", [new, title])
    }

    func download(_ episode: Int, bytes: Int) throws {
        try run("INSERT INTO download (episodeID, bytes) VALUES (?, ?)", [episode, bytes])
    }

    // MARK: - Lists

    func titles() throws -> [String] {
        try database.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT episode.title FROM episode JOIN podcast ON podcast.id = episode.podcastID
                    WHERE podcast.isHidden = 0 ORDER BY episode.title
                    """)
        }
    }

    func newEpisodes() throws -> [Row] {
        try database.read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM episode WHERE state = 'new' ORDER BY id")
        }
    }

    func downloads() throws -> [Int] {
        try database.read { db in try Int.fetchAll(db, sql: "SELECT bytes FROM download ORDER BY id") }
    }
}
