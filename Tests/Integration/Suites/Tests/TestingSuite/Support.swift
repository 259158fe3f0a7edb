import CSuiteSQLite
import Foundation
import GRDB

/// Returns a path in a new directory.
func freshPath(_ name: String) throws -> String {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("suite-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    return directory.appendingPathComponent(name).path
}

struct Fruit: Codable, FetchableRecord, PersistableRecord, Sendable {
    var name: String
}

extension DatabaseWriter {
    /// Creates the table of ``Fruit``, with one row for each of `names`.
    func plant(_ names: String...) throws {
        try write { db in
            try db.create(table: "fruit") { $0.column("name", .text).notNull() }
            for name in names { try Fruit(name: name).insert(db) }
        }
    }

    /// Adds one row.
    func add(_ name: String) throws {
        try write { try Fruit(name: name).insert($0) }
    }
}

/// A connection of the C interface.
///
/// It is closed by `close` or at the end of its lifetime.
///
/// SQLite guards the handle with a mutex of its own.
final class Connection: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private var handle: OpaquePointer?

    /// Opens `path`, which may be `:memory:`, and creates a table `fruit` with a row for each of `rows`.
    init(_ path: String, fruit rows: String...) throws {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_URI
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK else {
            throw Failure(description: "Cannot open \(path)")
        }
        try execute("PRAGMA journal_mode = wal; CREATE TABLE IF NOT EXISTS fruit (name TEXT NOT NULL)")
        for row in rows { try add(row) }
    }

    deinit { close() }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw Failure(description: "\(String(cString: sqlite3_errmsg(handle))): \(sql)")
        }
    }

    /// Adds one row to `fruit`.
    func add(_ fruit: String) throws {
        try execute("INSERT INTO fruit (name) VALUES ('\(fruit)')")
    }

    func close() {
        sqlite3_close_v2(handle)
        handle = nil
    }
}
