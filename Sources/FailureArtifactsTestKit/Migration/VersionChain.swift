/// The names of the versions in a chain, the oldest one first, and the stores of the versions that a test has reached.
package struct VersionChain<Store> {
    private let names: [String]
    /// The stores with their versions' positions, in the order in which they were reached.
    private var reached: [(position: Int, store: Store)] = []

    /// Creates a chain of which no version is reached.
    package init(_ names: [String]) throws(TestStoreError) {
        self.names = names
        var known: Set<String> = []
        for name in names where !known.insert(name).inserted {
            throw TestStoreError(
                .version,
                "Two versions are called '\(name)'. Give each version of the chain its own name."
            )
        }
    }

    /// Returns the position of the version to start at.
    package func start(at name: String) throws(TestStoreError) -> Int {
        let position = try position(of: name)
        if let first = reached.first {
            throw TestStoreError(
                .version,
                "There is a store at '\(names[first.position])' already: call 'start(at:)' only once.")
        }
        return position
    }

    /// Returns the last store, and the positions to migrate it to, one after the other.
    package func migration(
        to name: String
    ) throws(TestStoreError) -> (store: Store, steps: ClosedRange<Int>) {
        let target = try position(of: name)
        guard let last = reached.last else {
            throw TestStoreError(
                .version, "There is no store to migrate to '\(name)': call 'start(at:)' first.")
        }
        guard target > last.position else {
            throw TestStoreError(
                .version,
                "'\(name)' does not come after '\(names[last.position])', the last version.")
        }
        return (last.store, last.position + 1...target)
    }

    /// Adds the store of a version that is reached.
    package mutating func reach(_ position: Int, _ store: Store) { reached.append((position, store)) }

    /// Returns the store of a version that is reached.
    package func store(at name: String) throws(TestStoreError) -> Store {
        let position = try position(of: name)
        guard let found = reached.first(where: { $0.position == position }) else {
            throw TestStoreError(
                .version,
                "There is no store at '\(name)': call 'start(at:)' or 'migrate(to:)' with it first.")
        }
        return found.store
    }

    /// The names of the first and the last version that were reached.
    package var ends: (first: String, last: String) {
        get throws(TestStoreError) {
            guard let first = reached.first, let last = reached.last else {
                throw TestStoreError(
                    .version, "There is no store to compare: call 'start(at:)' first.")
            }
            return (names[first.position], names[last.position])
        }
    }

    private func position(of name: String) throws(TestStoreError) -> Int {
        if let position = names.firstIndex(of: name) { return position }
        let known = names.map { "'\($0)'" }.joined(separator: ", ")
        throw TestStoreError(.version, "There is no version '\(name)' among \(known).")
    }
}
