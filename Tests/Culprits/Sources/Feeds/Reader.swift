import Foundation

/// The feeds that a person reads.
actor Reader {
    struct Star: Sendable {
        var guid: String
        var note: String?
        var seconds: Int
    }

    private let handle: Handle

    init(path: String, journalMode: String = "wal") throws {
        handle = try Handle(path)
        try handle.run("PRAGMA journal_mode = \(journalMode)")
        try Migrations.run(handle)
    }

    func subscribe(_ url: String, _ title: String, folder: String) throws {
        try handle.run("INSERT INTO feeds (url, title) VALUES (\(url.quoted), \(title.quoted))")
        try handle.run("INSERT OR IGNORE INTO folders SELECT \(folder.quoted), count(*) FROM folders")
        try handle.run("INSERT INTO feed_folders VALUES (last_insert_rowid(), \(folder.quoted))")
    }

    func unsubscribe(_ feed: Int) throws {
        try handle.run("BEGIN")
        try handle.run("DELETE FROM feed_folders WHERE feed_id = \(feed)")
        try handle.run("DELETE FROM feeds WHERE id = \(feed)")  // Culprit: unsubscribedFeedsAreGone
        try handle.run("COMMIT")
    }

    func receive(_ guid: String, _ title: String, at seconds: Int, feed: Int) throws {
        try handle.run(
            "INSERT INTO entries VALUES (\(feed), \(guid.quoted), \(title.quoted), \(seconds), 0)")
        try handle.run("UPDATE feeds SET fetched_at = \(seconds) WHERE id = \(feed)")
    }

    /// Adds an item of a JSON feed.
    func receive(json: String, feed: Int) throws {
        let item = try JSONDecoder().decode([String: String].self, from: Data(json.utf8))
        let (guid, title, date) = (item["id"] ?? "", item["title"] ?? "", item["date_published"] ?? "")
        try handle.run(  // Culprit: newestEntriesComeFirst
            "INSERT INTO entries VALUES (\(feed), \(guid.quoted), \(title.quoted), \(date.quoted), 0)")
    }

    func markRead(_ guid: String) throws {
        try handle.run("UPDATE entries SET is_read = 1 WHERE guid = \(guid.quoted)")
    }

    func unreadCount() throws -> Int {
        try handle.run("SELECT count(*) FROM unread").first?[0].flatMap { Int($0) } ?? 0
    }

    func newestTitles(_ count: Int) throws -> [String] {
        try handle.run("SELECT title FROM entries ORDER BY published_at DESC LIMIT \(count)")
            .compactMap { $0[0] }
    }

    func date(of guid: String) throws -> Date? {
        try handle.run("SELECT published_at FROM entries WHERE guid = \(guid.quoted)").first?[0]
            .flatMap { TimeInterval($0) }.map { Date(timeIntervalSince1970: $0) }
    }

    /// Adds the stars that another device sent and that are unknown here.
    func merge(_ stars: [Star]) throws {
        for star in stars {
            try handle.run(  // Culprit: starsOfDevicesAreMerged
                """
                INSERT OR IGNORE INTO stars (guid, note, starred_at)
                VALUES (\(star.guid.quoted), \(star.note?.quoted ?? "NULL"), \(star.seconds))
                """)
        }
    }

    func starCount() throws -> Int {
        try handle.run("SELECT count(*) FROM stars").first?[0].flatMap { Int($0) } ?? 0
    }

    func set(_ key: String, _ json: String) throws {
        try handle.run("INSERT OR REPLACE INTO settings VALUES (\(key.quoted), \(json.quoted))")
    }

    func mute(_ feed: Int) {
        _ = try? handle.run(  // Culprit: mutedFeedsAreHidden
            "UPDATE feeds SET muted = 1 WHERE id = \(feed)")
    }

    func audibleFeeds() -> [String] {
        let rows = try? handle.run(  // Culprit: mutedFeedsAreHidden
            "SELECT title FROM feeds WHERE muted = 0 ORDER BY id")
        return (rows ?? []).compactMap { $0[0] }
    }
}

/// Rules that need no store.
enum Rules {
    /// Shortens a title to a number of characters, with an ellipsis.
    static func shortened(_ title: String, to length: Int) -> String {
        title.count > length ? title.prefix(length) + "…" : title
    }

    /// Returns the seconds until a feed is fetched again.
    static func delay(failures: Int) -> Int { min(3_600, 60 << failures) }
}
