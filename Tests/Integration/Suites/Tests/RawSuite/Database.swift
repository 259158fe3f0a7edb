import CSuiteSQLite
import Foundation

/// A connection of the C interface, as in a test without a library.
///
/// It is never closed automatically.
///
/// SQLite guards the handle with a mutex of its own; the tests open and close it on one thread.
final class Database: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var handle: OpaquePointer?

    /// Opens `path`, which may be `:memory:`.
    init(_ path: String) throws {
        let code = sqlite3_open(path, &handle)
        guard code == SQLITE_OK else {
            let failure = Failure(description: "Cannot open \(path): \(code)")
            sqlite3_close_v2(handle)
            throw failure
        }
    }

    /// Opens a store with a table `fruit` that has one row for each of `rows`.
    convenience init(_ path: String, journal: String, fruit rows: String...) throws {
        try self.init(path)
        try execute("PRAGMA journal_mode = \(journal)")
        try execute("CREATE TABLE fruit (name TEXT NOT NULL)")
        for row in rows { try add(row) }
    }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw Failure(description: "\(String(cString: sqlite3_errmsg(handle))): \(sql)")
        }
    }

    /// Adds one row to `fruit`.
    func add(_ fruit: String) throws {
        try execute("INSERT INTO fruit (name) VALUES ('\(fruit)')")
    }

    /// Returns the first column of the first row.
    func integer(_ sql: String) throws -> Int {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else {
            throw Failure(description: "\(String(cString: sqlite3_errmsg(handle))): \(sql)")
        }
        return Int(sqlite3_column_int64(statement, 0))
    }

    func close() throws {
        let code = sqlite3_close(handle)
        guard code == SQLITE_OK else { throw Failure(description: "Cannot close: \(code)") }
        handle = nil
    }
}

/// Returns a path in a new directory.
func freshPath(_ name: String) throws -> String {
    let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("suite-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    return directory.appendingPathComponent(name).path
}

/// Returns the size of a file; nil if it doesn't exist.
func size(of path: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
}

/// Returns the open descriptors, except those of libdispatch.
///
/// It opens its own at any time, and ends the process if one of them is closed.
func openDescriptors() throws -> [CInt] {
    let manager = FileManager.default
    return try manager.contentsOfDirectory(atPath: "/dev/fd").compactMap { CInt($0) }.filter { number in
        let target = (try? manager.destinationOfSymbolicLink(atPath: "/dev/fd/\(number)")) ?? ""
        return !["eventpoll", "eventfd", "timerfd"].contains { target == "anon_inode:[\($0)]" }
    }
}

/// Returns the exit status of the program `sqlite3`.
func exitStatusOfSQLite3(_ path: String, _ sql: String) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sqlite3", "-bail", path, sql]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
}

/// Writes a line immediately, even if standard output is buffered.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

/// Ends the process as a crash does.
func killSelf() -> Never {
    kill(getpid(), SIGKILL)
    while true { pause() }
}
