internal import FailureArtifactsSystem

extension ClosedStore {
    /// A closed store of which more was kept than the statements of one connection, before its files are looked at.
    struct Draft: Sendable {
        let path: String?
        /// The test that opened it; nil where that is not known.
        let owner: TestID?
        let identity: FileStatus.Identity?
        /// The database's name on its connection.
        let schema: String
        /// The content at the end, where no file has it.
        let last: SavedState?
        /// The content before a rollback that nothing followed but the end.
        let beforeRollback: SavedState?
        /// The last statements of its connections.
        let logs: KeptLogs
        /// The last statement of its connections, in the order of those of all connections.
        let lastUse: UInt64
        /// What it held when tests began to use it.
        var baselines: [TestID: SavedState] = [:]

        /// The main database of a connection that was the last one to it.
        static func main(
            of connection: DiscoveredConnection, _ endedConnections: EndedConnections,
            _ baselines: [TestID: SavedState]
        ) -> Draft {
            Draft(
                path: connection.path, owner: connection.owner, identity: connection.identity,
                schema: "main",
                // With a transaction open at the end, that image is all there is of a store without a file.
                last: endedConnections.last
                    ?? (connection.path == nil ? endedConnections.imageBeforeRollback : nil),
                beforeRollback: endedConnections.imageBeforeRollback, logs: endedConnections.logs,
                lastUse: endedConnections.lastUse,
                baselines: baselines)
        }

        /// The attached databases of a connection that had a file or content.
        static func attached(
            to connection: DiscoveredConnection, _ endedConnections: EndedConnections, _ log: KeptLog?,
            lastUse: UInt64
        ) -> [Draft] {
            Set(endedConnections.images.map(\.schema)).sorted().map { schema in
                let mine = endedConnections.only(schema)
                let path = mine.images.last?.path
                return Draft(
                    path: path, owner: connection.owner, identity: mine.images.last?.identity,
                    schema: schema,
                    last: mine.last ?? (path == nil ? mine.imageBeforeRollback : nil),
                    beforeRollback: mine.imageBeforeRollback, logs: KeptLogs(log),
                    lastUse: lastUse)
            }
        }
    }
}
