internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The connections that the process has open, and the stores that were closed.
///
/// There is one registry per process, because SQLite's automatic extensions apply to the whole process. It can be used
/// from any thread.
///
/// Code that runs for each open and each close skips what most stores don't have, because debug builds are slow.
final class ConnectionRegistry: Sendable {
    static let shared = ConnectionRegistry()

    struct State {
        weak var observer: (any ConnectionObserver)?
        /// The open connections, in the order they were registered.
        var connections: [RegisteredConnection] = []
        /// The number of tests that have content saved.
        var keepers = 0
        var isKeeping: Bool { keepers > 0 }
        /// The saved states of connections.
        var images = SavedStates()
        /// The saved data of ended connections to stores that others have open.
        var endedConnections: [DiscoveredConnection.Main: EndedConnections] = [:]
        /// The closed stores, in the order of their end.
        var closed: [ClosedStore] = []
        /// The number of opens and closes so far.
        var event: UInt64 = 0
    }

    /// A point in the order of connection events.
    struct PointInTime: Sendable {
        /// The number of opens and closes so far.
        let event: UInt64
        /// A number larger than the order of each statement that has started, on any connection.
        ///
        /// See failure_artifacts_point_in_time().
        let statement: UInt64
    }

    let state = Lock(State())

    private init() {}

    /// Starts to watch connections.
    ///
    /// Nothing is printed or written, and the system's SQLite is not initialized.
    ///
    /// - `observer`: the receiver of later events, which is not kept alive; nil to leave it unchanged.
    /// - `prefixes`: the prefixes of other copies of SQLite, besides that of sqlite-nio. For those that the
    ///   process has, SQLite is initialized.
    func install(observer: (any ConnectionObserver)? = nil, prefixes: [String] = []) {
        for prefix in ["sqlite_nio_"] + prefixes { failure_artifacts_library_add(prefix) }
        if let observer { state.withLock { $0.observer = observer } }
        failure_artifacts_discovery_install(
            failure_artifacts_discovery_events(
                opened: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.opened(record)
                },
                used_in_task: { record in
                    guard let record else { return 0 }
                    return ConnectionRegistry.shared.usedInTask(record) ?? 0
                },
                used_since_start: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.usedAfterItsTest(record)
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

    /// Distinguishes a connection's users by their task, which is looked up with every statement from now on.
    func followTasks() {
        failure_artifacts_follow_tasks()
    }

    /// Ensures that connections are still reported, even if the application has changed SQLite's configuration.
    func ensureInstalled() {
        failure_artifacts_discovery_ensure()
    }

    /// The current point in the order of events.
    var now: PointInTime {
        PointInTime(event: state.withLock { $0.event }, statement: failure_artifacts_point_in_time())
    }

    // MARK: Connections and stores

    /// The connections that are open, in the order they were opened.
    var openConnections: [DiscoveredConnection] {
        state.withLock { state in
            Self.noteTraffic(&state)
            return Self.openConnections(state)
        }
    }

    /// Notes the use of connections whose tests have ended, and whose statements are not reported.
    static func noteTraffic(_ state: inout State) {
        for index in state.connections.indices where state.connections[index].leftAt > 0 {
            let record = state.connections[index].record
            guard failure_artifacts_is_unwatched(record) else { continue }
            let known = state.connections[index].traffic
            let traffic = failure_artifacts_traffic(record, known)
            if traffic == known { continue }
            state.connections[index].traffic = traffic
            state.connections[index].trafficNotedAt = failure_artifacts_point_in_time()
        }
    }

    private static func openConnections(_ state: State) -> [DiscoveredConnection] {
        state.connections.map { DiscoveredConnection($0) }.sorted { $0.serial < $1.serial }
    }

    /// Returns the stores that were closed after `pointInTime` and are not open now, in the order they were closed.
    func storesClosed(after pointInTime: PointInTime) -> [ClosedStore] {
        let closed = state.withLock { state in
            let open = Self.openConnections(state)
            return state.closed.filter { closed in
                closed.event > pointInTime.event && !open.contains { closed.isSame(as: $0) }
            }
        }
        if closed.isEmpty { return [] }
        // A connection may still have the store attached.
        let open = Set(OpenFiles.beginning(with: DatabaseHeader.magic).map(\.status.identity))
        return closed.filter { $0.identity.map { !open.contains($0) } ?? true }
    }

    /// The files of open connections, of remembered closed stores, and of databases attached by other tests'
    /// connections.
    var knownFiles: Set<FileStatus.Identity> {
        let observer = state.withLock { $0.observer }
        let test = observer?.currentTestID
        return state.withLock { state in
            let others = state.connections.filter { $0.owner != 0 && $0.owner != test }
            return Set(state.connections.compactMap(\.identity))
                .union(state.closed.compactMap(\.identity))
                .union(others.flatMap(\.attached))
        }
    }

    /// True if several tests run at the same time.
    var runsSeveralTests: Bool { state.withLock { $0.keepers > 1 } }

    /// Returns true if only the code of this thread's test can be using a connection.
    func isPrivate(_ connection: DiscoveredConnection) -> Bool {
        let (tests, users, observer) = state.withLock { state in
            (
                state.keepers,
                state.connections.index(of: connection.serial).map { state.connections[$0].users } ?? [],
                state.observer
            )
        }
        if tests < 2 { return true }
        guard let test = observer?.currentTestID else { return false }
        return connection.owner == test && users.isSubset(of: [test])
    }

    /// Runs `body` while the connection cannot end, if it is still open.
    ///
    /// Nil if the connection has ended.
    ///
    /// - `body`: receives the connection. It must not wait, and may use the handle only to inspect its mutex. A
    ///   thread that closes the connection waits in the meantime, with that mutex held.
    func withOpenHandle<Result>(
        of connection: DiscoveredConnection, _ body: (RegisteredConnection) -> Result
    ) -> Result? {
        state.withLock { state in
            state.connections.index(of: connection.serial).map { body(state.connections[$0]) }
        }
    }
}
