/// A copy of a store in a bundle: the test's view or the committed state, at one of its failures.
package struct StoreChoice: Equatable, Sendable {
    /// The name: `ledger`, `ledger.committed`, or `failure-2/ledger` for a copy in a snapshot.
    package let name: String
    /// The entry that holds the copy.
    package let entry: String
    /// True if the copy has the committed state, as all other connections saw it.
    package let isCommitted: Bool
    package let store: BundleMetadata.Store
}

extension BundleMetadata {
    /// The copies in the bundle, in the metadata's order.
    package var storeChoices: [StoreChoice] {
        stores.flatMap { $0.choices(prefix: "") }
            + (snapshots ?? []).flatMap { snapshot in
                snapshot.stores.flatMap { $0.choices(prefix: snapshot.label + "/") }
            }
    }

    /// The entries that the metadata names, in the archive's order, without duplicates.
    package var entries: [String] {
        let allStores = stores + (snapshots ?? []).flatMap(\.stores)
        let names =
            storeChoices.map(\.entry) + historyEntries + allStores.compactMap(\.statements?.entry)
            + allStores.flatMap { $0.rawEntries ?? [] }
            + attachments.compactMap(\.entry)
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    /// The history files, in the metadata's order.
    package var historyEntries: [String] {
        (stores + (snapshots ?? []).flatMap(\.stores)).compactMap { $0.history?.entry }
    }
}

extension BundleMetadata.Store {
    fileprivate func choices(prefix: String) -> [StoreChoice] {
        var choices: [StoreChoice] = []
        if let entry {
            choices.append(
                StoreChoice(name: prefix + name, entry: entry, isCommitted: false, store: self))
        }
        if let committedEntry {
            choices.append(
                StoreChoice(
                    name: prefix + name + StoreEntries.committedSuffix, entry: committedEntry,
                    isCommitted: true,
                    store: self))
        }
        return choices
    }
}
