internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
internal import Foundation

/// A store as its library describes it.
struct SeenStore: Equatable, Sendable {
    /// The absolute path of the store's file; nil if it has none.
    let path: String?
    /// The name in the bundle of a store that is only described.
    let name: String
    /// The reason why the store's content can't be captured, as a full sentence; nil if it can.
    let reasonForNoContent: String?
}

/// The stores that an adapter has seen, so that a store that its library has closed by the time of the failure can be
/// captured too.
///
/// A closed store is forgotten when the test that used it has ended. Stores that are open in an owner are forgotten when
/// that owner is gone. The library's objects are not kept alive. All functions may be called from any thread.
final class SeenStores: Sendable {
    /// Weak references, which are read only while the lock isn't held.
    ///
    /// Reading one retains the object for a moment. If that was its last reference, the object is deallocated by this
    /// thread, and may report its end to this very list.
    private final class References: @unchecked Sendable {
        private weak let owner: AnyObject?
        /// The test that opened the store, or removed it later.
        private weak let user: RunningTest?
        private let isRemoved: Bool

        init(owner: AnyObject?, user: RunningTest?, isRemoved: Bool) {
            self.owner = owner
            self.user = user
            self.isRemoved = isRemoved
        }

        var openOwner: AnyObject? { isRemoved ? nil : owner }
        var runningUser: RunningTest? {
            guard let user, !user.hasEnded else { return nil }
            return user
        }
        var isNeeded: Bool { openOwner != nil || runningUser != nil }
    }

    /// A store in one of its owners, such as a persistent store coordinator.
    private struct Entry {
        let store: SeenStore
        let owner: ObjectIdentifier
        let references: References
    }

    private let entries = Lock<[Entry]>([])
    private let maximumCount: Int

    /// Creates an empty list of at most so many stores; beyond it, the oldest closed one is forgotten, or the oldest one.
    init(maximumCount: Int = 256) {
        self.maximumCount = maximumCount
    }

    /// Adds a store that was opened.
    ///
    /// - `owner`: the object that has it open. It must not be in its deallocation, because a weak reference to
    ///   it is formed.
    func add(_ store: SeenStore, openIn owner: AnyObject, by test: RunningTest?) {
        let entry = Entry(
            store: store, owner: ObjectIdentifier(owner),
            references: References(owner: owner, user: test, isRemoved: false))
        entries.withLock { $0.append(entry) }
        forget()
    }

    /// Marks a store as closed.
    func remove(_ store: SeenStore, from owner: ObjectIdentifier, by test: RunningTest?) {
        let known = entries.withLock { $0 }.filter { $0.owner == owner && $0.store == store }
        for entry in known {
            let removed = Entry(
                store: store, owner: owner,
                references: References(
                    owner: nil, user: test ?? entry.references.runningUser, isRemoved: true))
            entries.withLock { entries in
                guard let index = entries.firstIndex(where: { $0.references === entry.references })
                else { return }
                entries[index] = removed
            }
        }
        forget()
    }

    /// Forgets what isn't needed any more, and what exceeds the limit.
    @discardableResult
    private func forget() -> [Entry] {
        let all = entries.withLock { $0 }
        var needed = all.filter(\.references.isNeeded)
        while needed.count > maximumCount {
            needed.remove(at: needed.firstIndex { $0.references.openOwner == nil } ?? 0)
        }
        if needed.count == all.count { return all }
        // Others may have been added in the meantime.
        let gone = Set(all.map { ObjectIdentifier($0.references) })
            .subtracting(needed.map { ObjectIdentifier($0.references) })
        entries.withLock { entries in
            entries.removeAll { gone.contains(ObjectIdentifier($0.references)) }
        }
        return needed
    }

    /// The objects that have stores open, without repetitions.
    var owners: [AnyObject] {
        var owners: [AnyObject] = []
        for entry in entries.withLock({ $0 }) {
            guard let owner = entry.references.openOwner, !owners.contains(where: { $0 === owner })
            else { continue }
            owners.append(owner)
        }
        return owners
    }

    /// Returns the test that opened a store; nil if it has ended or isn't known.
    func user(of store: SeenStore, in owner: AnyObject) -> RunningTest? {
        entries.withLock { $0 }
            .last { $0.owner == ObjectIdentifier(owner) && $0.store == store && $0.references.isNeeded }?
            .references.runningUser
    }

    /// Lists the closed stores of tests that have not ended.
    func closedStores(besides openPaths: Set<String>) -> [AdapterStore] {
        var stores: [AdapterStore] = []
        var known = openPaths
        for entry in forget().reversed() where entry.references.openOwner == nil {
            guard let user = entry.references.runningUser else { continue }
            if let reason = entry.store.reasonForNoContent {
                stores.append(
                    AdapterStore(
                        describedAt: entry.store.path, named: entry.store.name,
                        because: reason + " It was closed before the failure.", usedBy: user))
            } else if let path = entry.store.path, known.insert(path).inserted {
                stores.append(
                    AdapterStore(path: path, usedBy: user, isClosed: true) {
                        CoreDataFacts.externalFiles(ofStoreAt: path)
                    })
            }
        }
        return stores.reversed()
    }

    /// The number of stores that are kept.
    var count: Int { entries.withLock { $0.count } }
}

/// Facts about Core Data's stores that the adapter derives without Core Data, so that every platform tests them.
enum CoreDataFacts {
    /// Returns the description of a store.
    static func describe(type: String, url: URL?) -> SeenStore {
        let path = url.flatMap { $0.isFileURL ? $0.path(percentEncoded: false) : nil }
        let isNull = path == "/dev/null"
        let stem = path.map { Path.stem(of: Path.name(of: $0)) } ?? ""
        let name = isNull || stem.isEmpty ? "memory" : stem
        let reason: String? =
            switch (type, path) {
            case ("SQLite", nil): "It has no file."
            case ("SQLite", _) where isNull:
                "Its file is /dev/null, so SQLite keeps it in memory, and Core Data cannot copy it."
            case ("SQLite", _): nil
            case ("InMemory", _): "Core Data keeps it in memory and cannot copy it."
            default: "It is of the type '\(type)', which is not an SQLite database."
            }
        return SeenStore(
            path: type == "InMemory" ? nil : path, name: type == "InMemory" ? "memory" : name,
            reasonForNoContent: reason)
    }

    /// Returns the externally stored values in the hidden folder beside a store, under names that aren't hidden.
    static func externalFiles(ofStoreAt path: String) -> [AdapterStore.ExternalFile] {
        let name = Path.stem(of: Path.name(of: path))
        let folder = Path.join(Path.directory(of: path), ".\(name)_SUPPORT/_EXTERNAL_DATA")
        let files = (try? FileSystem.contents(ofDirectory: folder)) ?? []
        return files.sorted().map { file in
            AdapterStore.ExternalFile(
                name: "\(name)_EXTERNAL_DATA-\(file)", path: Path.join(folder, file))
        }
    }
}
