#if canImport(CoreData)
internal import CoreData
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem

/// How a store is copied: as Apple advises, by `replacePersistentStore`, which honours its locks and journals.
///
/// Made and used on the thread of one failure.
struct CoreDataCopy: @unchecked Sendable {
    let url: URL
    /// The store's own: without them a store with persistent history, for one, is opened for reading only.
    let options: [AnyHashable: Any]?
    let model: NSManagedObjectModel

    /// Copies the store.
    ///
    /// A coordinator of its own is used, so that nobody waits for the queue of the test's.
    ///
    /// - Parameter target: A path in a new directory.
    /// - Returns: The files of values that are stored externally.
    /// - Throws: Why Core Data does not copy it. That it left nothing is no error to Core Data.
    func copy(to target: String) throws -> [LibraryStore.ExternalFile] {
        let destination = URL(filePath: target)
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.replacePersistentStore(
            at: destination, destinationOptions: options, withPersistentStoreFrom: url,
            sourceOptions: options, type: .sqlite)
        return Self.externalFiles(of: destination)
    }

    /// The values in the hidden folder beside a store, by names that are not hidden.
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
