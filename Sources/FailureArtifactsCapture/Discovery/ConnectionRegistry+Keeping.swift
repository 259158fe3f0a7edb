internal import CFailureArtifactsCapture
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The saving of content that is about to be lost.
extension ConnectionRegistry {
    /// Saves content that is about to be lost from now on; see ``SavedState``.
    ///
    /// A store of more bytes than the maximum isn't saved. If several tests run at the same time, the largest maximum
    /// applies to all.
    @discardableResult
    func beginKeeping(maximumBytes: UInt64) -> PointInTime {
        state.withLock { state in
            state.keepers += 1
            // A generic clamping initializer takes as long as the rest of this function in a debug build.
            failure_artifacts_keeping_begins(
                maximumBytes > 1 << 62 ? 1 << 62 : Int64(bitPattern: maximumBytes), state.keepers == 1)
            return PointInTime(event: state.event, statement: failure_artifacts_test_starts())
        }
    }

    /// Ends the saving that a test has begun, and returns the stores that it has left open; nil if there are none.
    ///
    /// Drops the closed stores of the test, except for the statements of files that are still there. A store without a
    /// known owner may belong to a test that is still running, so it stays. The end of the last running test also drops
    /// all other saved data.
    @discardableResult
    func endKeeping(of test: TestID? = nil) -> LeftStores? {
        var left: LeftStores?
        var closed: [ClosedStore] = []
        var savedStates: SavedStates?
        state.withLock { state in
            if let test, !state.connections.isEmpty { left = Self.leave(by: test, &state) }
            state.keepers -= 1
            if state.keepers > 0 {
                if let test { closed = Self.forgetStores(of: test, &state) }
            } else {
                closed = state.closed
                failure_artifacts_keeping_ends()
                state.closed = []
                if !state.savedStates.isEmpty {
                    savedStates = state.savedStates
                    state.savedStates = SavedStates()
                }
                if !state.endedConnections.isEmpty { state.endedConnections = [:] }
            }
        }
        if !closed.isEmpty { leave(closed) }
        // Freed only now that the lock is free.
        withExtendedLifetime((closed, savedStates)) {}
        return left
    }

    /// The maximum number of files whose statements are kept for later tests.
    private static let maximumLeftFiles = 8

    /// Keeps the statements of closed stores whose files are still there.
    private func leave(_ closed: [ClosedStore]) {
        let left = closed.filter { $0.path != nil }.map { ClosedStore(withoutHandles: $0) }
            .filter(\.isInPlace)
        if left.isEmpty { return }
        let forgotten = state.withLock { state in
            let old = state.leftFiles
            state.leftFiles =
                (old.filter { file in !left.contains { $0.isSame(as: file) } } + left)
                .suffix(Self.maximumLeftFiles)
            return old
        }
        withExtendedLifetime(forgotten) {}
    }

    /// The stores that a test has left open.
    struct LeftStores: Sendable {
        /// The files whose further use will not be noticed, because the application has replaced the trace.
        let unwatched: [String]
    }

    /// Notes the end of a test on each connection that the test has opened or used.
    private static func leave(by test: TestID, _ state: inout State) -> LeftStores? {
        let pointInTime = failure_artifacts_point_in_time()
        var areLeft = false
        var unwatched: Set<String> = []
        for index in state.connections.indices {
            if state.connections[index].users.count > 0 { state.connections[index].users.remove(test) }
            guard state.connections[index].owner == test else { continue }
            areLeft = true
            state.connections[index].leftAt = pointInTime
            let record = state.connections[index].record
            failure_artifacts_connection_is_left(record)
            guard failure_artifacts_is_unwatched(record) else { continue }
            if let path = record.pointee.path { unwatched.insert(String(cString: path)) }
        }
        if !areLeft { return nil }
        failure_artifacts_test_starts()
        return LeftStores(unwatched: unwatched.sorted())
    }

    /// Drops and returns the closed stores of a test that ends before others.
    ///
    /// Their saved content would take the room of stores that the other tests close.
    private static func forgetStores(of test: TestID, _ state: inout State) -> [ClosedStore] {
        let gone = state.closed.filter { $0.owner == test }
        state.savedStates.forget(gone.flatMap { [$0.last, $0.beforeRollback].compactMap(\.self) })
        state.closed.removeAll { $0.owner == test }
        return gone
    }

    /// Returns the content of a connection's database before a rollback, if that was the last operation on it.
    func stateBeforeRollback(of connection: DiscoveredConnection, _ schema: String) -> SavedState? {
        guard let start = connection.lastUse?.unwoundAt else { return nil }
        return state.withLock { state in
            state.savedStates[connection.serial].last {
                $0.isOfRollback(since: start) && $0.schema == schema
            }
        }
    }

    /// Returns the last content of a database without a file, while its connection is being closed; nil before.
    func stateAtEnd(of access: DiscoveredStore.Access) -> SavedState? {
        guard access.connection.path == nil, access.transaction == nil,
            let lastUse = access.connection.lastUse
        else { return nil }
        return state.withLock { state in
            state.savedStates[access.connection.serial].last { saved in
                saved.reason == .end && saved.schema == access.schema && saved.order >= lastUse.order
            }
        }
    }

    // MARK: Events from C

    func kept(
        _ saved: failure_artifacts_saved_state,
        of record: UnsafeMutablePointer<failure_artifacts_connection>
    ) {
        let saved = SavedState(saved, of: record.pointee.serial)
        state.withLock { state in
            guard state.isKeeping else { return }
            state.savedStates.add(saved, of: record.pointee.serial)
        }
    }

    /// Reports to the observer the use of a connection that a test has left open, or that no test has opened.
    func usedAfterItsTest(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        let (observer, connection) = state.withLock { state in
            (
                state.observer,
                state.connections.index(of: record.pointee.serial).map { state.connections[$0] }
            )
        }
        if let connection, connection.leftAt > 0 || connection.isOfAnyTestInMemory {
            observer?.leftConnectionUsed(
                UnsafePointer(connection.record.pointee.path), ownedBy: connection.owner)
        }
    }
}
