package import FailureArtifactsSystem

/// A store whose connections in the process have ended, with what is left of it.
package final class ClosedStore: Sendable {
    /// The file that was opened; nil for a store without one.
    package let path: String?
    /// The test that opened it; nil where that is not known.
    package let owner: TestID?
    /// Which file that was; nil where that is not known.
    package let identity: FileStatus.Identity?
    /// The database's name on its connection.
    let schema: String
    /// Holds on the files, should they be deleted; nil where that had happened already.
    let references: References?
    /// The content at the end, where no file has it.
    let last: KeptImage?
    /// The content before a rollback that nothing followed but the end.
    let beforeRollback: KeptImage?
    /// The last statements of its connections.
    let logs: KeptLogs
    /// What it held when tests began to use it.
    let baselines: [TestID: KeptImage]
    /// Counts the process's opens and closes.
    let event: UInt64

    /// Holds on the files of one store.
    struct References: Sendable {
        let database: FileReference
        let wal: FileReference?
        let journal: FileReference?

        /// Takes hold of a store's files, if its path names the expected one.
        init?(to path: String, _ identity: FileStatus.Identity?) {
            guard let database = FileReference(to: path),
                identity == nil || database.identity == identity
            else { return nil }
            self.database = database
            wal = FileReference(to: path + "-wal")
            journal = FileReference(to: path + "-journal")
        }
    }

    /// Whether both are the same file, or what was the same file.
    func isSame(as other: ClosedStore) -> Bool {
        path != nil && path == other.path && identity == other.identity
    }

    /// A closed store before its files are looked at.
    struct Draft {
        let path: String?
        let owner: TestID?
        let identity: FileStatus.Identity?
        let schema: String
        let last: KeptImage?
        let beforeRollback: KeptImage?
        let logs: KeptLogs
        var baselines: [TestID: KeptImage] = [:]
        let event: UInt64

        /// The main database of a connection that was the last one to it.
        static func main(
            of connection: DiscoveredConnection, _ remains: Remains,
            _ baselines: [TestID: KeptImage], event: UInt64
        ) -> Draft {
            Draft(
                path: connection.path, owner: connection.owner, identity: connection.identity,
                schema: "main",
                last: remains.last ?? (connection.path == nil ? remains.imageBeforeRollback : nil),
                beforeRollback: remains.imageBeforeRollback, logs: remains.logs, baselines: baselines,
                event: event)
        }

        /// The attached databases of a connection that had a file or content.
        static func attached(
            to connection: DiscoveredConnection, _ remains: Remains, _ log: KeptLog?, event: UInt64
        ) -> [Draft] {
            Set(remains.images.map(\.schema)).sorted().map { schema in
                let mine = remains.only(schema)
                let path = mine.images.last?.path
                return Draft(
                    path: path, owner: connection.owner, identity: mine.images.last?.identity,
                    schema: schema,
                    last: mine.last ?? (path == nil ? mine.imageBeforeRollback : nil),
                    beforeRollback: mine.imageBeforeRollback, logs: KeptLogs(log), event: event)
            }
        }
    }

    /// Takes hold of what is left of the files.
    init(_ draft: Draft) {
        path = draft.path
        owner = draft.owner
        identity = draft.identity
        schema = draft.schema
        references = draft.path.flatMap { References(to: $0, draft.identity) }
        // With a transaction open at the end, that image is all there is of a store without a file.
        last = draft.last
        beforeRollback = draft.beforeRollback
        logs = draft.logs
        baselines = draft.baselines
        event = draft.event
    }
}

/// What was kept of connections that have ended, of one database or several.
struct Remains {
    private(set) var images: [KeptImage] = []
    /// In the order of their end.
    private(set) var logs = KeptLogs()
    /// The last statement of those that were not rolled back last.
    private var lastUse: UInt64 = 0

    /// Adds what a connection leaves.
    ///
    /// - Parameters:
    ///   - images: What was kept of it.
    ///   - log: Its last statements.
    ///   - use: Its last statement, counted over all connections.
    ///   - unwoundAt: Where the last thing that was done with it is a rollback: how many statements there had
    ///     been before.
    mutating func add(
        _ images: [KeptImage], _ log: KeptLog? = nil, lastUse use: UInt64, unwoundAt: UInt64?
    ) {
        self.images += images.filter { image in
            image.reason == .end || unwoundAt.map { image.isOfRollback(since: $0) } ?? false
        }
        logs.add(log)
        if unwoundAt == nil { lastUse = max(lastUse, use) }
    }

    /// The part that one database has in it.
    func only(_ schema: String) -> Remains {
        var result = self
        result.images.removeAll { $0.schema != schema }
        return result
    }

    /// The content at the end, where no file has it.
    var last: KeptImage? { images.last { $0.reason == .end && $0.size > 0 } }

    /// The content before a rollback that nothing followed but the end.
    var imageBeforeRollback: KeptImage? {
        let latest = images.filter { $0.reason == .rollback }.max { $0.order < $1.order }
        return latest.flatMap { $0.order >= lastUse ? $0 : nil }
    }
}
