import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCapture

extension ApplicationHandle {
    /// The connection as discovery knows it.
    var discovered: DiscoveredConnection {
        get throws {
            try #require(ConnectionRegistry.shared.openConnections.first { $0.handle == handle })
        }
    }

    /// The connection's stores, as discovery finds them.
    var stores: [DiscoveredStore] {
        get throws { DiscoveredStore.grouping([try discovered]) }
    }

    /// The connection's main database, with all connections of this process to the same file.
    var store: DiscoveredStore {
        get throws {
            let mine = try discovered
            let connections = ConnectionRegistry.shared.openConnections.filter {
                mine.path == nil ? $0.serial == mine.serial : $0.path == mine.path
            }
            return try #require(DiscoveredStore.grouping(connections).first { $0.path == mine.path })
        }
    }
}
