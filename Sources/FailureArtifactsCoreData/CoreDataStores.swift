#if canImport(CoreData)
internal import CoreData
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem

/// The stores of all coordinators in the process, found by the coordinators' notifications.
enum CoreDataStores {
    /// A weak reference to a coordinator.
    private struct Coordinator {
        weak var object: NSPersistentStoreCoordinator?
    }

    private static let coordinators = Lock<[Coordinator]>([])

    /// Registers for the notifications once; always true.
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
        // The journal names the store with its test, in case the process dies.
        guard let test = CaptureSession.shared.currentTest else { return }
        for path in paths { CaptureSession.shared.storeOpened(path, by: test) }
    }

    /// Returns the file of a SQLite store; nil for other stores, and for a store at `/dev/null`, which has no file.
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

/// Starts to observe Core Data; called by C at process start.
@_cdecl("failure_artifacts_core_data_install")
func installAtProcessStart() {
    _ = CoreDataStores.isInstalled
}
#endif
