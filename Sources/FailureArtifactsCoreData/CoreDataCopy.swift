#if canImport(CoreData)
internal import CoreData
internal import FailureArtifactsCapture

/// A copy of a store by `replacePersistentStore`, which honors the store's locks and journals, as Apple advises.
///
/// Created on the thread of one failure. A thread of its own makes the copy, while the first one waits for it.
struct CoreDataCopy: @unchecked Sendable {
    private let url: URL
    private let model: NSManagedObjectModel
    private let sourceOptions: [AnyHashable: Any]?
    private let destinationOptions: [AnyHashable: Any]?

    /// Prepares a copy.
    init(url: URL, options: [AnyHashable: Any]?, model: NSManagedObjectModel) {
        self.url = url
        self.model = model
        // Without the store's own pragmas and its read-only option, opening it could change its journal mode.
        sourceOptions = CoreDataFacts.options(
            [
                NSPersistentHistoryTrackingKey, NSReadOnlyPersistentStoreOption,
                NSSQLitePragmasOption,
            ], of: options)
        // Without this option, Core Data opens a store with persistent history read-only.
        destinationOptions = CoreDataFacts.options([NSPersistentHistoryTrackingKey], of: options)
    }

    /// Copies the store.
    ///
    /// A separate coordinator does it, so that the copy doesn't wait for the queue of the test's coordinator.
    func copy(to target: String) throws -> [LibraryStore.ExternalFile] {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.replacePersistentStore(
            at: URL(filePath: target), destinationOptions: destinationOptions,
            withPersistentStoreFrom: url, sourceOptions: sourceOptions, type: .sqlite)
        return CoreDataFacts.externalFiles(ofStoreAt: target)
    }
}
#endif
