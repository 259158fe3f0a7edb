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

    /// What somebody wants to know and can tell of each connection that is opened.
    package struct Observer: Sendable {
        /// The test on whose behalf this very thread opens a connection; nil where there is none.
        package let currentTest: @Sendable () -> TestID?
        /// Called on the opening thread, inside the open.
        package let opened: @Sendable (DiscoveredConnection) -> Void

        package init(
            currentTest: @escaping @Sendable () -> TestID?,
            opened: @escaping @Sendable (DiscoveredConnection) -> Void
        ) {
            self.currentTest = currentTest
            self.opened = opened
        }
    }

    private struct State {
        var observer: Observer?
        var connections: [UInt64: DiscoveredConnection] = [:]
        /// The stores that are open as the main database of a connection.
        var stores: [DiscoveredConnection.Main: OpenStore] = [:]
        /// How many tests have things kept.
        var keepers = 0
        var isKeeping: Bool { keepers > 0 }
        var images = KeptImages()
        /// In the order of their end.
        var closed: [ClosedStore] = []
        /// Whether what stores hold when a test begins to use them is kept, and how many bytes of that there are.
        var keepsBaselines = false
        var baselineBytes = 0
        /// Counts opens and closes.
        var event: UInt64 = 0
    }

    /// What its connections have in common.
    private struct OpenStore {
        var connections = 0
        /// The test that opened the first of them.
        var owner: TestID?
        /// What those have left that have ended.
        var remains: Remains?
        /// What it held when tests began to use it.
        var baselines: [TestID: KeptImage] = [:]
    }

    /// A point in the order of what happened to connections.
    package struct Moment: Sendable {
        /// Counts opens and closes.
        fileprivate let event: UInt64
        /// Counts statements, over all connections.
        package let statement: UInt64
    }

    private let state = Lock(State())

    private init() {}

    /// Starts to watch.
    ///
    /// Nothing is printed or written, and SQLite is not initialised.
    ///
    /// - Parameter observer: Who is told from now on; nil to leave that as it is.
    package func install(observer: Observer? = nil) {
        if let observer { state.withLock { $0.observer = observer } }
        failure_artifacts_discovery_install(
            failure_artifacts_discovery_events(
                opened: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.opened(DiscoveredConnection(record))
                },
                used_in_task: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.usedInTask(serial: record.pointee.serial)
                    ConnectionRegistry.shared.usedSinceStart(record)
                },
                used_since_start: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.usedSinceStart(record)
                },
                attached: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.attached(
                        DiscoveredConnection.attachedFiles(of: record), record)
                },
                closed: { record in
                    guard let record else { return }
                    ConnectionRegistry.shared.closed(
                        serial: record.pointee.serial, KeptLog(of: record),
                        lastUse: failure_artifacts_last_use(record),
                        unwoundAt: DiscoveredConnection.unwoundAt(record))
                },
                kept: { record, image in
                    guard let record else { return }
                    ConnectionRegistry.shared.kept(image, of: record.pointee.serial)
                }))
    }

    /// What is remembered of the statements of connections that are opened from now on.
    package struct LogOptions: Equatable, Sendable {
        /// How many of each connection: 0 for none.
        package var statements: Int
        /// Whether with the values bound to them.
        package var values: Bool
        /// Whether with how long they took.
        package var durations: Bool

        package init(statements: Int, values: Bool = false, durations: Bool = false) {
            self.statements = statements
            self.values = values
            self.durations = durations
        }
    }

    /// Sets what is remembered of statements.
    package func configureLog(_ options: LogOptions) {
        failure_artifacts_log_configure(
            UInt32(clamping: options.statements), options.values, options.durations)
    }

    /// From now on, a connection's users are told apart by their task, which is asked for with every statement.
    package func followTasks() {
        failure_artifacts_follow_tasks()
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

    /// The files of the connections that are open, of those that have ended and are remembered, and what
    /// other tests' connections have attached.
    var knownFiles: Set<FileStatus.Identity> {
        let observer = state.withLock(\.observer)
        let test = observer?.currentTest()
        return state.withLock { state in
            let connections = state.connections.values
            let foreign = connections.filter { $0.owner != nil && $0.owner != test }
            return Set(connections.compactMap(\.identity))
                .union(state.closed.compactMap(\.identity))
                .union(foreign.flatMap(\.attached))
        }
    }

    /// Whether several tests run at the same time.
    var runsSeveralTests: Bool { state.withLock { $0.keepers > 1 } }

    /// Whether only the code of this thread's test can be using a connection, and no other test's.
    func isPrivate(_ connection: DiscoveredConnection) -> Bool {
        let (tests, users, observer) = state.withLock { state in
            (state.keepers, state.connections[connection.serial]?.users ?? [], state.observer)
        }
        if tests < 2 { return true }
        guard let test = observer?.currentTest() else { return false }
        return connection.owner == test && users.isSubset(of: [test])
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
        state.withLock { $0.stores[main]?.remains?.imageBeforeRollback }
    }

    /// The last statements of connections to a store that have ended while others of it are open.
    func logs(ofEndedConnectionsTo main: DiscoveredConnection.Main) -> KeptLogs {
        state.withLock { $0.stores[main]?.remains?.logs ?? KeptLogs() }
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

    /// How many closed stores of one test are remembered; of a test that makes thousands the last ones
    /// matter.
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

    /// What a test's stores hold when it begins to use them is kept from now on, see
    /// ``DiscoveredStore/baseline(of:)``, as far as the test has things kept.
    package func keepBaselines() {
        state.withLock { $0.keepsBaselines = true }
        failure_artifacts_test_starts()
    }

    /// Ends what a test has begun with ``beginKeeping(maximumBytes:)``.
    ///
    /// The stores that it has closed are forgotten, and with the last test all that was kept: nobody will ask
    /// for it.
    ///
    /// - Parameter test: The test.
    /// - Returns: The files of the stores that it has left open.
    @discardableResult
    package func endKeeping(of test: TestID? = nil) -> [String] {
        let forgotten = state.withLock { state -> (KeptImages, [ClosedStore], [String]) in
            var left: Set<String> = []
            if let test, !state.connections.isEmpty {
                let statements = failure_artifacts_statement_count()
                for (serial, connection) in state.connections {
                    if connection.owner == test {
                        state.connections[serial]?.leftAt = statements
                        if let path = connection.path { left.insert(path) }
                    }
                    if connection.users.contains(test) {
                        state.connections[serial]?.users.remove(test)
                    }
                }
            }
            let old = (state.images, state.closed, left.isEmpty ? [] : left.sorted())
            state.keepers -= 1
            if state.keepers > 0 {
                // They would take the room of those of tests that go on.
                let gone = state.closed.filter { $0.owner == test }
                state.images.forget(gone.flatMap { [$0.last, $0.beforeRollback].compactMap(\.self) })
                state.closed.removeAll { $0.owner == test }
            } else {
                failure_artifacts_keeping_ends()
                state.images = KeptImages()
                state.closed = []
                for store in state.stores.keys {
                    state.stores[store]?.remains = nil
                    state.stores[store]?.baselines = [:]
                }
                state.baselineBytes = 0
            }
            return old
        }
        // Freed only now that the lock is free.
        return withExtendedLifetime(forgotten) { $0.2 }
    }

    private func kept(_ image: failure_artifacts_image, of serial: UInt64) {
        let image = KeptImage(image)
        state.withLock { state in
            if state.isKeeping { state.images.add(image, of: serial) }
        }
    }

    // MARK: What C reports

    private func opened(_ connection: DiscoveredConnection) {
        let observer = state.withLock(\.observer)
        let currentTest = observer?.currentTest()
        let connection = state.withLock { state in
            // A pool opens further connections on threads of its own; and what no test has opened first is
            // shared by those that open it later.
            let main = connection.main
            let open = state.stores[main]
            var store = open ?? OpenStore(owner: currentTest)
            var connection = connection
            connection.owner = open != nil && store.owner == nil ? nil : currentTest ?? store.owner
            store.connections += 1
            state.stores[main] = store
            state.connections[connection.serial] = connection
            state.event += 1
            return connection
        }
        observer?.opened(connection)
    }

    private func usedInTask(serial: UInt64) {
        let observer = state.withLock(\.observer)
        guard let test = observer?.currentTest() else { return }
        state.withLock { state in _ = state.connections[serial]?.users.insert(test) }
    }

    /// Keeps what a store holds before a test uses it for the first time.
    private func usedSinceStart(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        let (isWanted, observer) = state.withLock { ($0.keepsBaselines && $0.isKeeping, $0.observer) }
        guard isWanted, let test = observer?.currentTest() else { return }
        let isDue = state.withLock { state in
            guard let connection = state.connections[record.pointee.serial],
                let store = state.stores[connection.main], store.baselines[test] == nil
            else { return false }
            // Closed and opened again.
            guard
                let known = state.closed.last(where: {
                    $0.path != nil && $0.path == connection.path && $0.identity == connection.identity
                })?.baselines[test]
            else { return state.baselineBytes < KeptImages.maximumBytes }
            state.stores[connection.main]?.baselines[test] = known
            return false
        }
        guard isDue else { return }
        let image = KeptImage(failure_artifacts_image_at_start(record))
        state.withLock { state in
            guard let connection = state.connections[record.pointee.serial] else { return }
            state.stores[connection.main]?.baselines[test] = image
            if image.isThere { state.baselineBytes += image.size }
        }
    }

    /// What an open store held when tests began to use it.
    func baselines(of main: DiscoveredConnection.Main) -> [TestID: KeptImage] {
        state.withLock { $0.stores[main]?.baselines ?? [:] }
    }

    private func attached(
        _ files: Set<FileStatus.Identity>, _ record: UnsafeMutablePointer<failure_artifacts_connection>
    ) {
        state.withLock { state in
            state.connections[record.pointee.serial]?.attached.formUnion(files)
        }
    }

    private func closed(serial: UInt64, _ log: KeptLog?, lastUse: UInt64, unwoundAt: UInt64?) {
        let stores = state.withLock { state -> [ClosedStore.Draft] in
            state.event += 1
            let images = state.images.take(of: serial)
            guard let connection = state.connections.removeValue(forKey: serial) else { return [] }
            let main = connection.main
            var store = state.stores.removeValue(forKey: main) ?? OpenStore(connections: 1)
            store.connections -= 1
            let isOpen = store.connections > 0
            defer { if isOpen { state.stores[main] = store } }
            guard state.isKeeping else {
                store.remains = nil
                return []
            }
            var remains = store.remains ?? Remains()
            remains.add(
                images.isEmpty ? [] : images.filter { $0.schema == "main" }, log, lastUse: lastUse,
                unwoundAt: unwoundAt)
            store.remains = remains
            let closed: [ClosedStore.Draft] =
                isOpen
                ? []
                : [.main(of: connection, remains, store.baselines, event: state.event)]
            // Mostly there is nothing but the files.
            if images.isEmpty { return closed }
            var left = Remains()
            left.add(images.filter { $0.schema != "main" }, lastUse: 0, unwoundAt: unwoundAt)
            return closed + ClosedStore.Draft.attached(to: connection, left, log, event: state.event)
        }.map(ClosedStore.init)
        guard let first = stores.first else { return }
        let forgotten = state.withLock { state -> [ClosedStore] in
            if state.closed.isEmpty {
                state.closed = stores
                return []
            }
            defer {
                for store in stores { state.closed.removeAll { $0.isSame(as: store) } }
                state.closed += stores
                let own = state.closed.indices.filter { state.closed[$0].owner == first.owner }
                for index in own.dropLast(Self.maximumClosedStores).reversed() {
                    state.closed.remove(at: index)
                }
            }
            return state.closed
        }
        // Closed only now that the lock is free.
        withExtendedLifetime(forgotten) {}
    }
}
