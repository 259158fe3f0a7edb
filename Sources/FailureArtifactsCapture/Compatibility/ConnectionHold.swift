internal import CFailureArtifactsCapture
internal import CFailureArtifactsFunctions
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Keeps a connection of the application from ending while it is borrowed.
///
/// Where the application has set a trace of its own in place of ours, nothing tells that another thread closes the
/// connection. But SQLite leaves one that a backup reads open until that is finished: what `sqlite3_close_v2` closes
/// meanwhile ends here, and `sqlite3_close` says that it is busy
/// (<https://www.sqlite.org/c3ref/close.html>).
///
/// Relies on: a close first refuses the connection, then looks for backups once, and ends the connection if it has none.
/// Verified on SQLite 3.40.1. Otherwise: a close in another thread at the same time could end the connection twice.
///
/// For one thread.
struct ConnectionHold: ~Copyable {
    /// The empty database that the backup would write to.
    private let target: OpaquePointer
    private var backup: OpaquePointer?
    private var source: UnsafeMutablePointer<failure_artifacts_connection>?

    /// Prepares a hold on no connection yet, while discovery pauses; nil where there is no memory.
    init?() {
        var target: OpaquePointer?
        guard failure_artifacts_open_in_memory(&target) == SQLITE_OK, let target else { return nil }
        self.target = target
    }

    deinit {
        sqlite3_backup_finish(backup)
        sqlite3_close(target)
    }

    /// Takes hold of a connection, nothing of which is read.
    ///
    /// - Parameter connection: The connection, whose end has not been told yet.
    /// - Returns: Whether it is held now; not if a thread is closing it.
    mutating func take(_ connection: UnsafeMutablePointer<failure_artifacts_connection>) -> Bool {
        // A thread that closes it at this moment does not look for backups again, and ends it: to finish one would end it
        // for a second time.
        guard !failure_artifacts_is_closing(connection) else { return false }
        backup = sqlite3_backup_init(target, "main", connection.pointee.handle, "main")
        guard backup != nil else { return false }
        guard failure_artifacts_is_closing(connection) else {
            source = connection
            return true
        }
        // To leak some bytes is better than to end the connection twice.
        backup = nil
        return false
    }

    /// Ends the hold, which may end the connection.
    ///
    /// Where the close is not told of, and another thread is between the two steps of it, both would end the
    /// connection: it calls it closed, and then looks for backups. It gets the time to have done both.
    mutating func release() {
        if let source, failure_artifacts_is_closing(source) { sleep(microseconds: 5000) }
        sqlite3_backup_finish(backup)
        backup = nil
        source = nil
    }
}
