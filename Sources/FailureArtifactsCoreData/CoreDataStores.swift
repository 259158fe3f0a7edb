#if canImport(CoreData)
internal import CoreData
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem

/// The stores of all coordinators of the process, found by their notifications.
enum CoreDataStores {
    /// A coordinator that may be gone.
    private struct Coordinator {
        weak var object: NSPersistentStoreCoordinator?
    }

    private static let coordinators = Lock<[Coordinator]>([])

    /// Listens from now on; once is enough.
    static let isInstalled: Bool = {
        let names: [Notification.Name] = [
            .NSPersistentStoreCoordinatorStoresDidChange, .NSPersistentStoreCoordinatorWillRemoveStore,
        ]
        for name in names {
            _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { note in
                if let coordinator = note.object as? NSPersistentStoreCoordinator { add(coordinator) }
            }
        }
        CaptureSession.shared.addSource { stores() }
        return true
    }()

    private static func add(_ coordinator: NSPersistentStoreCoordinator) {
        var paths: [String] = []
        for store in coordinator.persistentStores {
            if let url = file(of: store) { paths.append(url.path(percentEncoded: false)) }
        }
        let added = Coordinator(object: coordinator)
        coordinators.withLock { known in
            known.removeAll { $0.object == nil || $0.object === added.object }
            known.append(added)
        }
        // A test that opens a store owns it, and has it in its journal should the process die.
        guard let test = CaptureSession.shared.currentTest else { return }
        for path in paths { CaptureSession.shared.storeOpened(path, by: test) }
    }

    /// The file of a store of SQLite; nil for others, and for one at `/dev/null`, which has none.
    private static func file(of store: NSPersistentStore) -> URL? {
        guard store.type == NSSQLiteStoreType, let url = store.url, url.isFileURL,
            url.path(percentEncoded: false) != "/dev/null"
        else { return nil }
        return url
    }

    private static func stores() -> [LibraryStore] {
        var result: [LibraryStore] = []
        for coordinator in coordinators.withLock(\.self).compactMap(\.object) {
            let model = coordinator.managedObjectModel
            for store in coordinator.persistentStores {
                guard let url = file(of: store) else { continue }
                let source = CoreDataCopy(url: url, options: store.options, model: model)
                result.append(
                    LibraryStore(path: url.path(percentEncoded: false)) { try source.copy(to: $0) })
            }
        }
        return result
    }
}

/// Called by C when the process starts.
@_cdecl("failure_artifacts_core_data_install")
func installAtProcessStart() {
    _ = CoreDataStores.isInstalled
}
#endif
