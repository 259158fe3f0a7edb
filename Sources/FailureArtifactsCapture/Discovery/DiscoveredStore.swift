internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A store with its open connections in this process, if any, or with the data left of it.
struct DiscoveredStore: Sendable {
    /// A connection with its name for the store: `main`, `temp`, or the name given when it was attached.
    struct Access: Sendable {
        let connection: DiscoveredConnection
        let schema: String
        /// The transaction that the connection has open; nil if another thread uses the connection.
        let transaction: TransactionKind?
    }

    /// The kind of storage, as far as it is known without reading the store.
    private(set) var storage = StoreCopy.Storage.file
    /// The database file, absolute; nil for a store in memory or a temporary one.
    private(set) var path: String?
    /// The name of a store whose file, if any, does not provide one.
    private(set) var suggestedName: String?
    /// The tests that are known to have opened it.
    private(set) var owners: Set<TestID> = []
    /// The tests that are known to have used it and have not ended.
    private(set) var users: Set<TestID> = []
    /// The identity of the file that is open; nil if there is no file or it is not known to be open.
    private(set) var identity: FileStatus.Identity?
    /// The files to read its bytes from; nil if it has no file.
    private(set) var files: StoreFiles?
    /// The reason why its files can't be read if they are deleted, as a full sentence; nil if not known.
    private(set) var reasonForNoFiles: String?
    /// The connections to the store, the test's own one first.
    ///
    /// Connections last used by this thread come before the others. In each group, those used last come first.
    ///
    /// SQLite doesn't report that a pending SELECT goes on. So if the first connection is in no transaction, a
    /// connection of the same thread with a read transaction comes before it. Only that connection sees its state. In
    /// memory, a connection that writes comes first: while it writes, no other one can read.
    private(set) var accesses: [Access] = []
    /// The content at the end of its last connection; nil if a file has it.
    private(set) var last: SavedState?
    /// The content before a rollback, if the store was not used after the rollback.
    private(set) var beforeRollback: SavedState?
    /// The statements of its ended connections.
    private(set) var endedLogs = KeptLogs()
    /// The number of the last one of its ended connections; nil if none is known.
    private(set) var endedConnection: UInt64?
    /// The last use by those connections, in the order of all connections' statements; 0 for none.
    private(set) var endedUse: UInt64 = 0
}

extension DiscoveredStore {
    /// Creates a store to which no open connection is known.
    init(path: String, identity: FileStatus.Identity? = nil) {
        self.init(path: path, identity: identity, files: StoreFiles(path: path))
    }

    /// Creates a store whose file an unknown part of the process has open.
    init(_ file: OpenFiles.Entry) {
        let isInPlace = (try? FileSystem.status(of: file.path)?.identity) == file.status.identity
        self.init(
            path: file.path, identity: file.status.identity,
            files: isInPlace ? StoreFiles(path: file.path) : StoreFiles(deleted: file))
    }

    /// Creates a store from the data left of a closed one.
    init(_ closed: ClosedStore) {
        let isInPlace =
            closed.path.map { path in
                guard let status = try? FileSystem.status(of: path) else { return false }
                return closed.identity == nil || status.identity == closed.identity
            } ?? false
        let files = isInPlace ? closed.path.map { StoreFiles(path: $0) } : StoreFiles(closed)
        self.init(
            storage: closed.path == nil ? .memory : .file, path: closed.path,
            suggestedName: closed.schema == "main" || closed.path != nil ? nil : closed.schema,
            owners: closed.owner.map { [$0] } ?? [],
            files: files, reasonForNoFiles: files == nil ? closed.reasonForRelease : nil,
            last: closed.last, beforeRollback: closed.beforeRollback, endedLogs: closed.logs,
            endedConnection: closed.serial, endedUse: closed.lastUse)
    }

    /// Creates a store that is only described; one without a path is in memory.
    init(describedAt path: String?, named name: String?) {
        self.init(
            storage: path == nil ? .memory : .file, path: path, suggestedName: name, files: nil)
    }

    /// Creates a store from one database of some open connections.
    init(_ database: ConnectedDatabase, _ accesses: [Access]) {
        let uses = accesses.map { (access: $0, use: $0.connection.lastUse) }
        var sorted = uses.sorted { left, right in
            let (a, b) = (left.use, right.use)
            if a?.isOnThisThread != b?.isOnThisThread { return a?.isOnThisThread == true }
            return (a?.order ?? 0, left.access.connection.serial)
                > (b?.order ?? 0, right.access.connection.serial)
        }.map(\.access)
        let preferred =
            if database.path == nil {
                sorted.firstIndex { $0.transaction == .write }
            } else if sorted.first?.transaction == TransactionKind.none {
                zip(sorted.indices, sorted).first { index, access in
                    access.transaction == .read
                        && uses.contains {
                            $0.access.connection.serial == access.connection.serial
                                && $0.use?.isOnThisThread == true
                        }
                }?.0
            } else {
                Int?.none
            }
        if let preferred { sorted.insert(sorted.remove(at: preferred), at: 0) }
        let registry = ConnectionRegistry.shared
        let connection = sorted.first { $0.schema == "main" }?.connection
        let ended = connection.map { registry.endedConnections(beside: $0) } ?? EndedConnections()
        let savedStates = sorted.map { registry.stateBeforeRollback(of: $0.connection, $0.schema) }
        let latest = (savedStates + [ended.stateBeforeRollback]).compactMap(\.self)
            .max { $0.order < $1.order }
        // A connection used after the rollback has seen the store rolled back.
        let isUsedSince = latest.map { saved in
            uses.contains { ($0.use?.order ?? 0) > saved.order && $0.use?.isUnwound == false }
        }
        self.init(
            storage: database.storage, path: database.path,
            suggestedName: accesses.count > 1 ? database.sharedName : database.name,
            owners: Set(accesses.compactMap(\.connection.owner)),
            users: accesses.reduce(into: []) { $0.formUnion($1.connection.users) },
            identity: database.identity, files: database.path.map { StoreFiles(path: $0) },
            accesses: sorted, last: sorted.lazy.compactMap { registry.stateAtEnd(of: $0) }.first,
            beforeRollback: isUsedSince == true ? nil : latest,
            endedLogs: ended.logs, endedUse: ended.lastUse)
    }

    /// True if there is anything to copy or to describe.
    ///
    /// A store in memory that was closed empty has no content.
    var hasContent: Bool { path != nil || !accesses.isEmpty || last != nil }

    /// The first test that is known to have opened it.
    var opener: TestID? {
        accesses.map(\.connection).filter { $0.owner != nil }.min { $0.serial < $1.serial }?.owner
            ?? owners.min()
    }

    var isOfSystemLibrary: Bool { accesses.allSatisfy { $0.connection.prefix == nil } }

    /// True if statements on it may go unnoticed; see ``DiscoveredConnection/isUnwatched``.
    var isUnwatched: Bool { accesses.contains { $0.connection.isUnwatched } }

    /// The suites of the tests that opened it or whose tasks used it, if tests run at the same time.
    var suites: Set<String> { accesses.reduce(into: []) { $0.formUnion($1.connection.suites) } }

    /// Returns true if it is known to have been used since `pointInTime`.
    ///
    /// Uses may go unnoticed; see ``isUnwatched``.
    func isUsed(since pointInTime: ConnectionRegistry.PointInTime) -> Bool {
        endedUse > pointInTime.statement
            || accesses.contains { access in
                guard let use = access.connection.lastUse else { return false }
                return max(use.order, use.orderOfUnknownUser) > pointInTime.statement
            }
    }

    /// Returns true if it has been used since `pointInTime`, and no test is known to have done that.
    ///
    /// Known only if tests run at the same time.
    func isUsedByUnknown(since pointInTime: ConnectionRegistry.PointInTime) -> Bool {
        accesses.contains { access in
            // It is 0 if the owner was still running when the connection was described.
            (access.connection.lastUse?.orderOfUnknownUser ?? 0)
                > max(pointInTime.statement, access.connection.leftAt)
        }
    }
}

extension StoreFiles {
    /// Finds the files of a store that was deleted while an unknown part of the process has it open.
    ///
    /// Its journals may have been deleted too.
    fileprivate init(deleted file: OpenFiles.Entry) {
        func path(_ suffix: String) -> String {
            OpenFiles.descriptorPath(ofDeleted: file.path + suffix, openedAfter: file.descriptorPath)
                ?? ""
        }
        self.init(
            database: file.descriptorPath, wal: path("-wal"), journal: path("-journal"),
            walIndex: path("-shm"))
    }

    /// Finds the files of a store that was closed and may have been deleted.
    ///
    /// Nil if it had already been deleted when it was closed.
    fileprivate init?(_ closed: ClosedStore) {
        guard let paths = closed.lastingPaths else { return nil }
        self.init(
            database: paths.database, wal: paths.wal ?? "", journal: paths.journal ?? "", walIndex: "",
            holder: closed)
    }
}
