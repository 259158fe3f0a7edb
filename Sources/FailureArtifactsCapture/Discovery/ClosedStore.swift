internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

/// A store whose connections in the process have ended, with what is left of it.
///
/// One is made for each store that a test closes, whether the test fails or not. So it takes over what C knows, and
/// makes strings of that when it is asked.
final class ClosedStore: Sendable {
    /// Its file, and holds on that, should it be deleted; nil for a store without one.
    private nonisolated(unsafe) let files: UnsafeMutablePointer<failure_artifacts_closed_files>?
    /// The statements of its only connection, in C; nil where they are in ``kept``, or there are none.
    private nonisolated(unsafe) let log: OpaquePointer?
    /// That connection.
    private let serial: UInt64
    /// 0 where that is not known.
    private let ownerID: TestID
    /// The last statement of its connections, in the order of those of all connections; 0 for none.
    let lastUse: UInt64
    /// What else there is of it; nil as for most stores.
    private let kept: Draft?
    /// Counts the process's opens and closes.
    let event: UInt64

    /// The main database of a connection that was the only one to it, of which nothing else was kept; only to be
    /// called inside its end.
    ///
    /// - Parameters:
    ///   - connection: The connection, whose log this takes.
    ///   - event: Counts the process's opens and closes.
    init(of connection: UnsafeMutablePointer<failure_artifacts_connection>, event: UInt64) {
        if let path = connection.pointee.path {
            files = failure_artifacts_hold_files(path, connection.pointee.identity)
        } else {
            files = nil
        }
        log = failure_artifacts_log_take(connection)
        serial = connection.pointee.serial
        ownerID = connection.pointee.registration.owner
        lastUse = failure_artifacts_last_use(connection)
        kept = nil
        self.event = event
    }

    /// A database of which more was kept; takes hold of what is left of its files.
    init(_ draft: Draft, event: UInt64) {
        let identity = failure_artifacts_file_identity(
            is_known: draft.identity != nil, device: draft.identity?.device ?? 0,
            inode: draft.identity?.inode ?? 0)
        files = draft.path?.withCString { failure_artifacts_hold_files($0, identity) }
        log = nil
        serial = 0
        ownerID = draft.owner ?? 0
        lastUse = draft.lastUse
        kept = draft
        self.event = event
    }

    deinit {
        failure_artifacts_release_files(files)
        failure_artifacts_log_release(log)
    }

    /// The file that was opened; nil for a store without one.
    var path: String? { files.map { String(cString: $0.pointee.path) } }

    /// Which file that was; nil where that is not known.
    var identity: FileStatus.Identity? {
        files.flatMap { FileStatus.Identity($0.pointee.identity) }
    }

    /// The test that opened it; nil where that is not known.
    var owner: TestID? { ownerID == 0 ? nil : ownerID }

    /// The database's name on its connection.
    var schema: String { kept?.schema ?? "main" }
    var last: SavedState? { kept?.last }
    var beforeRollback: SavedState? { kept?.beforeRollback }
    var baselines: [TestID: SavedState] { kept?.baselines ?? [:] }
    var logs: KeptLogs { kept?.logs ?? KeptLogs(log.map { KeptLog(sharing: $0, of: serial) }) }

    /// Paths that name the files as long as this exists, whatever has become of their names; nil where there is no
    /// hold on the database.
    var lastingPaths: (database: String, wal: String?, journal: String?)? {
        guard let files, let database = Self.lastingPath(files.pointee.database) else { return nil }
        return (
            database, Self.lastingPath(files.pointee.wal), Self.lastingPath(files.pointee.journal)
        )
    }

    private static func lastingPath(_ descriptor: CInt) -> String? {
        descriptor < 0 ? nil : "/proc/self/fd/\(descriptor)"
    }

    /// Whether both are the same file, or what was the same file.
    func isSame(as other: ClosedStore) -> Bool {
        guard let files, let others = other.files else { return false }
        return failure_artifacts_are_same_files(files, others)
    }

    /// Whether a connection has the same file open.
    func isSame(as connection: DiscoveredConnection) -> Bool {
        files != nil && connection.path == path && connection.identity == identity
    }
}
