import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCapture

extension ApplicationHandle {
    /// What discovery knows of it.
    var discovered: DiscoveredConnection {
        get throws {
            try #require(ConnectionRegistry.shared.openConnections.first { $0.handle == handle })
        }
    }

    /// The stores that it has, as discovery finds them.
    var stores: [DiscoveredStore] {
        get throws { DiscoveredStore.grouping([try discovered]) }
    }

    /// Its main database, with all connections that this process has to the same file.
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
