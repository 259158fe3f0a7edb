import CFailureArtifactsSQLite
import Foundation
import Testing

@testable import FailureArtifactsSQLite

/// A connection as an application opens it, with SQLite's C API.
final class ApplicationHandle: @unchecked Sendable {
    private(set) var handle: OpaquePointer?

    init(_ path: String, flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) throws {
        try #require(sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK)
    }

    deinit { close() }

    func close() {
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// What discovery knows of it.
    var discovered: DiscoveredConnection {
        get throws {
            try #require(ConnectionRegistry.shared.openConnections.first { $0.handle == handle })
        }
    }

    /// The stores that it has, as discovery finds them.
    var stores: [DiscoveredStore] {
        get throws { DiscoveredStore.grouping([try discovered]) }
    }

    func run(_ sql: String) throws {
        var message: UnsafeMutablePointer<CChar>?
        let code = sqlite3_exec(handle, sql, nil, nil, &message)
        defer { sqlite3_free(message) }
        let text = message.map { String(cString: $0) } ?? ""
        try #require(code == SQLITE_OK, "\(sql): \(text)")
    }

    func value(_ sql: String) throws -> String {
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        try #require(sqlite3_step(statement) == SQLITE_ROW)
        return sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "NULL"
    }
}

extension Snapshotter.Targets {
    /// `copy.sqlite` and its like.
    static func copies(in directory: String) -> Self {
        Self(
            copy: directory + "/copy.sqlite", committed: directory + "/copy.committed.sqlite",
            raw: directory + "/raw.sqlite")
    }
}

/// Runs the `sqlite3` program, a reader that shares nothing with this process.
func sqlite3Program(_ path: String, _ sql: String) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["sqlite3", "-bail", path, sql]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
}

/// Runs `body` with a new directory that is removed afterwards.
func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    let url = FileManager.default.temporaryDirectory.appending(path: "store tests \(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    return try body(url.path)
}
