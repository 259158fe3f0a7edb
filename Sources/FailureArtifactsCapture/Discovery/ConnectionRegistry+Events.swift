internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

/// The events that C reports.
extension ConnectionRegistry {
    func opened(_ record: UnsafeMutablePointer<failure_artifacts_connection>) {
        if let observer = state.withLock({ $0.observer }) {
            observer.connectionOpened(OpenedConnection(record, self))
        } else {
            _ = register(record, by: nil)
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
            if isOpen || !state.endedConnections.isEmpty || !state.images.isEmpty {
                drafts = Self.drafts(of: connection, isOpen: isOpen, &state)
            }
            if state.isKeeping { end = (state.event, connection.owner) }
        }
        guard let end else { return }
        if let drafts {
            for draft in drafts { remember(ClosedStore(draft, event: end.event)) }
        } else {
            remember(ClosedStore(of: record, owner: end.owner, event: end.event))
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
        let images = state.images.take(of: connection.serial)
        let main = connection.main
        var endedConnections = state.endedConnections.removeValue(forKey: main) ?? EndedConnections()
        guard state.isKeeping else { return [] }
        let lastUse = failure_artifacts_last_use(record)
        endedConnections.add(
            images.filter { $0.schema == "main" }, log, lastUse: lastUse, unwoundAt: unwoundAt)
        if isOpen { state.endedConnections[main] = endedConnections }
        let closed: [ClosedStore.Draft] =
            isOpen ? [] : [.main(of: connection, endedConnections)]
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
            if let index = forgotten.firstIndex(where: { $0.isSame(as: store) }) {
                store.follow(state.closed.remove(at: index))
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

    /// Gives up the files of the stores that were closed first, until the limit has space for those of one more store.
    private func limitHeldFiles() {
        let wanted = Int(failure_artifacts_held_files()) + Int(failure_artifacts_held_files_of_store)
        var excess = wanted - Int(failure_artifacts_held_files_limit())
        if excess <= 0 { return }
        let givenUp = state.withLock { state in
            let held = state.closed
            for (index, store) in held.enumerated() where excess > 0 && store.heldFiles > 0 {
                state.closed[index] = ClosedStore(withoutHandles: store)
                excess -= store.heldFiles
            }
            return held
        }
        withExtendedLifetime(givenUp) {}
    }
}
