internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The stores that belong to a failing test, each with its name in the bundle.
///
/// They are those that are open, whoever opened them and when; those that were closed since the test started;
/// and those that the test registered.
struct FoundStores {
    struct Store {
        let store: DiscoveredStore
        /// Unique among them, and fit for a file name.
        let name: String
    }

    private(set) var stores: [Store] = []

    /// Looks for the stores; to be called on the thread of the failure.
    ///
    /// - Parameters:
    ///   - test: The test that failed.
    ///   - registry: What knows the process's connections.
    ///   - discovers: Whether stores that were not registered count.
    ///   - artifactsDirectory: Databases in it are not the test's.
    init(test: RunningTest, registry: ConnectionRegistry, discovers: Bool, artifactsDirectory: String) {
        var candidates: [DiscoveredStore] = []
        if discovers {
            var open = DiscoveredStore.grouping(registry.openConnections)
            open += DiscoveredStore.openedByOthers(than: open)
            // Should time or room run out, it is at the expense of what the test has not touched.
            let isUsed = open.map { $0.isUsed(since: test.start) }
            candidates =
                zip(open, isUsed).filter(\.1).map(\.0) + zip(open, isUsed).filter { !$0.1 }.map(\.0)
            candidates += registry.storesClosed(after: test.start).map { DiscoveredStore($0) }
                .filter(\.hasContent)
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
        var unique = UniqueNames()
        for (index, store) in candidates.enumerated() {
            if let path = store.path, path.hasPrefix(artifactsDirectory + "/") { continue }
            let fileName = store.path.map { Path.stem(of: Path.name(of: $0)) }
            let name = names[index] ?? store.suggestedName ?? fileName ?? "memory"
            stores.append(
                Store(store: store, name: unique.claim(SafeName.make(from: name, maximumBytes: 150))))
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
