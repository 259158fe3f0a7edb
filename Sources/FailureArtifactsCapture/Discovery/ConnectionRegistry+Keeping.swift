internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

/// Keeping what is lost.
extension ConnectionRegistry {
    /// Keeps what is lost from now on, see ``SavedState``.
    ///
    /// - Parameter maximumBytes: Larger stores are not kept; 0 for none. Of tests that run at the same time, the
    ///   largest maximum applies to all.
    /// - Returns: The present point in the order of what happens.
    @discardableResult
    func beginKeeping(maximumBytes: UInt64) -> PointInTime {
        let state = self.state.enter()
        state.pointee.keepers += 1
        // Not clamped by a generic initialiser, which takes as long as all else here in a debug build.
        failure_artifacts_keeping_begins(
            maximumBytes > 1 << 62 ? 1 << 62 : Int64(bitPattern: maximumBytes),
            state.pointee.keepers == 1)
        let now = PointInTime(event: state.pointee.event, statement: failure_artifacts_test_starts())
        self.state.leave()
        return now
    }

    /// What a test's stores hold when it begins to use them is kept from now on, see
    /// ``DiscoveredStore/baseline(of:)``, as far as the test has things kept.
    func keepBaselines() {
        state.withLock { $0.keepsBaselines = true }
        failure_artifacts_report_first_uses()
    }

    /// Ends what a test has begun with ``beginKeeping(maximumBytes:)``.
    ///
    /// Forgets the stores that the test has closed. The end of the last running test also drops everything else
    /// that was kept.
    ///
    /// - Parameter test: The test; nil if it has no stores of its own. A store without a known owner may belong
    ///   to a test that is still running, so it stays.
    /// - Returns: The stores that it has left open; nil if there are none.
    @discardableResult
    func endKeeping(of test: TestID? = nil) -> LeftStores? {
        let state = self.state.enter()
        var left: LeftStores?
        if let test, failure_artifacts_connections_leave(test, failure_artifacts_point_in_time()) {
            left = Self.stores(leftBy: test)
            failure_artifacts_test_starts()
        }
        if let test, !state.pointee.users.isEmpty { Self.forgetUses(by: test, &state.pointee) }
        state.pointee.keepers -= 1
        let closed = state.pointee.closed
        var images: SavedStates?
        if state.pointee.keepers > 0 {
            if let test { Self.forgetStores(of: test, &state.pointee) }
        } else {
            failure_artifacts_keeping_ends()
            state.pointee.closed = []
            if !state.pointee.images.isEmpty {
                images = state.pointee.images
                state.pointee.images = SavedStates()
            }
            if !state.pointee.stores.isEmpty { state.pointee.stores = [:] }
            state.pointee.baselineBytes = 0
        }
        self.state.leave()
        // Freed only now that the lock is free.
        withExtendedLifetime((closed, images)) {}
        return left
    }

    /// The stores that a test has left open.
    struct LeftStores: Sendable {
        /// The files of those whose further use will not be noticed, because the application has set a trace of its own.
        let unwatched: [String]
    }

    private static func stores(leftBy test: TestID) -> LeftStores {
        var unwatched: Set<String> = []
        var next = failure_artifacts_connections_next(nil)
        while let record = next {
            if record.pointee.registration.owner == test, let path = record.pointee.path,
                failure_artifacts_trace_is_replaced(record)
            {
                unwatched.insert(String(cString: path))
            }
            next = failure_artifacts_connections_next(record)
        }
        return LeftStores(unwatched: unwatched.sorted())
    }

    private static func forgetUses(by test: TestID, _ state: inout State) {
        for (serial, users) in state.users where users.contains(test) {
            state.users[serial]?.remove(test)
        }
    }

    /// Of a test that others outlive: what it has closed would take the room of what they close.
    private static func forgetStores(of test: TestID, _ state: inout State) {
        let gone = state.closed.filter { $0.owner == test }
        state.images.forget(gone.flatMap { [$0.last, $0.beforeRollback].compactMap(\.self) })
        state.closed.removeAll { $0.owner == test }
    }

    /// What a connection saw of one of its databases before it was rolled back, if that is the last thing
    /// that was done with the connection.
    func imageBeforeRollback(of connection: DiscoveredConnection, _ schema: String) -> SavedState? {
        guard let start = connection.lastUse?.unwoundAt else { return nil }
        return state.withLock { state in
            state.images[connection.serial].last { $0.isOfRollback(since: start) && $0.schema == schema }
        }
    }

    /// The content of a database without a file at the end of its connection, which is being closed; nil before.
    func imageAtEnd(of access: DiscoveredStore.Access) -> SavedState? {
        guard access.connection.path == nil, access.transaction == nil,
            let lastUse = access.connection.lastUse
        else { return nil }
        return state.withLock { state in
            state.images[access.connection.serial].last { image in
                image.reason == .end && image.schema == access.schema && image.order >= lastUse.order
            }
        }
    }

    /// The content before a rollback, of connections to a store that have ended while others are open.
    func imageBeforeRollback(ofEndedConnectionsTo main: DiscoveredConnection.Main) -> SavedState? {
        state.withLock { $0.stores[main]?.endedConnections?.imageBeforeRollback }
    }

    // MARK: What C reports

    func kept(
        _ image: failure_artifacts_image, of record: UnsafeMutablePointer<failure_artifacts_connection>
    ) {
        let image = SavedState(image)
        state.withLock { state in
            guard state.isKeeping else { return }
            record.pointee.registration.is_noted = true
            state.images.add(image, of: record.pointee.serial)
        }
    }

    /// Tells the observer that a connection is used that a test has left open.
    func usedAfterItsTest(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        let state = self.state.enter()
        let observer = state.pointee.observer
        let isLeft = record.pointee.registration.left_at > 0
        self.state.leave()
        if isLeft { observer?.leftConnectionUsed(LeftConnection(record)) }
    }

    /// Keeps what a store holds before a test uses it for the first time.
    func keepBaseline(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        let (isWanted, observer) = state.withLock { ($0.keepsBaselines && $0.isKeeping, $0.observer) }
        guard isWanted, let test = observer?.currentTestID else { return }
        let isDue = state.withLock { state in
            let connection = DiscoveredConnection(record, users: [])
            if state.stores[connection.main]?.baselines[test] != nil { return false }
            // Closed and opened again.
            guard
                let known = state.closed.last(where: { $0.isSame(as: connection) })?.baselines[test]
            else { return state.baselineBytes < SavedStates.maximumBytes }
            state.stores[connection.main, default: OpenStore()].baselines[test] = known
            return false
        }
        guard isDue else { return }
        let image = SavedState(failure_artifacts_image_at_start(record))
        state.withLock { state in
            let main = DiscoveredConnection(record, users: []).main
            // Another thread may have begun to use it, and have changed it before this image was made.
            guard state.stores[main]?.baselines[test] == nil else { return }
            state.stores[main, default: OpenStore()].baselines[test] = image
            if image.isThere { state.baselineBytes += image.size }
        }
    }

    /// What an open store held when tests began to use it.
    func baselines(of main: DiscoveredConnection.Main) -> [TestID: SavedState] {
        state.withLock { $0.stores[main]?.baselines ?? [:] }
    }
}
