internal import CFailureArtifactsCapture
internal import CFailureArtifactsShared
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A hold that keeps a borrowed connection of the application from ending.
///
/// If the application has replaced our trace callback with its own, nothing reports that another thread closes the
/// connection. But SQLite keeps a connection open while a backup reads from it. If `sqlite3_close_v2` closes it in the
/// meantime, it ends with the hold. `sqlite3_close` reports that the connection is busy
/// (<https://www.sqlite.org/c3ref/close.html>).
///
/// Relies on: a close first refuses the connection, then looks for backups once, and ends the connection if it has
/// none. Verified on SQLite 3.40.1. Otherwise: a close in another thread at the same time could end the connection
/// twice.
///
/// A hold is used by one thread only.
struct ConnectionHold: ~Copyable {
    /// The empty database that is the backup's target.
    private let target: OpaquePointer
    private var backup: OpaquePointer?
    private var source: UnsafeMutablePointer<failure_artifacts_connection>?

    /// Prepares a hold without a connection; nil if there is no memory.
    ///
    /// Call it while discovery is paused.
    init?() {
        var target: OpaquePointer?
        guard failure_artifacts_open_in_memory(&target) == SQLITE_OK, let target else { return nil }
        self.target = target
    }

    deinit {
        sqlite3_backup_finish(backup)
        sqlite3_close(target)
    }

    /// Takes hold of a connection, whose end was not reported yet, without reading from it.
    ///
    /// Returns false if a thread is closing it.
    mutating func take(_ connection: UnsafeMutablePointer<failure_artifacts_connection>) -> Bool {
        // A thread that is closing the connection at this time doesn't look for backups again, and ends the connection.
        // Finishing a backup would then end it for a second time.
        guard !failure_artifacts_is_closing(connection) else { return false }
        backup = sqlite3_backup_init(target, "main", connection.pointee.handle, "main")
        guard backup != nil else { return false }
        guard failure_artifacts_is_closing(connection) else {
            source = connection
            return true
        }
        // Leaking some bytes is better than ending the connection twice.
        backup = nil
        return false
    }

    /// Ends the hold, which may end the connection.
    ///
    /// If the close is not reported, another thread may be between its two steps: it marks the connection as closed,
    /// and then looks for backups. Then both threads would end the connection. Therefore, the other thread gets 5 ms to
    /// complete both steps.
    mutating func release() {
        if let source, failure_artifacts_is_closing(source) { sleep(microseconds: 5000) }
        sqlite3_backup_finish(backup)
        backup = nil
        source = nil
    }
}
