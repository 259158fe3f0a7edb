internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import CFailureArtifactsShared
internal import FailureArtifactsBundle
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
        var savedStates = SavedStates()
        /// The saved data of ended connections to stores that others have open.
        var endedConnections: [DiscoveredConnection.Main: EndedConnections] = [:]
        /// The closed stores, in the order of their end.
        var closed: [ClosedStore] = []
        /// The last files that ended tests have closed and left in place, for a later test that opens one of them.
        var leftFiles: [ClosedStore] = []
        /// The last opens that failed, in their order.
        var failedOpens: [FailedOpen] = []
        /// The number of opens and closes so far.
        var event: UInt64 = 0
    }

    /// An open that failed, so that there is no connection.
    struct FailedOpen: Sendable {
        let path: String
        let code: Int32
        /// The test that tried it; nil if not known.
        let test: TestID?
        let event: UInt64
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
    /// Nothing is printed or written, and the system's SQLite is not initialized. The copy in sqlite-nio is, if the
    /// process has it.
    ///
    /// - `observer`: the receiver of later events, which is not kept alive; nil to leave it unchanged.
    func install(observer: (any ConnectionObserver)? = nil) {
        if let observer { state.withLock { $0.observer = observer } }
        failure_artifacts_discovery_install(
            failure_artifacts_discovery_events(
                opened: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.opened(record)
                },
                open_failed: { name, code in
                    guard let name else { return }
                    ConnectionRegistry.shared.openFailed(String(cString: name), code)
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
                kept: { record, saved in
                    guard let record else { return }
                    ConnectionRegistry.shared.kept(saved, of: record)
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
        state.withLock { Self.openConnections($0) }
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

extension ConnectionRegistry {
    /// Sets the options of the log and of the recorded states, for connections that are opened from now on.
    ///
    /// - `statements`: the maximum number of statements per connection; 0 for none.
    /// - `stacks`: true to log the functions that ran the statements.
    /// - `historyBytes`, `freeBytes`: the space on the disk that the recorded states may take, and the space that they
    ///   leave free.
    func configureLog(
        statements: Int, values: Bool = false, stacks: Bool = true, histories: Bool = true,
        historyBytes: UInt64 = .max, freeBytes: UInt64 = 0
    ) {
        failure_artifacts_log_configure(UInt32(clamping: statements), values, stacks)
        failure_artifacts_history_turn(histories)
        failure_artifacts_slots_set_limits(historyBytes, freeBytes)
    }

    /// Returns the data of ended connections to the store of an open one, with older logs of the same store.
    func endedConnections(beside connection: DiscoveredConnection) -> EndedConnections {
        state.withLock { state in
            var ended = state.endedConnections[connection.main] ?? EndedConnections()
            if let closed = state.closed.first(where: { $0.isSame(as: connection) })
                ?? state.leftFiles.first(where: { $0.isSame(as: connection) })
            {
                ended.logs.addEarlier(closed.logsIfInPlace)
            }
            return ended
        }
    }
}

/// The events that C reports.
extension ConnectionRegistry {
    func opened(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        // The store may need the space of those that were deleted.
        limitHeldFiles()
        if let observer = state.withLock({ $0.observer }) {
            observer.connectionOpened(UnsafePointer(record.pointee.path)) { test, suite in
                register(record, by: test, in: suite)
            }
        } else {
            _ = register(record, by: nil)
        }
    }

    /// Notes an open that failed.
    private func openFailed(_ name: String, _ code: Int32) {
        // A URI has the path between an authority and parameters (<https://www.sqlite.org/uri.html>).
        var path = name[...]
        if name.hasPrefix("file:") {
            path = path.dropFirst(5).prefix { $0 != "?" && $0 != "#" }
            if path.hasPrefix("//") { path = path.dropFirst(2).drop { $0 != "/" } }
        }
        if path.isEmpty || path == ":memory:" { return }
        let absolute = Path.absolute(String(path))
        let test = state.withLock({ $0.observer })?.currentTestID
        state.withLock { state in
            state.event += 1
            state.failedOpens.removeAll { $0.path == absolute && $0.test == test }
            if state.failedOpens.count == Self.maximumClosedStores { state.failedOpens.removeFirst() }
            state.failedOpens.append(
                FailedOpen(path: absolute, code: code, test: test, event: state.event))
        }
    }

    /// Returns the opens that failed since a test started, and that no other test is known to have tried.
    func failedOpens(of test: TestID, after pointInTime: PointInTime) -> [FailedOpen] {
        state.withLock { state in
            state.failedOpens.filter { open in
                open.event > pointInTime.event && open.test ?? test == test
            }
        }
    }

    /// Adds a connection that is being opened.
    ///
    /// A pool opens further connections on its own threads. They belong to the test that has opened the store. A store
    /// that no test has opened first is shared by the tests that open it later.
    func register(
        _ record: UnsafeMutablePointer<failure_artifacts_connection>, by test: TestID?,
        in suite: String? = nil
    ) -> TestID {
        state.withLock { state in
            state.event += 1
            let storeOwner = state.connections.companion(of: record)?.storeOwner ?? test ?? 0
            var connection = RegisteredConnection(
                record, owner: storeOwner == 0 ? 0 : test ?? storeOwner, storeOwner: storeOwner)
            if let suite { connection.suites.insert(suite) }
            state.connections.append(connection)
            failure_artifacts_connection_has_owner(record, connection.owner)
            if connection.isOfAnyTestInMemory { failure_artifacts_connection_is_left(record) }
            return connection.owner
        }
    }

    /// Notes the use of a connection in another task, and returns the task's test; nil if it has none.
    func usedInTask(_ record: UnsafeMutablePointer<failure_artifacts_connection>) -> TestID? {
        let observer = state.withLock { $0.observer }
        let (test, suite) = (observer?.currentTestID, observer?.currentSuite)
        let isNew = state.withLock { state in
            guard let index = state.connections.index(of: record.pointee.serial) else { return false }
            state.connections[index].isUsedByTaskOfNoTest = test == nil
            guard let test, state.connections[index].users.insert(test).inserted else { return false }
            if let suite { state.connections[index].suites.insert(suite) }
            return true
        }
        if isNew { usedAfterItsTest(record) }
        return test
    }

    func attached(
        _ files: Set<FileStatus.Identity>, _ record: UnsafeMutablePointer<failure_artifacts_connection>
    ) {
        state.withLock { state in
            guard let index = state.connections.index(of: record.pointee.serial) else { return }
            state.connections[index].attached.formUnion(files)
        }
    }

    func closed(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        var end: (event: UInt64, owner: TestID)?
        var drafts: [ClosedStore.Draft]?
        state.withLock { state in
            state.event += 1
            guard let index = state.connections.index(of: record.pointee.serial) else { return }
            let connection = state.connections.remove(at: index)
            let isOpen = state.connections.companion(of: record) != nil
            // Most stores have one connection, and no saved data.
            if isOpen || !state.endedConnections.isEmpty || !state.savedStates.isEmpty {
                drafts = Self.drafts(of: connection, isOpen: isOpen, &state)
            }
            if isOpen { Self.noteUse(of: record, by: connection.owner, &state) }
            if state.isKeeping { end = (state.event, connection.owner) }
        }
        guard let end else { return }
        if let drafts {
            for draft in drafts { remember(ClosedStore(draft, event: end.event)) }
        } else {
            remember(ClosedStore(of: record, owner: end.owner, event: end.event))
        }
    }

    /// Notes on the other connections to a closed connection's store that its test used the store, too.
    ///
    /// The test may have found it locked by one of them.
    private static func noteUse(
        of record: UnsafeMutablePointer<failure_artifacts_connection>, by test: TestID,
        _ state: inout State
    ) {
        let key = RegisteredConnection.storeKey(of: record)
        for index in state.connections.indices
        where test != 0 && state.connections[index].owner != test
            && state.connections[index].storeKey == key
            && state.connections[index].hasSameStore(as: record)
        {
            state.connections[index].users.insert(test)
        }
    }

    /// Describes the stores that a closed connection leaves.
    ///
    /// Used if data of the connection was saved, or if other connections have or had its store open.
    private static func drafts(
        of ended: RegisteredConnection, isOpen: Bool, _ state: inout State
    ) -> [ClosedStore.Draft] {
        let record = ended.record
        let connection = DiscoveredConnection(ended)
        let log = KeptLog(of: record)
        let unwoundAt = DiscoveredConnection.unwoundAt(record)
        let savedStates = state.savedStates.take(of: connection.serial)
        let main = connection.main
        var endedConnections = state.endedConnections.removeValue(forKey: main) ?? EndedConnections()
        guard state.isKeeping else { return [] }
        let lastUse = failure_artifacts_last_use(record)
        endedConnections.add(
            savedStates.filter { $0.schema == "main" }, log, lastUse: lastUse, unwoundAt: unwoundAt)
        if isOpen { state.endedConnections[main] = endedConnections }
        let closed: [ClosedStore.Draft] =
            isOpen ? [] : [.main(of: connection, endedConnections)]
        if savedStates.isEmpty { return closed }
        var left = EndedConnections()
        left.add(savedStates.filter { $0.schema != "main" }, lastUse: 0, unwoundAt: unwoundAt)
        return closed + ClosedStore.Draft.attached(to: connection, left, log, lastUse: lastUse)
    }

    /// The maximum number of closed stores remembered per test.
    ///
    /// If a test closes thousands, the last ones matter.
    private static let maximumClosedStores = 64

    private func remember(_ store: ClosedStore) {
        let forgotten = state.withLock { state in
            let forgotten = state.closed
            // Most tests close one store.
            if forgotten.isEmpty, state.leftFiles.isEmpty {
                state.closed = [store]
                return forgotten
            }
            if let index = forgotten.firstIndex(where: { $0.isSame(as: store) }) {
                store.follow(state.closed.remove(at: index))
            } else if let earlier = state.leftFiles.first(where: { $0.isSame(as: store) }) {
                store.follow(earlier)
            }
            state.closed.append(store)
            let own = state.closed.indices.filter { state.closed[$0].owner == store.owner }
            for index in own.dropLast(Self.maximumClosedStores).reversed() {
                state.closed.remove(at: index)
            }
            return forgotten
        }
        // Released only now that the lock is free, because this closes files.
        withExtendedLifetime(forgotten) {}
        limitHeldFiles()
    }

    /// Releases the files of the stores that were closed first, as far as the limits require it.
    private func limitHeldFiles() {
        if !failure_artifacts_limit_held_files() { return }
        let held = state.withLock { state in
            let held = state.closed
            for (index, store) in held.enumerated() where store.mustReleaseFiles {
                state.closed[index] = ClosedStore(withoutHandles: store)
            }
            return held
        }
        withExtendedLifetime(held) {}
    }
}
