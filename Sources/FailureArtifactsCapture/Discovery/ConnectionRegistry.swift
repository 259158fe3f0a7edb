internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Every connection that the process opens through the system's SQLite, for as long as it is open, and the
/// stores whose connections have ended.
///
/// There is one per process, because SQLite's automatic extensions are the process's. All of it may be used
/// from any thread.
///
/// What is done for each open and each close is written for debug builds: the table of open connections is in C,
/// the lock is entered and left without a closure, and of what most stores do not have nothing is made or
/// looked up.
final class ConnectionRegistry: Sendable {
    static let shared = ConnectionRegistry()

    /// The lock of it guards C's table of open connections too.
    struct State {
        weak var observer: (any ConnectionObserver)?
        /// Of connections that are marked in the table, further tests in whose tasks statements were run on them.
        ///
        /// As far as those have not ended.
        var users: [UInt64: Set<TestID>] = [:]
        /// Of connections that are marked in the table, the files that they have attached.
        var attached: [UInt64: Set<FileStatus.Identity>] = [:]
        /// How many tests have things kept.
        var keepers = 0
        var isKeeping: Bool { keepers > 0 }
        /// Of connections that are marked in the table.
        var images = SavedStates()
        /// What was kept of stores that are open.
        var stores: [DiscoveredConnection.Main: OpenStore] = [:]
        /// In the order of their end.
        var closed: [ClosedStore] = []
        /// Whether what stores hold when a test begins to use them is kept, and how many bytes of that there are.
        var keepsBaselines = false
        var baselineBytes = 0
        /// Counts opens and closes.
        var event: UInt64 = 0
    }

    /// What was kept of a store that is open as the main database of connections.
    struct OpenStore {
        /// What those have left that have ended.
        var endedConnections: EndedConnections?
        /// What it held when tests began to use it.
        var baselines: [TestID: SavedState] = [:]

        var isEmpty: Bool { endedConnections == nil && baselines.isEmpty }
    }

    /// A point in the order of what happened to connections.
    struct PointInTime: Sendable {
        /// Counts opens and closes.
        let event: UInt64
        /// Larger than the order of each statement that has started, on any connection; see failure_artifacts_point_in_time().
        let statement: UInt64
    }

    let state = Lock(State())

    private init() {}

    /// Starts to watch.
    ///
    /// Nothing is printed or written, and SQLite is not initialised.
    ///
    /// - Parameter observer: Who is told from now on, not kept alive by this; nil to leave that as it is.
    func install(observer: (any ConnectionObserver)? = nil) {
        if let observer { state.withLock { $0.observer = observer } }
        failure_artifacts_discovery_install(
            failure_artifacts_discovery_events(
                opened: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.opened(record)
                },
                used_in_task: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.usedInTask(record)
                    ConnectionRegistry.shared.keepBaseline(record)
                },
                used_since_start: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.usedAfterItsTest(record)
                    ConnectionRegistry.shared.keepBaseline(record)
                },
                attached: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.attached(
                        DiscoveredConnection.attachedFiles(of: record), record)
                },
                closed: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.closed(record)
                },
                kept: { record, image in
                    guard let record else { return }
                    ConnectionRegistry.shared.kept(image, of: record)
                }))
    }

    /// From now on, a connection's users are told apart by their task, which is asked for with every statement.
    func followTasks() {
        failure_artifacts_follow_tasks()
    }

    /// Makes sure that connections are still reported, whatever the application did to SQLite's
    /// configuration since.
    func ensureInstalled() {
        failure_artifacts_discovery_ensure()
    }

    /// The present point in the order of what happens.
    var now: PointInTime {
        let event = state.enter().pointee.event
        state.leave()
        return PointInTime(event: event, statement: failure_artifacts_point_in_time())
    }

    // MARK: What there is

    /// The connections that are open, in the order they were opened.
    var openConnections: [DiscoveredConnection] {
        state.withLock { Self.openConnections(&$0) }
    }

    private static func openConnections(_ state: inout State) -> [DiscoveredConnection] {
        var connections: [DiscoveredConnection] = []
        var next = failure_artifacts_connections_next(nil)
        while let record = next {
            connections.append(DiscoveredConnection(record, users: users(of: record, state)))
            next = failure_artifacts_connections_next(record)
        }
        return connections.sorted { $0.serial < $1.serial }
    }

    /// The tests in whose tasks statements were run on a connection, as far as they have not ended.
    private static func users(
        of record: UnsafeMutablePointer<failure_artifacts_connection>, _ state: State
    ) -> Set<TestID> {
        var users = state.users[record.pointee.serial] ?? []
        if record.pointee.registration.user != 0 { users.insert(record.pointee.registration.user) }
        return users
    }

    /// The stores that were closed after `pointInTime` and are not open now, in the order they were closed.
    func storesClosed(after pointInTime: PointInTime) -> [ClosedStore] {
        let closed = state.withLock { state in
            let open = Self.openConnections(&state)
            return state.closed.filter { closed in
                closed.event > pointInTime.event && !open.contains { closed.isSame(as: $0) }
            }
        }
        if closed.isEmpty { return [] }
        // A connection may still have it attached.
        let open = Set(OpenFiles.beginning(with: DatabaseHeader.magic).map(\.status.identity))
        return closed.filter { $0.identity.map { !open.contains($0) } ?? true }
    }

    /// The files of the connections that are open, of those that have ended and are remembered, and what
    /// other tests' connections have attached.
    var knownFiles: Set<FileStatus.Identity> {
        let observer = state.withLock { $0.observer }
        let test = observer?.currentTestID
        return state.withLock { state in
            let connections = Self.openConnections(&state)
            let foreign = connections.filter { $0.owner != nil && $0.owner != test }
            return Set(connections.compactMap(\.identity))
                .union(state.closed.compactMap(\.identity))
                .union(foreign.flatMap { state.attached[$0.serial] ?? [] })
        }
    }

    /// Whether several tests run at the same time.
    var runsSeveralTests: Bool { state.withLock { $0.keepers > 1 } }

    /// Whether only the code of this thread's test can be using a connection, and no other test's.
    func isPrivate(_ connection: DiscoveredConnection) -> Bool {
        let (tests, users, observer) = state.withLock { state in
            (
                state.keepers,
                failure_artifacts_connections_find(connection.serial).map { Self.users(of: $0, state) }
                    ?? [], state.observer
            )
        }
        if tests < 2 { return true }
        guard let test = observer?.currentTestID else { return false }
        return connection.owner == test && users.isSubset(of: [test])
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
        state.withLock { _ in
            failure_artifacts_connections_find(connection.serial) == nil
                ? nil : body(connection.handle)
        }
    }
}
