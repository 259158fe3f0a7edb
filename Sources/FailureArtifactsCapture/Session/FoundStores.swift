internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The stores that belong to a failing test, each with its name in the bundle.
///
/// They are the stores that are open or were closed since the test started, and those that the test registered. Of
/// what an earlier test opened, only the stores that were used since the test started are among them.
struct FoundStores {
    struct Store {
        let store: DiscoveredStore
        /// Unique among them, and fit for a file name.
        let name: String
        /// Whether other tests may have used it too.
        let isShared: Bool
        /// The test that opened it; nil where it is this one, none, or not known.
        let openedBy: BundleMetadata.Store.Opener?
        /// How the library that has it open copies it, where that is known.
        let storeOfLibrary: LibraryStore?
    }

    private(set) var stores: [Store] = []

    /// Looks for the stores; to be called on the thread of the failure.
    ///
    /// - Parameters:
    ///   - test: The test that failed.
    ///   - registry: What knows the process's connections.
    ///   - discovers: Whether stores that were not registered count.
    ///   - libraryStores: Those that adapters know.
    ///   - artifactsDirectory: Databases in it are not the test's.
    ///   - isRunning: Whether a test has not ended yet.
    ///   - opener: Names a test.
    init(
        test: RunningTest, registry: ConnectionRegistry, discovers: Bool,
        libraryStores: [LibraryStore] = [],
        artifactsDirectory: String,
        isRunning: (TestID) -> Bool, opener: (TestID) -> BundleMetadata.Store.Opener?
    ) {
        var candidates: [DiscoveredStore] = []
        if discovers {
            var open = DiscoveredStore.grouping(registry.openConnections)
            open += DiscoveredStore.openedByOthers(than: open)
            // Should time or room run out, it is at the expense of what the test has not touched.
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
        for store in discovers ? libraryStores : []
        where !candidates.contains(where: { Self.isSame($0, store.path) }) {
            candidates.append(DiscoveredStore(path: store.path))
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
        for store in libraryStores {
            guard let index = candidates.firstIndex(where: { Self.isSame($0, store.path) }) else {
                continue
            }
            libraries[index] = store
        }
        var unique = StoreNames()
        for (index, store) in candidates.enumerated() {
            if let path = store.path, path.hasPrefix(artifactsDirectory + "/") { continue }
            let fileName = store.path.map { Path.stem(of: Path.name(of: $0)) }
            let name = names[index] ?? store.suggestedName ?? fileName ?? "memory"
            stores.append(
                Store(
                    store: store, name: unique.claim(name),
                    isShared: !registered.contains { Self.isSame(store, $0.path) }
                        && !(store.owners.contains(test.id) && store.users.isSubset(of: [test.id])),
                    openedBy: store.owners.contains(test.id) ? nil : store.opener.flatMap(opener),
                    storeOfLibrary: libraries[index]))
        }
    }

    /// What a store has to do with a test.
    private enum Relation {
        /// The test has opened it, or is the only one that can have used it, and it did.
        case own
        /// Nobody knows whose it is, or the test has used what another one has opened.
        case shared
        /// An earlier test has opened it and left it open, and this one may have used it.
        case left
        /// It belongs to another test that runs at the same time, or to one that has ended.
        case foreign

        /// Those that are in the test's bundle, in the order in which they are copied.
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
