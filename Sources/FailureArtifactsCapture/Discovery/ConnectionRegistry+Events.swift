internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

/// The events that C reports.
extension ConnectionRegistry {
    func opened(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        if let observer = state.withLock({ $0.observer }) {
            observer.connectionOpened(OpenedConnection(record, self))
        } else {
            register(record, by: nil)
        }
    }

    func register(_ record: UnsafeMutablePointer<failure_artifacts_connection>, by test: TestID?) {
        state.withLock { state in
            failure_artifacts_connections_add(record, test ?? 0)
            state.event += 1
        }
    }

    func usedInTask(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        guard let test = state.withLock({ $0.observer })?.currentTestID else { return }
        let isNew = state.withLock { Self.note(user: test, of: record, &$0) }
        if isNew { usedAfterItsTest(record) }
    }

    /// Records that a test uses a connection.
    ///
    /// - Returns: True if that was not known.
    private static func note(
        user test: TestID, of record: UnsafeMutablePointer<failure_artifacts_connection>,
        _ state: inout State
    ) -> Bool {
        if record.pointee.registration.user == test { return false }
        if record.pointee.registration.user == 0 {
            record.pointee.registration.user = test
            return true
        }
        // The table is only for the few connections that several tests use.
        record.pointee.registration.is_noted = true
        return state.users[record.pointee.serial, default: []].insert(test).inserted
    }

    func attached(
        _ files: Set<FileStatus.Identity>, _ record: UnsafeMutablePointer<failure_artifacts_connection>
    ) {
        state.withLock { state in
            record.pointee.registration.is_noted = true
            state.attached[record.pointee.serial, default: []].formUnion(files)
        }
    }

    func closed(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        let (event, isKeeping, drafts) = state.withLock { state in
            state.event += 1
            guard failure_artifacts_connections_remove(record) else {
                return (state.event, false, [ClosedStore.Draft]?.none)
            }
            // Most connections have nothing that a draft would describe.
            let hasMore =
                record.pointee.registration.is_noted || !state.stores.isEmpty
                || failure_artifacts_connections_share(record)
            return (state.event, state.isKeeping, hasMore ? Self.drafts(of: record, &state) : nil)
        }
        if let drafts {
            for draft in drafts { remember(ClosedStore(draft, event: event)) }
        } else if isKeeping {
            remember(ClosedStore(of: record, event: event))
        }
    }

    /// Describes the stores that a closed connection leaves.
    ///
    /// Used if data of the connection was saved, or if other connections have or had its store open.
    private static func drafts(
        of record: UnsafeMutablePointer<failure_artifacts_connection>, _ state: inout State
    ) -> [ClosedStore.Draft] {
        let connection = DiscoveredConnection(record, users: [])
        let log = KeptLog(of: record)
        let unwoundAt = DiscoveredConnection.unwoundAt(record)
        state.users[connection.serial] = nil
        state.attached[connection.serial] = nil
        let images = state.images.take(of: connection.serial)
        let main = connection.main
        var store = state.stores.removeValue(forKey: main) ?? OpenStore()
        let isOpen = failure_artifacts_connections_share(record)
        defer { if isOpen && !store.isEmpty { state.stores[main] = store } }
        guard state.isKeeping else {
            store.endedConnections = nil
            return []
        }
        var endedConnections = store.endedConnections ?? EndedConnections()
        let lastUse = failure_artifacts_last_use(record)
        endedConnections.add(
            images.filter { $0.schema == "main" }, log,
            lastUse: lastUse, unwoundAt: unwoundAt)
        store.endedConnections = endedConnections
        let closed: [ClosedStore.Draft] =
            isOpen ? [] : [.main(of: connection, endedConnections, store.baselines)]
        if images.isEmpty { return closed }
        var left = EndedConnections()
        left.add(images.filter { $0.schema != "main" }, lastUse: 0, unwoundAt: unwoundAt)
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
            if forgotten.isEmpty {
                state.closed = [store]
                return forgotten
            }
            state.closed.removeAll { $0.isSame(as: store) }
            state.closed.append(store)
            let own = state.closed.indices.filter { state.closed[$0].owner == store.owner }
            for index in own.dropLast(Self.maximumClosedStores).reversed() {
                state.closed.remove(at: index)
            }
            return forgotten
        }
        // Released only now that the lock is free, because this closes files.
        withExtendedLifetime(forgotten) {}
    }
}
