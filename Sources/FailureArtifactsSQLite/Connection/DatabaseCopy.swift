internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Copies of whole databases between files and connections of others.
package enum DatabaseCopy {
    /// Copies what a file has, with what is committed in its journal, into a new file.
    ///
    /// - Parameters:
    ///   - source: A database that others may have open.
    ///   - target: A file that does not exist. It needs no journal.
    /// - Throws: Why SQLite cannot read or write one of them.
    package static func copy(file source: String, toNewFile target: String) throws(SQLiteError) {
        let input = try Connection(path: source, mode: .readWrite, busyTimeout: 5)
        let output = try Connection(path: target, mode: .create)
        try run(from: input.handle, to: output.handle)
        try output.execute("PRAGMA journal_mode = DELETE")
    }

    /// Copies what a connection sees into a new file.
    ///
    /// - Parameters:
    ///   - source: A connection that nobody uses meanwhile.
    ///   - target: A file that does not exist. It needs no journal.
    /// - Throws: Why SQLite cannot read or write one of them.
    package static func copy(
        connection source: OpaquePointer, toNewFile target: String
    ) throws(SQLiteError) {
        let output = try Connection(path: target, mode: .create)
        try run(from: source, to: output.handle)
        try output.execute("PRAGMA journal_mode = DELETE")
    }

    /// Replaces all that a connection sees by what a file has.
    ///
    /// - Parameters:
    ///   - source: A database file.
    ///   - target: A connection that nobody uses meanwhile, and that is in no transaction.
    /// - Throws: Why SQLite cannot read or write one of them.
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
