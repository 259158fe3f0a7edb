import CFailureArtifactsSQLite
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

extension ApplicationHandle {
    /// Calls SQLite's own `sqlite3_trace_v2`, as code in another image does.
    func replaceTrace(
        events: Int32 = 0,
        _ trace: (
            @convention(c) (
                UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
            ) -> Int32
        )? = nil
    ) throws {
        typealias Function =
            @convention(c) (
                OpaquePointer?, UInt32,
                (
                    @convention(c) (
                        UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?,
                        UnsafeMutableRawPointer?
                    ) -> Int32
                )?, UnsafeMutableRawPointer?
            ) -> Int32
        // The definition in this image is hidden.
        let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "sqlite3_trace_v2"))
        let function = unsafeBitCast(symbol, to: Function.self)
        try #require(function(handle, UInt32(events), trace, nil) == SQLITE_OK)
    }

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
