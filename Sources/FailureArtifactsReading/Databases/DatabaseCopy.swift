internal import CFailureArtifactsSQLite
package import FailureArtifactsSQLite

/// Copies whole databases between files and open connections.
package enum DatabaseCopy {
    /// Copies a file's content, including the committed content of its journal, into a new file.
    ///
    /// - `target`: the path of a file that does not exist. The copy needs no journal.
    package static func copy(file source: String, toNewFile target: String) throws(SQLiteError) {
        let input = try Connection(path: source, mode: .readWrite, busyTimeout: 5)
        let output = try Connection(path: target, mode: .create)
        try run(from: input.handle, to: output.handle)
        try output.execute("PRAGMA journal_mode = DELETE")
    }

    /// Copies the content that a connection sees into a new file.
    ///
    /// - `target`: the path of a file that does not exist. The copy needs no journal.
    package static func copy(
        connection source: OpaquePointer, toNewFile target: String
    ) throws(SQLiteError) {
        let output = try Connection(path: target, mode: .create)
        try run(from: source, to: output.handle)
        try output.execute("PRAGMA journal_mode = DELETE")
    }

    /// Replaces the content that a connection sees with a file's content.
    package static func copy(file source: String, to target: OpaquePointer) throws(SQLiteError) {
        let input = try Connection(path: source, mode: .readWrite, busyTimeout: 5)
        try run(from: input.handle, to: target)
    }

    private static func run(from source: OpaquePointer, to target: OpaquePointer) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(target, "main", source, "main") else {
            throw SQLiteError("copy a database", handle: target)
        }
        let result = sqlite3_backup_step(backup, -1)
        let end = sqlite3_backup_finish(backup)
        guard result == SQLITE_DONE, end == SQLITE_OK else {
            throw SQLiteError("copy a database", code: end == SQLITE_OK ? result : end)
        }
    }
}
