internal import CFailureArtifactsCapture
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// A store whose connections in the process have ended, with the data left of it.
///
/// One is created for each store that a test closes, whether the test fails or not. For speed, it takes over the data
/// of C and creates strings only on demand.
final class ClosedStore: Sendable {
    /// The store's file, with descriptors that keep it readable if it is deleted; nil for a store without a file.
    private nonisolated(unsafe) let files: UnsafeMutablePointer<failure_artifacts_closed_files>?
    /// The statements of its only connection, in C; nil if they are in ``kept``, or there are none.
    private nonisolated(unsafe) let log: OpaquePointer?
    /// The number of that connection, or of the last one.
    let serial: UInt64
    /// The test that opened the store; 0 if not known.
    private let ownerID: TestID
    /// The last statement of its connections, as a number in the order of all connections' statements; 0 for none.
    let lastUse: UInt64
    /// The other data saved for it; nil for most stores.
    private let kept: Draft?
    /// The logs from before it was opened again; not changed once this object is shared.
    private nonisolated(unsafe) var earlierLogs: KeptLogs? = KeptLogs()
    /// The number of the close among the process's opens and closes.
    let event: UInt64

    /// Creates a closed store from the main database of its only connection, if no other data was saved.
    ///
    /// Only to be called while the connection is being closed.
    ///
    /// - `connection`: the connection. Its log is taken over.
    /// - `owner`: the test that opened the store; 0 if not known.
    init(
        of connection: UnsafeMutablePointer<failure_artifacts_connection>, owner: TestID, event: UInt64
    ) {
        if let path = connection.pointee.path {
            files = failure_artifacts_hold_files(path, connection.pointee.identity)
        } else {
            files = nil
        }
        log = failure_artifacts_log_take(connection)
        serial = connection.pointee.serial
        ownerID = owner
        lastUse = failure_artifacts_last_use(connection)
        kept = nil
        self.event = event
    }

    /// Creates a closed store from a draft, and keeps the remaining files open.
    init(_ draft: Draft, event: UInt64) {
        let identity = failure_artifacts_file_identity(
            is_known: draft.identity != nil, device: draft.identity?.device ?? 0,
            inode: draft.identity?.inode ?? 0)
        files = draft.path?.withCString { failure_artifacts_hold_files($0, identity) }
        log = nil
        serial = draft.connection
        ownerID = draft.owner ?? 0
        lastUse = draft.lastUse
        kept = draft
        self.event = event
    }

    /// Creates a copy of a closed store that keeps no files open.
    init(withoutHandles other: ClosedStore) {
        files = other.files.flatMap { failure_artifacts_without_handles($0) }
        if let log = other.log { failure_artifacts_log_retain(log) }
        log = other.log
        serial = other.serial
        earlierLogs = other.earlierLogs
        ownerID = other.ownerID
        lastUse = other.lastUse
        kept = other.kept
        event = other.event
    }

    deinit {
        failure_artifacts_release_files(files)
        failure_artifacts_log_release(log)
    }

    /// The file that was opened; nil for a store without a file.
    var path: String? { files.map { String(cString: $0.pointee.path) } }

    /// The identity of that file; nil if not known.
    var identity: FileStatus.Identity? {
        files.flatMap { FileStatus.Identity($0.pointee.identity) }
    }

    /// The test that opened the store; nil if not known.
    var owner: TestID? { ownerID == 0 ? nil : ownerID }

    /// The database's name on its connection.
    var schema: String { kept?.schema ?? "main" }
    var last: SavedState? { kept?.last }
    var beforeRollback: SavedState? { kept?.beforeRollback }
    var logs: KeptLogs {
        var logs = kept?.logs ?? KeptLogs(log.map { KeptLog(sharing: $0) })
        logs.addEarlier(earlierLogs)
        return logs
    }

    /// True if its file is still there.
    var isInPlace: Bool { files.map { failure_artifacts_are_in_place($0) } ?? false }

    /// The logs, for a store that was opened with the same path and identity.
    ///
    /// Nil if another file may have its identity by now.
    var logsIfInPlace: KeptLogs? { isInPlace ? logs : nil }

    /// Takes the logs of the same store from when it was closed before; only to be called before it is shared.
    func follow(_ earlier: ClosedStore) { earlierLogs = earlier.logsIfInPlace }

    /// Paths that name the files while this object exists, even if they are renamed or deleted.
    ///
    /// Nil if the database is not kept open.
    var lastingPaths: (database: String, wal: String?, journal: String?)? {
        guard let files, let database = Self.lastingPath(files.pointee.database) else { return nil }
        let (wal, journal) = (
            Self.lastingPath(files.pointee.wal), Self.lastingPath(files.pointee.journal)
        )
        // If the application has closed the descriptor of a journal, the database alone may be incomplete.
        guard wal != nil || files.pointee.wal.descriptor < 0,
            journal != nil || files.pointee.journal.descriptor < 0
        else { return nil }
        return (database, wal, journal)
    }

    /// True if its files have to be released.
    var mustReleaseFiles: Bool {
        guard let files, files.pointee.database.descriptor >= 0 else { return false }
        return failure_artifacts_reason_to_release(files) != failure_artifacts_is_not_released
    }

    /// The reason why the store can't be read if it was deleted, as a full sentence; nil if it was held, or was deleted
    /// before it was closed.
    var reasonForRelease: String? {
        guard let files else { return nil }
        let reason: String? =
            switch failure_artifacts_reason_to_release(files) {
            case failure_artifacts_too_many_files: "many stores were closed, and descriptors are limited"
            case failure_artifacts_too_many_bytes:
                "such files may take \(failure_artifacts_maximum_held_bytes >> 20) MiB, and those of stores that were "
                    + "closed later come first"
            case failure_artifacts_too_little_space:
                "they may take only a small part of what is free on the disk, and nothing beside a quota"
            case failure_artifacts_is_unsafe_volume:
                "on its file system, that may leave other files behind, or take space unnoticed"
            default: nil
            }
        return reason.map {
            "The test closed and deleted the store. Its files were not kept until the failure: \($0)."
        }
    }

    private static func lastingPath(_ file: failure_artifacts_held_file) -> String? {
        failure_artifacts_is_held(file) ? "/proc/self/fd/\(file.descriptor)" : nil
    }

    /// Returns true if both stores have or had the same file.
    func isSame(as other: ClosedStore) -> Bool {
        guard let files, let others = other.files else { return false }
        return failure_artifacts_are_same_files(files, others)
    }

    /// Returns true if a connection has the same file open.
    func isSame(as connection: DiscoveredConnection) -> Bool {
        files != nil && connection.path == path && connection.identity == identity
    }
}

extension ClosedStore {
    /// A closed store with more saved data than the statements of one connection, before its files are inspected.
    struct Draft: Sendable {
        let path: String?
        /// The number of the last connection to it.
        let connection: UInt64
        /// The test that opened it; nil if not known.
        let owner: TestID?
        let identity: FileStatus.Identity?
        /// The database's name on its connection.
        let schema: String
        /// The content at the end; nil if a file has it.
        let last: SavedState?
        /// The content before a rollback, if only the connection's end followed the rollback.
        let beforeRollback: SavedState?
        /// The last statements of its connections.
        let logs: KeptLogs
        /// The last statement of its connections, as a number in the order of all connections' statements.
        let lastUse: UInt64

        /// Describes the main database of a connection that was the last one to its store.
        static func main(
            of connection: DiscoveredConnection, _ endedConnections: EndedConnections
        ) -> Draft {
            Draft(
                path: connection.path, connection: connection.serial, owner: connection.owner,
                identity: connection.identity,
                schema: "main",
                // If a transaction was open at the end, that state is all that is left of a store without a file.
                last: endedConnections.last
                    ?? (connection.path == nil ? endedConnections.stateBeforeRollback : nil),
                beforeRollback: endedConnections.stateBeforeRollback, logs: endedConnections.logs,
                lastUse: endedConnections.lastUse)
        }

        /// Describes the attached databases of a connection, if they had a file or content.
        static func attached(
            to connection: DiscoveredConnection, _ endedConnections: EndedConnections, _ log: KeptLog?,
            lastUse: UInt64
        ) -> [Draft] {
            Set(endedConnections.savedStates.map(\.schema)).sorted().map { schema in
                let mine = endedConnections.only(schema)
                let path = mine.savedStates.last?.path
                return Draft(
                    path: path, connection: connection.serial, owner: connection.owner,
                    identity: mine.savedStates.last?.identity,
                    schema: schema,
                    last: mine.last ?? (path == nil ? mine.stateBeforeRollback : nil),
                    beforeRollback: mine.stateBeforeRollback, logs: KeptLogs(log),
                    lastUse: lastUse)
            }
        }
    }
}
