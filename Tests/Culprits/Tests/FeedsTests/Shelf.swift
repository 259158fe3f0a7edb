import Foundation
import Stores
import Testing

@testable import Feeds

/// Readers with some feeds.
enum Shelf {
    static func freshPath() throws -> String {
        if let test = Test.current, let reason = try StoreKind.current.reasonToSkip(test.name) {
            try Test.cancel("\(reason)")
        }
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "feeds-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory.appendingPathComponent("reader.sqlite3").path
    }

    static func openReader(_ path: String) throws -> Reader {
        try Reader(path: StoreKind.current.path(path), journalMode: StoreKind.current.journalMode)
    }

    static func reader() async throws -> Reader {
        let reader = try openReader(freshPath())
        try await reader.subscribe("https://blog.example.com/rss", "Swift Notes", folder: "Code")
        try await reader.subscribe("https://news.example.org/atom", "Town News", folder: "Local")
        try await reader.subscribe("https://bread.example.net/feed", "Sourdough", folder: "Food")
        for number in 1...4 {
            try await reader.receive(
                "b-\(number)", "Note \(number)", at: 1_772_000_000 + number * 86_400, feed: 1)
        }
        try await reader.receive("n-1", "Mayor's speech", at: 1_772_100_000, feed: 2)
        try await reader.receive("n-2", "Bridge closed", at: 1_772_200_000, feed: 2)
        try await reader.receive("s-1", "Rye starter", at: 1_771_000_000, feed: 3)
        try await reader.markRead("b-1")
        try await reader.set("theme", #"{"dark":true}"#)
        return reader
    }

    /// Makes a store as version 1 of the app left it.
    static func olderStore() throws -> String {
        let path = try freshPath()
        let handle = try Handle(path)
        try handle.run(
            """
            PRAGMA journal_mode = \(StoreKind.current.journalMode);
            CREATE TABLE feeds (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, title TEXT, fetched_at INTEGER);
            CREATE TABLE entries (
                feed_id INTEGER NOT NULL REFERENCES feeds (id), guid TEXT NOT NULL, title TEXT NOT NULL,
                published TEXT, is_read INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (feed_id, guid));
            CREATE TABLE folders (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE feed_folders (
                feed_id INTEGER NOT NULL, folder_name TEXT NOT NULL,
                PRIMARY KEY (feed_id, folder_name)) WITHOUT ROWID;
            CREATE TABLE stars (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, note TEXT, starred_at INTEGER);
            CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
            INSERT INTO feeds VALUES (1, 'https://blog.example.com/rss', 'Swift Notes', 1772000000);
            INSERT INTO feeds VALUES (2, 'https://news.example.org/atom', 'Town News', NULL);
            INSERT INTO folders VALUES ('Code', 0);
            INSERT INTO feed_folders VALUES (1, 'Code');
            INSERT INTO entries VALUES (1, 'b-1', 'Note 1', 'Tue, 03 Mar 2026 09:00:00 +0000', 1);
            INSERT INTO entries VALUES (1, 'b-2', 'Note 2', 'Wed, 04 Mar 2026 09:30:00 +0000', 0);
            INSERT INTO entries VALUES (2, 'n-1', 'Bridge closed', 'Wed, 04 Mar 2026 18:00:00 +0000', 0);
            INSERT INTO settings VALUES ('theme', '{"dark":false}');
            PRAGMA user_version = 1;
            """)
        return path
    }
}
