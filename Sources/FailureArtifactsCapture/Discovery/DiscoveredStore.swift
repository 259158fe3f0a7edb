internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A store with the connections that are open to it in this process, if any, or with what is left of it.
struct DiscoveredStore: Sendable {
    /// A connection, and the name by which it has the store: `main`, `temp`, or what it was attached as.
    struct Access: Sendable {
        let connection: DiscoveredConnection
        let schema: String
        /// The transaction that the connection has open; nil if another thread uses the connection.
        let transaction: TransactionState?
    }

    /// Where the store lives, as far as that is known without reading it.
    let storage: Snapshot.Storage
    /// The database file, absolute; nil for a store in memory or a temporary one.
    let path: String?
    /// What the store is called where its file, if any, does not say it.
    let suggestedName: String?
    /// The tests that opened it, as far as that is known.
    let owners: Set<TestID>
    /// The tests that have used it and not ended, as far as that is known.
    let users: Set<TestID>
    /// Which file the connections have open; nil where there is none or nobody has it open.
    let identity: FileStatus.Identity?
    /// Where its bytes can be read; nil where it has no file.
    let files: StoreFiles?
    /// The test's own connection first: the one that this thread used last, then the others, the one used last
    /// before those used earlier.
    ///
    /// SQLite doesn't report that a pending SELECT goes on. So if the one used last is in no transaction, a connection
    /// of the same thread with a read transaction comes before it: only that one sees its state. In memory a
    /// connection that writes comes first: while it writes, no other one can read.
    let accesses: [Access]
    /// The content at the end of its last connection, where no file has it.
    let last: SavedState?
    /// The content before a rollback after which nothing was done with the store.
    let beforeRollback: SavedState?
    /// The statements of those of its connections that have ended.
    let endedLogs: KeptLogs
    /// The last one of those, in the order of the statements of all connections; 0 for none.
    let endedUse: UInt64
    /// What it held when tests began to use it.
    let baselines: [TestID: SavedState]
    /// What this is instead of a store that can be read: what one held then.
    let start: SavedState?

    /// A store to which no open connection is known.
    ///
    /// - Parameters:
    ///   - path: Its file.
    ///   - identity: Which file somebody unknown has open under that name; nil where nobody is known to.
    init(path: String, identity: FileStatus.Identity? = nil) {
        self.init(path: path, identity: identity, files: StoreFiles(path: path))
    }

    /// A store whose file an unknown part of the process has open.
    init(_ file: OpenFiles.Entry) {
        let isInPlace = (try? FileSystem.status(of: file.path)?.identity) == file.status.identity
        self.init(
            path: file.path, identity: file.status.identity,
            files: isInPlace
                ? StoreFiles(path: file.path)
                : StoreFiles(deleted: file))
    }

    /// What is left of a store that was closed.
    init(_ closed: ClosedStore) {
        let isInPlace =
            closed.path.map { path in
                guard let status = try? FileSystem.status(of: path) else { return false }
                return closed.identity == nil || status.identity == closed.identity
            } ?? false
        self.init(
            storage: closed.path == nil ? .memory : .file, path: closed.path,
            suggestedName: closed.schema == "main" || closed.path != nil ? nil : closed.schema,
            owners: closed.owner.map { [$0] } ?? [],
            files: isInPlace
                ? closed.path.map { StoreFiles(path: $0) } : StoreFiles(closed),
            last: closed.last, beforeRollback: closed.beforeRollback, endedLogs: closed.logs,
            endedUse: closed.lastUse, baselines: closed.baselines)
    }

    private init(
        storage: Snapshot.Storage = .file, path: String?, suggestedName: String? = nil,
        owners: Set<TestID> = [], users: Set<TestID> = [], identity: FileStatus.Identity? = nil,
        files: StoreFiles?,
        accesses: [Access] = [],
        last: SavedState? = nil, beforeRollback: SavedState? = nil, endedLogs: KeptLogs = KeptLogs(),
        endedUse: UInt64 = 0, baselines: [TestID: SavedState] = [:], start: SavedState? = nil
    ) {
        self.storage = storage
        self.path = path
        self.suggestedName = suggestedName
        self.owners = owners
        self.users = users
        self.identity = identity
        self.files = files
        self.accesses = accesses
        self.last = last
        self.beforeRollback = beforeRollback
        self.endedLogs = endedLogs
        self.endedUse = endedUse
        self.baselines = baselines
        self.start = start
    }

    /// One database of some connections that are open.
    ///
    /// - Parameters:
    ///   - database: What a first connection says of it.
    ///   - accesses: All connections that have it.
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
            } else if sorted.first?.transaction == TransactionState.none {
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
        let main = sorted.first { $0.schema == "main" }?.connection.main
        let images =
            sorted.compactMap { registry.imageBeforeRollback(of: $0.connection, $0.schema) }
            + [main.flatMap { registry.imageBeforeRollback(ofEndedConnectionsTo: $0) }].compactMap(
                \.self)
        let latest = images.max { $0.order < $1.order }
        // Whoever has used the store since has seen it rolled back.
        let isUsedSince = latest.map { image in
            uses.contains { ($0.use?.order ?? 0) > image.order && $0.use?.isUnwound == false }
        }
        self.init(
            storage: database.storage, path: database.path,
            suggestedName: accesses.count > 1 ? database.sharedName : database.name,
            owners: Set(accesses.compactMap(\.connection.owner)),
            users: accesses.reduce(into: []) { $0.formUnion($1.connection.users) },
            identity: database.identity, files: database.path.map { StoreFiles(path: $0) },
            accesses: sorted, last: sorted.lazy.compactMap { registry.imageAtEnd(of: $0) }.first,
            beforeRollback: isUsedSince == true ? nil : latest,
            endedLogs: main.map { registry.logs(ofEndedConnectionsTo: $0) } ?? KeptLogs(),
            endedUse: main.map { registry.lastUse(ofEndedConnectionsTo: $0) } ?? 0,
            baselines: main.map { registry.baselines(of: $0) } ?? [:])
    }

    /// What the store held when a test began to use it, as a store to be copied; nil where that was not kept,
    /// see ``ConnectionRegistry/keepBaselines()``.
    func baseline(of test: TestID) -> DiscoveredStore? {
        baselines[test].map { DiscoveredStore(storage: storage, path: path, files: nil, start: $0) }
    }

    /// Whether there is anything to copy or to say: a store in memory that was closed empty is nothing.
    var hasContent: Bool { path != nil || !accesses.isEmpty || last != nil }

    /// The test that opened it first, of those that are known.
    var opener: TestID? {
        accesses.map(\.connection).filter { $0.owner != nil }.min { $0.serial < $1.serial }?.owner
            ?? owners.min()
    }

    /// Whether statements may be run on it without being noticed: the application has set a trace of its own.
    var isUnwatched: Bool { accesses.contains { $0.connection.isUnwatched } }

    /// Whether a statement was run on it after the test that opened it had ended.
    var isUsedByOthers: Bool {
        accesses.contains { access in
            // Nothing is left as long as its owner was still at it when this was looked at.
            access.connection.leftAt > 0
                && (access.connection.lastUse?.order ?? 0) > access.connection.leftAt
        }
    }

    /// Whether a statement was run on it since `pointInTime`, as far as the application lets that be known.
    func isUsed(since pointInTime: ConnectionRegistry.PointInTime) -> Bool {
        endedUse > pointInTime.statement
            || accesses.contains { ($0.connection.lastUse?.order ?? 0) > pointInTime.statement }
    }
}

extension StoreFiles {
    /// The files of a store that was deleted while an unknown part of the process has it open, as its journals may have
    /// been.
    fileprivate init(deleted file: OpenFiles.Entry) {
        func path(_ suffix: String) -> String {
            OpenFiles.descriptorPath(ofDeleted: file.path + suffix, openedAfter: file.descriptorPath)
                ?? ""
        }
        self.init(
            database: file.descriptorPath, wal: path("-wal"), journal: path("-journal"),
            walIndex: path("-shm"))
    }

    /// The files of a store that was closed and may have been deleted; nil where that had happened already.
    fileprivate init?(_ closed: ClosedStore) {
        guard let paths = closed.lastingPaths else { return nil }
        self.init(
            database: paths.database, wal: paths.wal ?? "", journal: paths.journal ?? "", walIndex: "",
            holder: closed)
    }
}
