package import FailureArtifactsSystem

/// A store whose connections in the process have ended, with what is left of it.
package struct ClosedStore: Sendable {
    /// The file that was opened; nil for a store without one.
    package let path: String?
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

    /// Describes what a connection that has just ended leaves.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - images: What was kept of it.
    ///   - unwoundAt: Where the last thing that was done with it is a rollback: how many statements there had
    ///     been before.
    ///   - event: Counts the process's opens and closes.
    /// - Returns: Its main database, and those attached ones that had a file or content.
    static func left(
        by connection: DiscoveredConnection, _ images: [KeptImage], unwoundAt: UInt64?, event: UInt64
    ) -> [ClosedStore] {
        Set(images.map(\.schema)).union(["main"]).sorted().map { schema in
            let images = images.filter { $0.schema == schema }
            let (path, identity) =
                schema == "main"
                ? (connection.path, connection.identity)
                : (images.last?.path, images.last?.identity)
            let beforeRollback = unwoundAt.flatMap { start in
                images.last { $0.isOfRollback(since: start) }
            }
            return ClosedStore(
                path: path, identity: identity, schema: schema,
                references: path.flatMap { References(to: $0, identity) },
                // With a transaction open at the end, that image is all there is of a store without a file.
                last: images.last { $0.reason == .end && $0.size > 0 }
                    ?? (path == nil ? images.last : nil),
                beforeRollback: beforeRollback, event: event)
        }
    }
}
