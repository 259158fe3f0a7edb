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

    private struct State {
        var connections: [UInt64: DiscoveredConnection] = [:]
        /// How many connections each store has.
        var users: [DiscoveredConnection.Main: Int] = [:]
        /// What the connections have left that have ended before a store's last one.
        var remains: [DiscoveredConnection.Main: Remains] = [:]
        /// How many tests have things kept.
        var keepers = 0
        var isKeeping: Bool { keepers > 0 }
        var images = KeptImages()
        /// In the order of their end.
        var closed: [ClosedStore] = []
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
                    ConnectionRegistry.shared.closed(
                        serial: record.pointee.serial, lastUse: failure_artifacts_last_use(record),
                        unwoundAt: DiscoveredConnection.unwoundAt(record))
                },
                kept: { record, image in
                    guard let record else { return }
                    ConnectionRegistry.shared.kept(image, of: record.pointee.serial)
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

    // MARK: What there is

    /// The connections that are open, in the order they were opened.
    package var openConnections: [DiscoveredConnection] {
        state.withLock { state in state.connections.values.sorted { $0.serial < $1.serial } }
    }

    /// The stores that were closed after `moment` and are not open now, in the order they were closed.
    package func storesClosed(after moment: Moment) -> [ClosedStore] {
        let closed = state.withLock { state in
            let open = state.connections.values
            return state.closed.filter { closed in
                closed.event > moment.event
                    && !open.contains {
                        $0.path != nil && $0.path == closed.path && $0.identity == closed.identity
                    }
            }
        }
        if closed.isEmpty { return [] }
        // A connection may still have it attached.
        let open = Set(OpenFiles.beginning(with: DatabaseHeader.magic).map(\.status.identity))
        return closed.filter { $0.identity.map { !open.contains($0) } ?? true }
    }

    /// What a connection saw of one of its databases before it was rolled back, if that is the last thing
    /// that was done with the connection.
    func imageBeforeRollback(of connection: DiscoveredConnection, _ schema: String) -> KeptImage? {
        guard let start = connection.lastUse?.unwoundAt else { return nil }
        return state.withLock { state in
            state.images[connection.serial].last { $0.isOfRollback(since: start) && $0.schema == schema }
        }
    }

    /// As above, of connections to a store that have ended while others of it are open.
    func imageBeforeRollback(ofEndedConnectionsTo main: DiscoveredConnection.Main) -> KeptImage? {
        state.withLock { $0.remains[main]?.imageBeforeRollback }
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

    // MARK: Keeping what is lost

    /// How many closed stores are remembered; of a test that makes thousands the last ones matter.
    private static let maximumClosedStores = 64

    /// Keeps what is lost from now on, see ``KeptImage``.
    ///
    /// - Parameter maximumBytes: Larger stores are not kept; 0 for none.
    package func beginKeeping(maximumBytes: UInt64) {
        state.withLock { state in
            state.keepers += 1
            if state.keepers == 1 { failure_artifacts_keeping_begins(Int64(clamping: maximumBytes)) }
        }
    }

    /// Ends what ``beginKeeping(maximumBytes:)`` began.
    ///
    /// With the last of several, what was kept and the stores that have been closed so far are forgotten: nobody
    /// will ask for them.
    package func endKeeping() {
        let forgotten = state.withLock { state -> (KeptImages, [ClosedStore])? in
            state.keepers -= 1
            if state.keepers > 0 { return nil }
            failure_artifacts_keeping_ends()
            defer {
                state.images = KeptImages()
                state.remains = [:]
                state.closed = []
            }
            return (state.images, state.closed)
        }
        // Freed only now that the lock is free.
        withExtendedLifetime(forgotten) {}
    }

    private func kept(_ image: failure_artifacts_image, of serial: UInt64) {
        let image = KeptImage(
            reason: image.reason == failure_artifacts_is_rolling_back ? .rollback : .end,
            schema: String(cString: image.schema), path: image.path.map { String(cString: $0) },
            bytes: image.bytes, size: Int(image.size), order: failure_artifacts_statement_count())
        state.withLock { state in
            if state.isKeeping { state.images.add(image, of: serial) }
        }
    }

    // MARK: What C reports

    private func opened(_ connection: DiscoveredConnection) {
        state.withLock { state in
            state.event += 1
            state.connections[connection.serial] = connection
            state.users[connection.main, default: 0] += 1
        }
    }

    private func closed(serial: UInt64, lastUse: UInt64, unwoundAt: UInt64?) {
        let stores = state.withLock { state -> [ClosedStore.Draft] in
            state.event += 1
            let images = state.images.take(of: serial)
            guard let connection = state.connections.removeValue(forKey: serial) else { return [] }
            let users = (state.users[connection.main] ?? 1) - 1
            state.users[connection.main] = users > 0 ? users : nil
            var remains = state.remains.removeValue(forKey: connection.main) ?? Remains()
            guard state.isKeeping else { return [] }
            remains.add(images.filter { $0.schema == "main" }, lastUse: lastUse, unwoundAt: unwoundAt)
            if users > 0 { state.remains[connection.main] = remains }
            var left = Remains()
            left.add(images.filter { $0.schema != "main" }, lastUse: 0, unwoundAt: unwoundAt)
            return (users > 0 ? [] : [.main(of: connection, remains, event: state.event)])
                + ClosedStore.Draft.attached(left, event: state.event)
        }.map(ClosedStore.init)
        if stores.isEmpty { return }
        let forgotten = state.withLock { state in
            defer {
                for store in stores { state.closed.removeAll { $0.isSame(as: store) } }
                state.closed += stores
                state.closed.removeFirst(max(0, state.closed.count - Self.maximumClosedStores))
            }
            return state.closed
        }
        // Closed only now that the lock is free.
        withExtendedLifetime(forgotten) {}
    }
}
