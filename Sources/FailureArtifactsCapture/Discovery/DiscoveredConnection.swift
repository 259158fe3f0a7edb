internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// A connection that the application opened.
///
/// It is a value to remember and compare. The connection itself may end at any time, so its handle is used only through
/// ``ConnectionRegistry``.
struct DiscoveredConnection: Sendable {
    /// The number of the connection among the process's opens, from 1.
    let serial: UInt64
    /// The database file, absolute; nil for a store in memory or a temporary one.
    let path: String?
    /// The identity of the file that the path named when it was opened; nil if it named no file.
    let identity: FileStatus.Identity?
    /// The test that opened it; nil if no test did, or not known.
    let owner: TestID?
    /// The number of statements that the process had run when that test ended; 0 before.
    let leftAt: UInt64
    /// The tests whose tasks ran statements on the connection.
    ///
    /// Tests that have ended are not included.
    let users: Set<TestID>
    /// The suites of the tests that opened it or whose tasks used it, if tests run at the same time.
    let suites: Set<String>
    /// The name of the VFS, if it is not the system's own.
    let vfs: String?
    /// The object that reads its main database.
    ///
    /// It is the same for all connections that share a database in memory.
    private let file: UInt

    /// A key that is equal for all connections to the same main database.
    enum Main: Hashable {
        case file(path: String, FileStatus.Identity?)
        case memory(UInt)
    }

    var main: Main { path.map { .file(path: $0, identity) } ?? .memory(file) }

    /// The prefix of the functions of the copy of SQLite that opened it; nil for the system's.
    var prefix: String? {
        let prefix = String(cString: failure_artifacts_prefix(library))
        return prefix.isEmpty ? nil : prefix
    }

    nonisolated(unsafe) let library: OpaquePointer
    nonisolated(unsafe) let handle: OpaquePointer
    nonisolated(unsafe) let record: UnsafeMutablePointer<failure_artifacts_connection>

    /// Describes a connection; only to be called by the registry, with its lock held.
    init(_ connection: RegisteredConnection) {
        record = connection.record
        serial = record.pointee.serial
        handle = record.pointee.handle
        file = UInt(bitPattern: record.pointee.file)
        library = record.pointee.library
        vfs = record.pointee.vfs.map { String(cString: $0) }
        path = record.pointee.path.map { String(cString: $0) }
        identity = connection.identity
        owner = connection.owner == 0 ? nil : connection.owner
        leftAt = connection.leftAt
        users = connection.users
        suites = connection.suites
    }

    /// Returns the files that a connection has attached; only to be called during one of its statements.
    static func attachedFiles(
        of record: UnsafeMutablePointer<failure_artifacts_connection>
    ) -> Set<FileStatus.Identity> {
        var files: Set<FileStatus.Identity> = []
        // The first two are the main and the temporary database.
        var index: CInt = 2
        while let name = failure_artifacts_schema_name(record, index) {
            index += 1
            guard let path = path(of: String(cString: name), on: record),
                let status = try? FileSystem.status(of: path)
            else { continue }
            files.insert(status.identity)
        }
        return files
    }

    /// Returns the file of one of a connection's databases; nil if it has none.
    static func path(
        of schema: String, on record: UnsafeMutablePointer<failure_artifacts_connection>
    ) -> String? {
        failure_artifacts_path(record, schema).map { String(cString: $0) }
    }

    /// The time and the thread of a connection's last use.
    struct Use: Sendable {
        /// The number of the last use that no task of a test made; 0 is never.
        ///
        /// It is known only if tests run at the same time.
        let orderOfUnknownUser: UInt64
        /// True if the calling thread ran the last statement.
        let isOnThisThread: Bool
        /// The last statement's number, in the order of the process's statements.
        ///
        /// Larger is later; 0 is never.
        let order: UInt64
        /// The number of the final ROLLBACK, in the order of all connections' statements.
        ///
        /// If the last statements are several ROLLBACKs, this is the first of them. Nil if the last statement was not a
        /// ROLLBACK.
        let unwoundAt: UInt64?
        var isUnwound: Bool { unwoundAt != nil }
    }

    /// The last use of the connection; nil if it has ended.
    var lastUse: Use? {
        // The record is freed only after the registry has handled the close.
        ConnectionRegistry.shared.withOpenHandle(of: self) { connection in
            let order = failure_artifacts_last_use(record)
            return Use(
                orderOfUnknownUser: max(
                    connection.isUsedByTaskOfNoTest ? order : 0,
                    failure_artifacts_last_use_without_task(record)),
                isOnThisThread: failure_artifacts_last_thread(record)
                    == failure_artifacts_current_thread(),
                order: order,
                unwoundAt: Self.unwoundAt(record))
        }
    }

    /// True if its statements are not noticed, because the application has replaced the trace or the copy of SQLite has none.
    var isUnwatched: Bool {
        ConnectionRegistry.shared.withOpenHandle(of: self) { _ in
            failure_artifacts_is_unwatched(record)
        } ?? false
    }

    /// Returns the number of the connection's final rollback, in the order of statements.
    ///
    /// Nil if the rollback is not the last operation on the connection.
    static func unwoundAt(_ record: UnsafeMutablePointer<failure_artifacts_connection>) -> UInt64? {
        failure_artifacts_is_unwound(record) ? failure_artifacts_unwound_at(record) : nil
    }
}

extension FileStatus.Identity {
    /// Converts an identity from C; nil for a path that named nothing.
    init?(_ identity: failure_artifacts_file_identity) {
        guard identity.is_known else { return nil }
        self.init(device: identity.device, inode: identity.inode)
    }
}

/// An open connection in the registry; only to be used with the registry's lock held.
struct RegisteredConnection {
    let record: UnsafeMutablePointer<failure_artifacts_connection>
    let serial: UInt64
    /// A number that is equal for connections to the same store, and different for most others.
    let storeKey: UInt64
    /// The test that opened the connection; 0 if no test did, or not known.
    let owner: TestID
    /// The test that opened the first connection to the same store; 0 as above.
    let storeOwner: TestID
    /// The number of statements that the process had run when the owner ended; 0 before.
    var leftAt: UInt64 = 0
    /// The tests whose tasks ran statements on the connection.
    ///
    /// Tests that have ended are removed.
    var users: Set<TestID> = []
    /// The suites of the tests that opened the connection or whose tasks used it, if tests run at the same time.
    var suites: Set<String> = []
    /// True if the task that ran the last statement in a task belongs to no test.
    var isUsedByTaskOfNoTest = false
    var attached: Set<FileStatus.Identity> = []

    init(
        _ record: UnsafeMutablePointer<failure_artifacts_connection>, owner: TestID, storeOwner: TestID
    ) {
        self.record = record
        serial = record.pointee.serial
        storeKey = Self.storeKey(of: record)
        self.owner = owner
        self.storeOwner = storeOwner
    }

    /// True if no test has opened the store, and it has no file.
    ///
    /// The journal lists a file once for all tests. Of a store in memory it lists each test's use.
    var isOfAnyTestInMemory: Bool { owner == 0 && record.pointee.path == nil }

    static func storeKey(of record: UnsafeMutablePointer<failure_artifacts_connection>) -> UInt64 {
        record.pointee.path == nil
            ? UInt64(UInt(bitPattern: record.pointee.file)) : record.pointee.identity.inode
    }

    /// The identity of the main database's file when it was opened; nil if there was none.
    var identity: FileStatus.Identity? { FileStatus.Identity(record.pointee.identity) }

    /// Returns true if both have the same main database: the same file under the same name, or the same memory.
    func hasSameStore(as other: UnsafeMutablePointer<failure_artifacts_connection>) -> Bool {
        guard let path = record.pointee.path, let otherPath = other.pointee.path else {
            return record.pointee.path == other.pointee.path
        }
        return identity == FileStatus.Identity(other.pointee.identity) && strcmp(path, otherPath) == 0
    }
}

extension [RegisteredConnection] {
    /// Returns the position of the connection with that serial number; nil if it has ended.
    func index(of serial: UInt64) -> Int? {
        for index in 0..<count where self[index].serial == serial { return index }
        return nil
    }

    /// Returns another connection with the same main database; nil without one.
    func companion(
        of record: UnsafeMutablePointer<failure_artifacts_connection>
    ) -> RegisteredConnection? {
        let key = RegisteredConnection.storeKey(of: record)
        for index in 0..<count
        where self[index].storeKey == key && self[index].record != record
            && self[index].hasSameStore(as: record)
        {
            return self[index]
        }
        return nil
    }
}
