package import FailureArtifactsSystem

/// A store with the connections that are open to it in this process, if any.
package struct DiscoveredStore: Sendable {
    /// The database file, absolute; nil for a store in memory or a temporary one.
    package let path: String?
    /// Which file the connections have open; nil where there is none or nobody has it open.
    package let identity: FileStatus.Identity?
    /// The test's own connection first: the one that this thread used last, then the others, the one used
    /// last before those used earlier.
    package let connections: [DiscoveredConnection]

    /// A store to which no open connection is known.
    package init(path: String) {
        self.path = path
        identity = nil
        connections = []
    }

    /// Whether a statement was run on it since `moment`, as far as the application lets that be known.
    package func isUsed(since moment: ConnectionRegistry.Moment) -> Bool {
        connections.contains { ($0.lastUse?.order ?? 0) > moment.statement }
    }

    private init(_ connections: [DiscoveredConnection]) {
        path = connections.first?.path
        identity = connections.first?.identity
        let uses = connections.map { (connection: $0, use: $0.lastUse) }
        self.connections = uses.sorted { left, right in
            let (a, b) = (left.use, right.use)
            if a?.isOnThisThread != b?.isOnThisThread { return a?.isOnThisThread == true }
            return (a?.order ?? 0, left.connection.serial) > (b?.order ?? 0, right.connection.serial)
        }.map(\.connection)
    }

    /// The stores behind some connections, in the order in which they were first opened.
    ///
    /// - Parameter connections: In the order they were opened. Those of one file make one store; each
    ///   connection without a file is a store of its own.
    /// - Returns: The stores; to be asked for on the thread of the test.
    package static func grouping(_ connections: [DiscoveredConnection]) -> [DiscoveredStore] {
        enum Key: Hashable {
            case file(FileStatus.Identity)
            case path(String)
            case connection(UInt64)
        }
        var order: [Key] = []
        var groups: [Key: [DiscoveredConnection]] = [:]
        for connection in connections {
            let key: Key =
                if let identity = connection.identity {
                    .file(identity)
                } else if let path = connection.path {
                    .path(path)
                } else {
                    .connection(connection.serial)
                }
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(connection)
        }
        return order.compactMap { groups[$0].map(DiscoveredStore.init) }
    }
}
