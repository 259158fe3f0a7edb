internal import CFailureArtifactsDiscovery
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Every connection that the process opens through the system's SQLite, for as long as it is open, and the
/// stores whose connections have ended.
///
/// There is one per process, because SQLite's automatic extensions are the process's. All of it may be used
/// from any thread.
package final class ConnectionRegistry: Sendable {
    package static let shared = ConnectionRegistry()

    /// A store whose last connection in the process was closed.
    package struct ClosedStore: Hashable, Sendable {
        /// The file that was opened; nil for a store without one.
        package let path: String?
    }

    private struct State {
        var connections: [UInt64: DiscoveredConnection] = [:]
        /// Closed stores, by the event of their end.
        var closed: [ClosedStore: UInt64] = [:]
        /// Counts opens and closes.
        var event: UInt64 = 0
    }

    /// A point in the order of what happened to connections.
    package struct Moment: Sendable {
        /// Counts opens and closes.
        fileprivate let event: UInt64
        /// Counts statements, over all connections.
        let statement: UInt64
    }

    private let state = Lock(State())

    private init() {}

    /// Starts to watch.
    ///
    /// Nothing is printed or written, and SQLite is not initialised.
    package func install() {
        failure_artifacts_discovery_install(
            failure_artifacts_discovery_events(
                opened: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.opened(DiscoveredConnection(record))
                },
                closed: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.closed(serial: record.pointee.serial)
                }))
    }

    /// Makes sure that connections are still reported, whatever the application did to SQLite's
    /// configuration since.
    package func ensureInstalled() {
        failure_artifacts_discovery_ensure()
    }

    /// The present point in the order of what happens.
    package var now: Moment {
        Moment(event: state.withLock(\.event), statement: failure_artifacts_statement_count())
    }

    /// The connections that are open, in the order they were opened.
    package var openConnections: [DiscoveredConnection] {
        state.withLock { state in state.connections.values.sorted { $0.serial < $1.serial } }
    }

    /// The stores that were closed after `moment` and are not open now, by path.
    package func storesClosed(after moment: Moment) -> [ClosedStore] {
        state.withLock { state in
            let open = Set(state.connections.values.map(\.path))
            return state.closed
                .filter {
                    $0.value > moment.event && ($0.key.path == nil || !open.contains($0.key.path))
                }
                .map(\.key)
                .sorted { ($0.path ?? "") < ($1.path ?? "") }
        }
    }

    /// Forgets the stores that have been closed so far: nobody will ask for them.
    package func forgetClosedStores() {
        state.withLock { $0.closed.removeAll(keepingCapacity: true) }
    }

    /// Runs `body` while the connection cannot end, if it is still open.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - body: Gets its handle. It must neither wait nor use the handle for more than to look at its
    ///     mutex: the thread that closes it waits meanwhile, with that mutex held.
    /// - Returns: What `body` returns; nil where the connection has ended.
    func withOpenHandle<Result>(
        of connection: DiscoveredConnection, _ body: (OpaquePointer) -> Result
    ) -> Result? {
        state.withLock { state in
            state.connections[connection.serial].map { _ in body(connection.handle) }
        }
    }

    private func opened(_ connection: DiscoveredConnection) {
        state.withLock { state in
            state.event += 1
            state.connections[connection.serial] = connection
        }
    }

    private func closed(serial: UInt64) {
        state.withLock { state in
            state.event += 1
            guard let connection = state.connections.removeValue(forKey: serial) else { return }
            state.closed[ClosedStore(path: connection.path)] = state.event
        }
    }
}
