internal import FailureArtifactsSystem

/// A store as its library describes it.
package struct SeenStore: Equatable, Sendable {
    /// The absolute path of the store's file; nil if it has none.
    package let path: String?
    /// The name in the bundle of a store that is only described.
    package let name: String
    /// The reason why the store's content can't be captured, as a full sentence; nil if it can.
    package let reasonForNoContent: String?

    /// Creates a description.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the store's file; nil if it has none.
    ///   - name: The name in the bundle of a store that is only described.
    ///   - reasonForNoContent: The reason why the store's content can't be captured, as a full sentence; nil if it can.
    package init(path: String?, name: String, reasonForNoContent: String?) {
        self.path = path
        self.name = name
        self.reasonForNoContent = reasonForNoContent
    }
}

/// The stores that an adapter has seen, so that a store that its library has closed by the time of the failure can be
/// captured too.
///
/// A closed store is forgotten when the test that used it has ended. Stores that are open in an owner are forgotten when
/// that owner is gone. The library's objects are not kept alive. All functions may be called from any thread.
package final class SeenStores: Sendable {
    /// A store in one of its owners, such as a persistent store coordinator.
    private struct Entry {
        let store: SeenStore
        let ownerID: ObjectIdentifier
        weak var owner: AnyObject?
        /// The test that opened the store, or removed it later.
        weak var user: RunningTest?
        var isRemoved = false

        var isClosed: Bool { isRemoved || owner == nil }
        var isNeeded: Bool { !isClosed || user?.hasEnded == false }
    }

    private let entries = Lock<[Entry]>([])
    private let maximumCount: Int
    /// Returns the files that belong to a store and are not part of its database.
    private let externalFiles: @Sendable (_ path: String) -> [LibraryStore.ExternalFile]

    /// Creates an empty list.
    ///
    /// - Parameters:
    ///   - maximumCount: The maximum number of stores. Beyond it, the oldest one is forgotten.
    ///   - externalFiles: Returns the files that belong to a store and are not part of its database.
    package init(
        maximumCount: Int = 256,
        externalFiles: @escaping @Sendable (_ path: String) -> [LibraryStore.ExternalFile] = { _ in [] }
    ) {
        self.maximumCount = maximumCount
        self.externalFiles = externalFiles
    }

    /// Adds a store that was opened.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - owner: The object that has it open. It must not be in its deallocation, because a weak reference to it is
    ///     formed.
    ///   - test: The test that opened it; nil if it isn't known.
    package func add(_ store: SeenStore, openIn owner: AnyObject, by test: RunningTest?) {
        if let path = store.path, LibraryCopier.isCopy(path) { return }
        entries.withLock { entries in
            entries.removeAll { !$0.isNeeded }
            entries.append(
                Entry(store: store, ownerID: ObjectIdentifier(owner), owner: owner, user: test))
            if entries.count > maximumCount {
                entries.remove(at: entries.firstIndex(where: \.isClosed) ?? 0)
            }
        }
    }

    /// Marks a store as closed.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - owner: The identity of the object that had it open.
    ///   - test: The test that closed it; nil if it isn't known.
    package func remove(_ store: SeenStore, from owner: ObjectIdentifier, by test: RunningTest?) {
        entries.withLock { entries in
            for index in entries.indices
            where entries[index].ownerID == owner && entries[index].store == store {
                entries[index].isRemoved = true
                if let test { entries[index].user = test }
            }
            entries.removeAll { !$0.isNeeded }
        }
    }

    /// The objects that have stores open, without repetitions.
    package var owners: [AnyObject] {
        entries.withLock { entries in
            var owners: [AnyObject] = []
            for case let owner? in entries.map(\.owner) where !owners.contains(where: { $0 === owner }) {
                owners.append(owner)
            }
            return owners
        }
    }

    /// Returns the test that opened a store; nil if it isn't known.
    package func user(of store: SeenStore, in owner: AnyObject) -> RunningTest? {
        entries.withLock { entries in
            entries.last { $0.owner === owner && $0.store == store }?.user
        }
    }

    /// Lists the closed stores of tests that have not ended.
    ///
    /// - Parameter openPaths: The paths of the stores that are open.
    /// - Returns: The stores, in the order in which they were added.
    package func closedStores(besides openPaths: Set<String>) -> [LibraryStore] {
        entries.withLock { entries in
            entries.removeAll { !$0.isNeeded }
            var stores: [LibraryStore] = []
            var known = openPaths
            for entry in entries.reversed() where entry.isClosed {
                guard let user = entry.user else { continue }
                if let reason = entry.store.reasonForNoContent {
                    stores.append(
                        .described(
                            entry.store.path, named: entry.store.name,
                            because: reason + " It was closed before the failure.", usedBy: user.id))
                } else if let path = entry.store.path, known.insert(path).inserted {
                    stores.append(
                        .closed(path, usedBy: user.id) { [externalFiles] in externalFiles(path) })
                }
            }
            return stores.reversed()
        }
    }

    /// The number of stores that are kept.
    var count: Int { entries.withLock { $0.count } }
}

extension LibraryStore {
    /// Creates a library store that is open and only described.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - reason: The reason why it has no content.
    ///   - user: The test that opened it; nil if it isn't known.
    package init(_ store: SeenStore, because reason: String, usedBy user: RunningTest?) {
        self = .described(store.path, named: store.name, because: reason, usedBy: user?.id)
    }
}
