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
    /// Full sentences on stores that can't be named.
    private(set) var warnings: [String] = []

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
            let open = DiscoveredStore.grouping(registry.openConnections)
            // Should time or room run out, it is at the expense of what the test has not touched.
            let isUsed = open.map { $0.isUsed(since: test.start) }
            candidates =
                zip(open, isUsed).filter(\.1).map(\.0) + zip(open, isUsed).filter { !$0.1 }.map(\.0)
            let closed = registry.storesClosed(after: test.start)
            candidates += Self.worthNaming(closed.compactMap(\.path), &warnings)
            if closed.contains(where: { $0.path == nil }) {
                warnings.append(
                    "A store in memory was closed before the failure, and its content is gone.")
            }
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
            let name = names[index] ?? store.path.map { Path.stem(of: Path.name(of: $0)) } ?? "memory"
            stores.append(
                Store(store: store, name: unique.claim(SafeName.make(from: name, maximumBytes: 150))))
        }
    }

    /// The stores that were closed, but of those that were deleted as well only a few: a test may have made
    /// thousands.
    private static func worthNaming(
        _ paths: [String], _ warnings: inout [String]
    ) -> [DiscoveredStore] {
        let deleted = paths.filter { (try? FileSystem.status(of: $0)) == nil }
        let unnamed = Set(deleted.dropFirst(maximumDeleted))
        if !unnamed.isEmpty {
            warnings.append("\(unnamed.count) more stores were closed and deleted before the failure.")
        }
        return paths.filter { !unnamed.contains($0) }.map { DiscoveredStore(path: $0) }
    }

    private static let maximumDeleted = 10

    private static func isSame(_ store: DiscoveredStore, _ path: String) -> Bool {
        if store.path == path { return true }
        guard let identity = try? FileSystem.status(of: path)?.identity else { return false }
        if let known = store.identity { return known == identity }
        guard let other = store.path else { return false }
        return (try? FileSystem.status(of: other)?.identity) == identity
    }
}
