#if canImport(CoreData)
internal import CoreData
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem

/// A copy of a store by `replacePersistentStore`, which honors the store's locks and journals, as Apple advises.
///
/// Created and used on the thread of one failure.
struct CoreDataCopy: @unchecked Sendable {
    let url: URL
    /// The store's own options; without them Core Data opens, for example, a store with persistent history read-only.
    let options: [AnyHashable: Any]?
    let model: NSManagedObjectModel

    /// Copies the store.
    ///
    /// A separate coordinator does it, so that the copy doesn't wait for the queue of the test's coordinator.
    ///
    /// - Parameter target: A path in a new directory.
    /// - Returns: The files of values that are stored externally.
    /// - Throws: Core Data's error. A missing source isn't an error to Core Data: no copy appears then.
    func copy(to target: String) throws -> [LibraryStore.ExternalFile] {
        let destination = URL(filePath: target)
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.replacePersistentStore(
            at: destination, destinationOptions: options, withPersistentStoreFrom: url,
            sourceOptions: options, type: .sqlite)
        return Self.externalFiles(of: destination)
    }

    /// Returns the externally stored values in the hidden folder beside a store, under names that aren't hidden.
    static func externalFiles(of store: URL) -> [LibraryStore.ExternalFile] {
        let name = store.deletingPathExtension().lastPathComponent
        let folder = Path.join(
            Path.directory(of: store.path(percentEncoded: false)), ".\(name)_SUPPORT/_EXTERNAL_DATA")
        let files = (try? FileSystem.contents(ofDirectory: folder)) ?? []
        return files.sorted().map { file in
            LibraryStore.ExternalFile(
                name: "\(name)_EXTERNAL_DATA-\(file)", path: Path.join(folder, file))
        }
    }
}
#endif
