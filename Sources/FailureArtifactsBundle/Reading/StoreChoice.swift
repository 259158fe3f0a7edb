/// A copy of a store that a bundle has: what the test saw, or what was committed.
package struct StoreChoice: Equatable, Sendable {
    /// `ledger`, or `ledger.committed`.
    package let name: String
    /// The entry that holds the copy.
    package let entry: String
    /// Whether this is what everyone but the test's own connection saw.
    package let isCommitted: Bool
    package let store: BundleMetadata.Store
}

extension BundleMetadata {
    /// The copies there are, in the metadata's order.
    package var storeChoices: [StoreChoice] {
        stores.flatMap { store in
            var choices: [StoreChoice] = []
            if let entry = store.entry {
                choices.append(
                    StoreChoice(name: store.name, entry: entry, isCommitted: false, store: store))
            }
            if let entry = store.committedEntry {
                choices.append(
                    StoreChoice(
                        name: store.name + ".committed", entry: entry, isCommitted: true, store: store))
            }
            return choices
        }
    }
}

extension BundleReader {
    /// The copy of that name.
    ///
    /// - Parameter name: A store's name, `NAME.committed`, or the name of an entry; nil for the first copy.
    /// - Returns: The copy, which may yet be missing from the archive.
    /// - Throws: That there is no such store, with the names there are, or no copy of it.
    package func store(named name: String?) throws(BundleError) -> StoreChoice {
        let choices = metadata.storeChoices
        let path = location.description
        guard let name else {
            if let first = choices.first { return first }
            guard let described = metadata.stores.first else {
                throw BundleError(path, .noStores)
            }
            throw BundleError(path, .storeNotCaptured(described.name, described.capture.reason))
        }
        if let choice = choices.first(where: { $0.name == name || $0.entry == name }) { return choice }
        if let described = metadata.stores.first(where: { $0.name == name }) {
            throw BundleError(path, .storeNotCaptured(name, described.capture.reason))
        }
        throw BundleError(path, .noSuchStore(name, choices.map(\.name)))
    }
}
