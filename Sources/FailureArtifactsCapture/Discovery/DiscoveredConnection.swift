internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Counts the tests of a process, from 1: whose a connection is.
typealias TestID = UInt64

/// A connection that somebody else opened.
///
/// A value to remember and compare; the connection behind it may end at any time, so that its handle is used
/// only through ``ConnectionRegistry``.
struct DiscoveredConnection: Sendable {
    /// Counts the process's opens, from 1.
    let serial: UInt64
    /// The database file, absolute; nil for a store in memory or a temporary one.
    let path: String?
    /// Which file that path named when it was opened; nil where there is none.
    let identity: FileStatus.Identity?
    /// The test that opened it; nil where none did, or where that is not known.
    let owner: TestID?
    /// How many statements the process had run when that test ended; 0 before.
    let leftAt: UInt64
    /// The tests in whose tasks statements were run on it, as far as they have not ended.
    let users: Set<TestID>
    /// The name of a VFS other than the system's own.
    let vfs: String?
    /// What its main database is read with: the same for all connections that share one in memory.
    private let file: UInt

    /// What tells whether two connections have the same main database.
    enum Main: Hashable {
        case file(path: String, FileStatus.Identity?)
        case memory(UInt)
    }

    var main: Main { path.map { .file(path: $0, identity) } ?? .memory(file) }

    nonisolated(unsafe) let handle: OpaquePointer
    nonisolated(unsafe) let record: UnsafeMutablePointer<failure_artifacts_connection>

    /// Describes a connection; only to be called by the registry, with its lock held.
    init(_ record: UnsafeMutablePointer<failure_artifacts_connection>, users: Set<TestID>) {
        self.record = record
        serial = record.pointee.serial
        handle = record.pointee.handle
        file = UInt(bitPattern: record.pointee.file)
        vfs = record.pointee.vfs.map { String(cString: $0) }
        path = record.pointee.path.map { String(cString: $0) }
        identity = FileStatus.Identity(record.pointee.identity)
        let registration = record.pointee.registration
        owner = registration.owner == 0 ? nil : registration.owner
        leftAt = registration.left_at
        self.users = users
    }

    /// The files that a connection has attached; only to be called inside one of its statements.
    static func attachedFiles(
        of record: UnsafeMutablePointer<failure_artifacts_connection>
    ) -> Set<FileStatus.Identity> {
        guard let handle = record.pointee.handle else { return [] }
        var files: Set<FileStatus.Identity> = []
        // Those before are the main and the temporary database.
        var index: CInt = 2
        while let name = failure_artifacts_schema_name(handle, index) {
            index += 1
            guard let path = path(of: String(cString: name), on: handle),
                let status = try? FileSystem.status(of: path)
            else { continue }
            files.insert(status.identity)
        }
        return files
    }

    /// The file of one of a connection's databases; nil for one that has none.
    static func path(of schema: String, on handle: OpaquePointer) -> String? {
        failure_artifacts_path(handle, schema).map { String(cString: $0) }
    }

    /// When and where a connection was used.
    struct Use: Sendable {
        /// Whether the thread that asks ran the last statement.
        let isOnThisThread: Bool
        /// In the order of the process's statements: larger is later, 0 is never.
        let order: UInt64
        /// Where the last statement was a ROLLBACK, or one of several in a row: when the first one was, in the
        /// order of all connections' statements.
        let unwoundAt: UInt64?
        var isUnwound: Bool { unwoundAt != nil }
    }

    /// The last use of the connection; nil where it has ended.
    var lastUse: Use? {
        // The record is freed after the registry has heard of the end.
        ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
            Use(
                isOnThisThread: failure_artifacts_last_thread(record)
                    == failure_artifacts_current_thread(),
                order: failure_artifacts_last_use(record),
                unwoundAt: Self.unwoundAt(record))
        }
    }

    /// Whether the application has set a trace of its own, so that its statements are not noticed.
    var isUnwatched: Bool {
        ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
            failure_artifacts_trace_is_replaced(record)
        } ?? false
    }

    /// When the connection was rolled back, in the order of statements; nil where that is not the last thing that
    /// was done with it.
    static func unwoundAt(_ record: UnsafeMutablePointer<failure_artifacts_connection>) -> UInt64? {
        failure_artifacts_is_unwound(record) ? failure_artifacts_unwound_at(record) : nil
    }
}

extension FileStatus.Identity {
    /// What C knows; nil for a path that named nothing.
    init?(_ identity: failure_artifacts_file_identity) {
        guard identity.is_known else { return nil }
        self.init(device: identity.device, inode: identity.inode)
    }
}
