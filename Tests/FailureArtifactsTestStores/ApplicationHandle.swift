internal import CFailureArtifactsSQLite
package import Testing

/// A connection that is opened with SQLite's C API, as an application does.
package final class ApplicationHandle: @unchecked Sendable {
    package private(set) var handle: OpaquePointer?

    package init(
        _ path: String, flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs: String? = nil
    ) throws {
        try #require(sqlite3_open_v2(path, &handle, flags, vfs) == SQLITE_OK)
    }

    deinit { close() }

    package func close() {
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Makes this the connection that was used last, so that it is the test's own.
    package func use() throws { #expect(try value("SELECT 1") == "1") }

    package func run(_ sql: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let failure = failure(of: sql) ?? ""
        try #require(failure.isEmpty, "\(sql)", sourceLocation: sourceLocation)
    }

    /// Runs statements, and returns SQLite's message if one fails; nil otherwise.
    package func failure(of sql: String) -> String? {
        var message: UnsafeMutablePointer<CChar>?
        let code = sqlite3_exec(handle, sql, nil, nil, &message)
        defer { sqlite3_free(message) }
        return code == SQLITE_OK ? nil : message.map { String(cString: $0) } ?? "error \(code)"
    }

    /// Returns the first value of the first row; nil if there is no row, or if the statement fails.
    package func text(_ sql: String) -> String? {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { return nil }
        return sqlite3_column_text(statement, 0).map { String(cString: $0) }
    }

    /// Returns the texts in the first column of a statement's rows; a NULL is `NULL`.
    package func texts(
        _ sql: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        try #require(
            sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK,
            sourceLocation: sourceLocation)
        var texts: [String] = []
        var code = sqlite3_step(statement)
        while code == SQLITE_ROW {
            texts.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "NULL")
            code = sqlite3_step(statement)
        }
        try #require(code == SQLITE_DONE, "\(sql)", sourceLocation: sourceLocation)
        return texts
    }

    /// Returns the first value of the first row; a NULL is `NULL`.
    package func value(_ sql: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String
    {
        try #require(
            try texts(sql, sourceLocation: sourceLocation).first, sourceLocation: sourceLocation)
    }
}

extension ApplicationHandle {
    /// Flags for a connection without a mutex, as in GRDB: only one thread at a time uses it.
    package static let withoutMutex = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX

    /// Creates a table `big` with rows of 500 bytes; the default is more than a cache of five pages holds.
    package func fill(rows: Int = 400) throws {
        try run(
            """
            CREATE TABLE big(id INTEGER PRIMARY KEY, a);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < \(rows))
            INSERT INTO big SELECT n, zeroblob(500) FROM c
            """)
    }
}

/// A query that shows if the rows of ``ApplicationHandle/fill(rows:)`` are unchanged.
package let untouched = "SELECT count(*), sum(a = zeroblob(500)) FROM big"
/// Statements of a transaction that writes to the file before it is committed.
package let spilling =
    "PRAGMA cache_size = 5; BEGIN IMMEDIATE; UPDATE big SET a = 'changed' || randomblob(500)"
