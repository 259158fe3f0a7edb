internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

/// The events that C reports.
extension ConnectionRegistry {
    func opened(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        let observer = state.enter().pointee.observer
        state.leave()
        if let observer {
            observer.connectionOpened(OpenedConnection(record, self))
        } else {
            register(record, by: nil)
        }
    }

    func register(_ record: UnsafeMutablePointer<failure_artifacts_connection>, by test: TestID?) {
        let state = self.state.enter()
        failure_artifacts_connections_add(record, test ?? 0)
        state.pointee.event += 1
        self.state.leave()
    }

    func usedInTask(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        let observer = state.enter().pointee.observer
        state.leave()
        guard let test = observer?.currentTestID else { return }
        let state = self.state.enter()
        let isNew = Self.note(user: test, of: record, &state.pointee)
        self.state.leave()
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
        let state = self.state.enter()
        state.pointee.event += 1
        let event = state.pointee.event
        guard failure_artifacts_connections_remove(record) else { return self.state.leave() }
        if record.pointee.registration.is_noted || !state.pointee.stores.isEmpty
            || failure_artifacts_connections_share(record)
        {
            let drafts = Self.drafts(of: record, &state.pointee)
            self.state.leave()
            for draft in drafts { remember(ClosedStore(draft, event: event)) }
            return
        }
        let isKeeping = state.pointee.keepers > 0
        self.state.leave()
        if isKeeping { remember(ClosedStore(of: record, event: event)) }
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
        let state = self.state.enter()
        if state.pointee.closed.count == 0 {
            state.pointee.closed = [store]
            self.state.leave()
            return
        }
        let forgotten = state.pointee.closed
        state.pointee.closed.removeAll { $0.isSame(as: store) }
        state.pointee.closed.append(store)
        let own = state.pointee.closed.indices.filter {
            state.pointee.closed[$0].owner == store.owner
        }
        for index in own.dropLast(Self.maximumClosedStores).reversed() {
            state.pointee.closed.remove(at: index)
        }
        self.state.leave()
        // Released only now that the lock is free, because this closes files.
        withExtendedLifetime(forgotten) {}
    }
}
