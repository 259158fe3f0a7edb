internal import FailureArtifactsSystem

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
                // If a transaction was open at the end, that image is all that is left of a store without a file.
                last: endedConnections.last
                    ?? (connection.path == nil ? endedConnections.imageBeforeRollback : nil),
                beforeRollback: endedConnections.imageBeforeRollback, logs: endedConnections.logs,
                lastUse: endedConnections.lastUse)
        }

        /// Describes the attached databases of a connection, if they had a file or content.
        static func attached(
            to connection: DiscoveredConnection, _ endedConnections: EndedConnections, _ log: KeptLog?,
            lastUse: UInt64
        ) -> [Draft] {
            Set(endedConnections.images.map(\.schema)).sorted().map { schema in
                let mine = endedConnections.only(schema)
                let path = mine.images.last?.path
                return Draft(
                    path: path, connection: connection.serial, owner: connection.owner,
                    identity: mine.images.last?.identity,
                    schema: schema,
                    last: mine.last ?? (path == nil ? mine.imageBeforeRollback : nil),
                    beforeRollback: mine.imageBeforeRollback, logs: KeptLogs(log),
                    lastUse: lastUse)
            }
        }
    }
}
