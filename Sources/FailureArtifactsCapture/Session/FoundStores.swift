internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// The stores that belong to a test, each with its name in the bundle.
///
/// They are the stores that are open, were closed since the test started, or were registered by the test. A store that
/// an earlier test opened is included only if it was used since the test started, and not only by a thread that the
/// earlier test has left.
enum FoundStores {
    struct Store {
        let store: DiscoveredStore
        /// The store's name, which is unique among the stores and can be used as a file name.
        let name: String
        /// True if other tests may have used the store too.
        let isShared: Bool
        /// The test that opened the store; nil if it is this test, no test, or not known.
        let openedBy: BundleMetadata.Store.Opener?
        /// The store as its adapter knows it; nil if none does.
        let storeOfAdapter: AdapterStore?
    }

    /// The stores in a test's process.
    struct Selection {
        /// The stores to capture, those of the test first.
        var stores: [Store] = []
        /// The stores that belong to a framework or to an earlier test's thread, and are only named.
        var others: [BundleMetadata.OtherStore] = []
    }

    /// Finds the stores to capture, and those that are only named.
    ///
    /// Call it on the thread of the failure. Without `discovers`, only registered stores are found. Databases in the
    /// artifacts directory are never included.
    static func find(
        of test: RunningTest, in session: CaptureSession, discovers: Bool, artifactsDirectory: String
    ) -> Selection {
        func isRunning(_ id: TestID) -> Bool { session.state.withLock { $0.tests.isRunning(id) } }
        func opener(_ id: TestID) -> BundleMetadata.Store.Opener? {
            session.state.withLock { $0.tests.opener(id) }
        }
        let sources = session.state.withLock { $0.sources }
        let adapterStores = sources.flatMap { $0() }.filter {
            $0.belongs(to: test.id, isRunning: isRunning)
        }
        let registered = test.state.withLock { $0.registered }
        let failedOpens = session.registry.failedOpens(of: test.id, after: test.start)
        var candidates = Candidates()
        if discovers {
            candidates.addDiscovered(
                by: session.registry, for: test, isRunning: isRunning,
                named: registered.map(\.path) + failedOpens.map(\.path)
                    + adapterStores.compactMap(\.path))
            candidates.addFiles(of: adapterStores)
        }
        candidates.addRegistered(registered)
        candidates.relate(to: adapterStores)
        if discovers {
            candidates.addFailedOpens(failedOpens)
            candidates.addDescribed(adapterStores)
        }
        var unique = StoreNames()
        var result = Selection()
        result.others = candidates.unrelated.map { store in
            let opener = store.opener.flatMap { opener($0) }
            return BundleMetadata.OtherStore(
                path: store.path ?? store.suggestedName ?? ":memory:",
                reason:
                    "\(opener.map { "\($0.suite).\($0.name)" } ?? "An earlier test") left it open. During this test, "
                    + "it was used only as it is while no test runs: by the same threads, with the same statements."
            )
        }
        for (index, store) in candidates.stores.enumerated() {
            if let path = store.path, path.hasPrefix(artifactsDirectory + "/") { continue }
            let isRegistered = registered.contains { Self.isSame(store, $0.path) }
            let isOfTest =
                isRegistered || candidates.ofAdapters[index] != nil || !store.owners.isEmpty
                || !store.users.isEmpty
            if let path = store.path, !isOfTest, let reason = FrameworkStores.reasonToLeaveOut(path) {
                result.others.append(BundleMetadata.OtherStore(path: path, reason: reason))
                continue
            }
            let fileName = store.path.map { Path.stem(of: Path.name(of: $0)) }
            let name = candidates.names[index] ?? store.suggestedName ?? fileName ?? "memory"
            result.stores.append(
                Store(
                    store: store, name: unique.claim(name),
                    isShared: !isRegistered
                        && !(store.owners.contains(test.id) && store.users.isSubset(of: [test.id])),
                    openedBy: store.owners.contains(test.id) ? nil : store.opener.flatMap { opener($0) },
                    storeOfAdapter: candidates.ofAdapters[index]))
        }
        return result
    }

    /// The stores that may be in the bundle, in the order of copying.
    private struct Candidates {
        private(set) var stores: [DiscoveredStore] = []
        /// The names that the test gave to stores, by the stores' indices.
        private(set) var names: [Int: String] = [:]
        /// The stores as adapters know them, by the stores' indices.
        private(set) var ofAdapters: [Int: AdapterStore] = [:]
        /// The stores that are only named, because they were used regardless of the test.
        private(set) var unrelated: [DiscoveredStore] = []

        private func index(of path: String) -> Int? { stores.firstIndex { isSame($0, path) } }

        /// Adds the open and the closed stores that are related to the test, which knows those at the paths in `named`.
        mutating func addDiscovered(
            by registry: ConnectionRegistry, for test: RunningTest, isRunning: (TestID) -> Bool,
            named: [String]
        ) {
            var open = DiscoveredStore.grouping(registry.openConnections)
            open += DiscoveredStore.openedByOthers(than: open)
            // If time or room runs out, the stores that the test has not touched are left out first.
            let ranked = open.map { store in
                let relation = Relation(of: store, to: test, isRunning: isRunning)
                let isNamed = relation == .unrelated && named.contains { isSame(store, $0) }
                return (store, isNamed ? .own : relation)
            }
            unrelated = ranked.filter { $0.1 == .unrelated }.map(\.0)
            for relation in Relation.captured {
                stores += ranked.filter { $0.1 == relation }.map(\.0)
            }
            stores += registry.storesClosed(after: test.start).map { DiscoveredStore($0) }
                .filter { store in
                    store.hasContent
                        && Relation.captured.contains(
                            Relation(of: store, to: test, isRunning: isRunning))
                }
        }

        /// Adds the files of stores of adapters that aren't open.
        mutating func addFiles(of adapterStores: [AdapterStore]) {
            for store in adapterStores {
                guard let path = store.path, store.reasonForNoContent == nil, index(of: path) == nil
                else { continue }
                // A test may delete a store after it has closed it.
                if store.isClosed, FileSystem.regularFile(path) == nil { continue }
                stores.append(DiscoveredStore(path: path))
            }
        }

        /// Adds the stores that the test has registered, with their names.
        mutating func addRegistered(_ registered: [(path: String, name: String?)]) {
            for (path, name) in registered {
                let index = index(of: path) ?? stores.count
                if index == stores.count { stores.append(DiscoveredStore(path: path)) }
                if let name { names[index] = name }
            }
        }

        /// Records which stores adapters know.
        mutating func relate(to adapterStores: [AdapterStore]) {
            for store in adapterStores where store.reasonForNoContent == nil {
                if let index = store.path.flatMap(index) { ofAdapters[index] = store }
            }
        }

        /// Adds the stores that could not be opened.
        mutating func addFailedOpens(_ opens: [ConnectionRegistry.FailedOpen]) {
            for open in opens where index(of: open.path) == nil {
                if FileSystem.regularFile(open.path) != nil {
                    stores.append(DiscoveredStore(path: open.path))
                    continue
                }
                let status = try? FileSystem.status(of: open.path)
                let kind = status.map { "It is \($0.kind.noun)." } ?? "There is no such file."
                addDescribed([
                    AdapterStore(
                        describedAt: open.path, named: Path.stem(of: Path.name(of: open.path)),
                        because: "SQLite could not open '\(open.path)' (error \(open.code)). \(kind)",
                        usedBy: nil)
                ])
            }
        }

        /// Adds the stores of adapters that can't be copied.
        mutating func addDescribed(_ adapterStores: [AdapterStore]) {
            for store in adapterStores where store.reasonForNoContent != nil {
                ofAdapters[stores.count] = store
                stores.append(DiscoveredStore(describedAt: store.path, named: store.name))
            }
        }
    }

    /// The relation of a store to a test.
    private enum Relation {
        /// The test opened it.
        ///
        /// Or it was used while the test ran alone, so only that test can have used it.
        case own
        /// The owner is unknown, or the test has used a store that another test opened.
        case shared
        /// An earlier test opened it and left it open, and this test may have used it.
        case left
        /// It belongs to another test that is running, or to one that has ended.
        case foreign
        /// An earlier test opened it and left a thread that uses it, also while no test runs.
        case unrelated

        /// The relations of stores in the test's bundle, in the order of copying.
        static let captured: [Relation] = [.own, .shared, .left]

        init(of store: DiscoveredStore, to test: RunningTest, isRunning: (TestID) -> Bool) {
            let isUsed = store.isUsed(since: test.start)
            if store.owners.contains(test.id) || (test.isAlone && isUsed) {
                self = store.isUsedRegardless(of: test) ? .unrelated : .own
            } else if store.users.contains(test.id) {
                self = .shared
            } else if store.owners.isEmpty {
                let isOfOthers = !store.suites.isEmpty && !store.isUnwatched
                self = isOfOthers && !store.isUsedByUnknown(since: test.start) ? .foreign : .shared
            } else if store.owners.contains(where: isRunning) {
                self = .foreign
            } else if !test.isAlone, store.isUsedByUnknown(since: test.start) {
                // Most likely by a test of the suites that are known to use it.
                self = store.suites.contains(test.identity.suite) ? .left : .foreign
            } else {
                self = test.isAlone && store.isUnwatched ? .left : .foreign
            }
        }
    }

    private static func isSame(_ store: DiscoveredStore, _ path: String) -> Bool {
        if store.path == path { return true }
        guard let identity = try? FileSystem.status(of: path)?.identity else { return false }
        if let known = store.identity { return known == identity }
        guard let other = store.path else { return false }
        return (try? FileSystem.status(of: other)?.identity) == identity
    }
}
