import CSuiteSQLite
import Foundation

/// Returns the path of a file in a new directory, below the one that the checks set or the temporary directory.
func freshPath(_ name: String) throws -> String {
    let place = ProcessInfo.processInfo.environment["SUITE_PLACE"].map {
        URL(fileURLWithPath: $0, isDirectory: true)
    }
    let directory = (place ?? FileManager.default.temporaryDirectory)
        .appendingPathComponent("suite-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    return name.isEmpty ? directory.path : directory.appendingPathComponent(name).path
}

struct Failure: Error {
    let code: Int32
}

/// Opens a store with a table `fruit`, which has one row for each of `rows`, and leaves it open.
func openStore(
    _ path: String, journal: String = "wal", flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
    fruit rows: String...
) throws -> OpaquePointer? {
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK else { throw Failure(code: code) }
    try execute("PRAGMA journal_mode = \(journal); CREATE TABLE fruit (name TEXT)", on: handle)
    for row in rows { try execute("INSERT INTO fruit VALUES ('\(row)')", on: handle) }
    return handle
}

func execute(_ sql: String, on handle: OpaquePointer?) throws {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw Failure(code: code) }
}
