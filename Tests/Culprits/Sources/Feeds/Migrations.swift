/// The steps from each `user_version` to the next one.
enum Migrations {
    static let steps: [@Sendable (Handle) throws -> Void] = [createTables, convertDates, indexEntries]

    static func run(_ handle: Handle) throws {
        let version =
            try handle.run("PRAGMA user_version").first?.first.flatMap { $0 }.flatMap { Int($0) } ?? 0
        for step in version..<max(version, steps.count) {
            try handle.run("BEGIN")
            try steps[step](handle)
            try handle.run("PRAGMA user_version = \(step + 1)")
            try handle.run("COMMIT")
        }
    }

    @Sendable private static func createTables(_ handle: Handle) throws {
        try handle.run(
            """
            CREATE TABLE feeds (
                id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, title TEXT, fetched_at INTEGER,
                muted INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE entries (
                feed_id INTEGER NOT NULL REFERENCES feeds (id), guid TEXT NOT NULL, title TEXT NOT NULL,
                published TEXT, is_read INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (feed_id, guid));
            CREATE TABLE folders (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE feed_folders (
                feed_id INTEGER NOT NULL, folder_name TEXT NOT NULL,
                PRIMARY KEY (feed_id, folder_name)) WITHOUT ROWID;
            CREATE TABLE stars (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, note TEXT, starred_at INTEGER);
            CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
            """)
    }

    /// Stores dates in seconds.
    @Sendable private static func convertDates(_ handle: Handle) throws {
        try handle.run(
            """
            CREATE TABLE new_entries (
                feed_id INTEGER NOT NULL REFERENCES feeds (id), guid TEXT NOT NULL, title TEXT NOT NULL,
                published_at INTEGER, is_read INTEGER NOT NULL DEFAULT 0,
                PRIMARY KEY (feed_id, guid)) WITHOUT ROWID
            """)
        try handle.run(  // Culprit: upgradedEntriesHaveDates
            """
            INSERT INTO new_entries
            SELECT feed_id, guid, title, CAST(strftime('%s', published) AS INTEGER), is_read FROM entries
            """)
        try handle.run("DROP TABLE entries")
        try handle.run("ALTER TABLE new_entries RENAME TO entries")
    }

    @Sendable private static func indexEntries(_ handle: Handle) throws {
        try handle.run("CREATE INDEX entries_by_date ON entries (published_at)")
        try handle.run("CREATE VIEW unread AS SELECT * FROM entries WHERE is_read = 0")
    }
}
