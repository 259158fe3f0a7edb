internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The stores that belong to a test, each with its name in the bundle.
///
/// They are the stores that are open, were closed since the test started, or were registered by the test. A store that
/// an earlier test opened is included only if it was used since the test started.
enum FoundStores {
    struct Store {
        let store: DiscoveredStore
        /// The store's name, which is unique among the stores and can be used as a file name.
        let name: String
        /// True if other tests may have used the store too.
        let isShared: Bool
        /// The test that opened the store; nil if it is this test, no test, or not known.
        let openedBy: BundleMetadata.Store.Opener?
        /// The library store that can copy this store, if known.
        let storeOfLibrary: LibraryStore?
    }

    /// The stores in a test's process.
    struct Selection {
        /// The stores to capture, those of the test first.
        var stores: [Store] = []
        /// The stores that belong to a framework, and are only named.
        var others: [BundleMetadata.OtherStore] = []
    }

    /// Finds the stores to capture, and those that are only named.
    ///
    /// Call it on the thread of the failure. Without `discovers`, only registered stores are found. Databases in the
    /// artifacts directory are never included.
    static func find(
        of test: RunningTest, registry: ConnectionRegistry, discovers: Bool,
        libraryStores: [LibraryStore] = [],
        frameworks: (rules: FrameworkStores, openAtStart: Set<FileStatus.Identity>),
        artifactsDirectory: String,
        isRunning: (TestID) -> Bool, opener: (TestID) -> BundleMetadata.Store.Opener?
    ) -> Selection {
        var candidates: [DiscoveredStore] = []
        if discovers {
            var open = DiscoveredStore.grouping(registry.openConnections)
            open += DiscoveredStore.openedByOthers(than: open)
            // If time or room runs out, the stores that the test has not touched are left out first.
            let ranked = open.map { ($0, Relation(of: $0, to: test, isRunning: isRunning)) }
            for relation in Relation.captured {
                candidates += ranked.filter { $0.1 == relation }.map(\.0)
            }
            candidates += registry.storesClosed(after: test.start).map { DiscoveredStore($0) }
                .filter { store in
                    store.hasContent
                        && Relation.captured.contains(
                            Relation(of: store, to: test, isRunning: isRunning))
                }
        }
        let libraryStores = libraryStores.filter { $0.belongs(to: test.id, isRunning: isRunning) }
        for store in discovers ? libraryStores : [] {
            guard let path = store.path, store.reasonForNoContent == nil,
                !candidates.contains(where: { Self.isSame($0, path) })
            else { continue }
            // A test may delete a store after it has closed it.
            if case .closedFile = store.content, FileSystem.regularFile(path) == nil { continue }
            candidates.append(DiscoveredStore(path: path))
        }
        let registered = test.state.withLock(\.registered)
        var names: [Int: String] = [:]
        for (path, name) in registered {
            let index: Int
            if let known = candidates.firstIndex(where: { Self.isSame($0, path) }) {
                index = known
            } else {
                index = candidates.count
                candidates.append(DiscoveredStore(path: path))
            }
            if let name { names[index] = name }
        }
        var libraries: [Int: LibraryStore] = [:]
        for store in libraryStores where store.reasonForNoContent == nil {
            guard let path = store.path,
                let index = candidates.firstIndex(where: { Self.isSame($0, path) })
            else { continue }
            libraries[index] = store
        }
        for store in discovers ? libraryStores : [] where store.reasonForNoContent != nil {
            libraries[candidates.count] = store
            candidates.append(DiscoveredStore(describedAt: store.path, named: store.name))
        }
        var unique = StoreNames()
        var result = Selection()
        for (index, store) in candidates.enumerated() {
            if let path = store.path, path.hasPrefix(artifactsDirectory + "/") { continue }
            let isRegistered = registered.contains { Self.isSame(store, $0.path) }
            let isOfTest =
                isRegistered || libraries[index] != nil || !store.owners.isEmpty || !store.users.isEmpty
            if let path = store.path,
                let reason = frameworks.rules.reasonToLeaveOut(
                    path, isOfTest: isOfTest,
                    wasOpenAtStart: store.identity.map(frameworks.openAtStart.contains) ?? false)
            {
                result.others.append(BundleMetadata.OtherStore(path: path, reason: reason))
                continue
            }
            let fileName = store.path.map { Path.stem(of: Path.name(of: $0)) }
            let name = names[index] ?? store.suggestedName ?? fileName ?? "memory"
            result.stores.append(
                Store(
                    store: store, name: unique.claim(name),
                    isShared: !isRegistered
                        && !(store.owners.contains(test.id) && store.users.isSubset(of: [test.id])),
                    openedBy: store.owners.contains(test.id) ? nil : store.opener.flatMap(opener),
                    storeOfLibrary: libraries[index]))
        }
        return result
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

        /// The relations of stores in the test's bundle, in the order of copying.
        static let captured: [Relation] = [.own, .shared, .left]

        init(of store: DiscoveredStore, to test: RunningTest, isRunning: (TestID) -> Bool) {
            let isUsed = store.isUsed(since: test.start)
            if store.owners.contains(test.id) || (test.isAlone && isUsed) {
                self = .own
            } else if store.owners.isEmpty || store.users.contains(test.id) {
                self = .shared
            } else if store.owners.contains(where: isRunning) {
                self = .foreign
            } else {
                let isUsed = test.isAlone ? store.isUnwatched : isUsed && store.isUsedByOthers
                self = isUsed ? .left : .foreign
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
