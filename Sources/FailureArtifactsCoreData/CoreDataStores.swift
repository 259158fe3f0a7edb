#if canImport(CoreData)
internal import CoreData
internal import FailureArtifactsCapture

/// The stores of all coordinators in the process, found by the coordinators' notifications.
///
/// Only `…StoresDidChange` is observed. `…WillRemoveStore` is also posted while a coordinator is deallocated, when forming
/// a weak reference to it would end the process. For the same reason, a weak reference is formed only when a store was
/// added, which does not happen in a deallocation.
enum CoreDataStores {
    /// The stores seen so far.
    private static let seen = SeenStores()

    /// Registers for the notification once; always true.
    static let isInstalled: Bool = {
        _ = NotificationCenter.default.addObserver(
            forName: .NSPersistentStoreCoordinatorStoresDidChange, object: nil, queue: nil
        ) { note in
            guard let coordinator = note.object as? NSPersistentStoreCoordinator else { return }
            let removed = note.userInfo?[NSRemovedPersistentStoresKey] as? [NSPersistentStore] ?? []
            let added = note.userInfo?[NSAddedPersistentStoresKey] as? [NSPersistentStore] ?? []
            if !removed.isEmpty { remove(removed, from: ObjectIdentifier(coordinator)) }
            if !added.isEmpty { add(added, openIn: coordinator) }
        }
        CaptureSession.shared.addSource { stores() }
        return true
    }()

    private static func add(
        _ stores: [NSPersistentStore], openIn coordinator: NSPersistentStoreCoordinator
    ) {
        let test = CaptureSession.shared.currentTest
        for store in stores.map(describe) {
            seen.add(store, openIn: coordinator, by: test)
            // The in-flight list names the store with its test, in case the process dies.
            guard let test, let path = store.path, store.reasonForNoContent == nil else {
                continue
            }
            CaptureSession.shared.storeOpened(path, by: test)
        }
    }

    private static func remove(_ stores: [NSPersistentStore], from coordinator: ObjectIdentifier) {
        let test = CaptureSession.shared.currentTest
        for store in stores.map(describe) { seen.remove(store, from: coordinator, by: test) }
    }

    private static func describe(_ store: NSPersistentStore) -> SeenStore {
        CoreDataFacts.describe(type: store.type, url: store.url)
    }

    /// Returns the stores of the coordinators that exist, and the closed stores of tests that run.
    static func stores() -> [AdapterStore] {
        var result: [AdapterStore] = []
        var openPaths: Set<String> = []
        for case let coordinator as NSPersistentStoreCoordinator in seen.owners {
            for store in coordinator.persistentStores {
                let description = describe(store)
                let user = seen.user(of: description, in: coordinator)
                if let reason = description.reasonForNoContent {
                    result.append(
                        AdapterStore(
                            describedAt: description.path, named: description.name, because: reason,
                            usedBy: user))
                } else if let path = description.path {
                    openPaths.insert(path)
                    result.append(
                        AdapterStore(
                            path: path, usedBy: user,
                            externalFiles: { CoreDataFacts.externalFiles(ofStoreAt: path) }))
                }
            }
        }
        return result + seen.closedStores(besides: openPaths)
    }
}

/// Starts to observe Core Data at process start; see ``AdapterInstaller``.
final class CoreDataInstaller: AdapterInstaller {
    static func install() { _ = CoreDataStores.isInstalled }
}
#endif
