internal import FailureArtifactsSystem

/// A copy of a store that a bundle has: what the test saw, or what was committed, at one of its failures.
package struct StoreChoice: Equatable, Sendable {
    /// `ledger`, `ledger.committed`, or `failure-2/ledger` for one of a snapshot.
    package let name: String
    /// The entry that holds the copy.
    package let entry: String
    /// Whether this is what everyone but the test's own connection saw.
    package let isCommitted: Bool
    package let store: BundleMetadata.Store

    /// The name of a file with the copy: that of the entry, where it has one.
    package var fileName: String {
        let name = Path.name(of: entry)
        return name.isEmpty || name == "." || name == ".." ? "store.sqlite" : name
    }
}

extension BundleMetadata {
    /// The copies there are, in the metadata's order.
    package var storeChoices: [StoreChoice] {
        stores.flatMap { $0.choices(prefix: "") }
            + (snapshots ?? []).flatMap { snapshot in
                snapshot.stores.flatMap { $0.choices(prefix: snapshot.label + "/") }
            }
    }

    /// The entries that the metadata names, in the order of the archive; one that several stores have in
    /// common once.
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
