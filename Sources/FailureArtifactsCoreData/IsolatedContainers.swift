#if canImport(CoreData)
public import CoreData
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
internal import FailureArtifactsTestKit

/// Containers with stores in a directory of their own, which are closed and removed together.
///
/// One thread at a time uses it.
final class IsolatedContainers: IsolatedResources, @unchecked Sendable {
    /// The directory, which no other test uses.
    let directory: URL
    private var loaded: [NSPersistentContainer] = []

    /// Creates the directory.
    init(named name: String) throws {
        let path = try FileSystem.createUniqueDirectory(
            in: FileManager.default.temporaryDirectory.path(percentEncoded: false), prefix: name + "-")
        directory = URL(filePath: path, directoryHint: .isDirectory)
    }

    // After a thrown error, nothing else ends it.
    deinit {
        try? end()
    }

    /// Returns the file of the store with a name.
    func file(of name: String) -> URL {
        directory.appending(path: SafeFileName.make(from: name) + ".sqlite")
    }

    /// Loads a container's store.
    ///
    /// - `name`: the store's name in a bundle; unique among these containers.
    func load(
        _ container: NSPersistentContainer, named name: String, placement: StorePlacement,
        type: NSPersistentStore.StoreType,
        configure: (NSPersistentStoreDescription) throws -> Void
    ) throws {
        let isFile = placement == .onDisk && type != .inMemory
        let file = file(of: name)
        let description = NSPersistentStoreDescription(url: isFile ? file : URL(filePath: "/dev/null"))
        description.type = type.rawValue
        try configure(description)
        description.shouldAddStoreAsynchronously = false
        container.persistentStoreDescriptions = [description]
        if isFile, type == .sqlite { CurrentTest.register(storeAt: file, named: name) }
        loaded.append(container)
        // The store isn't added asynchronously, so this calls the closure before it returns.
        nonisolated(unsafe) var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        if let failure { throw failure }
    }

    /// Removes the stores from their coordinators, the last one first, and deletes the directory; later calls have no
    /// effect.
    func end() throws {
        var failure: (any Error)?
        for container in loaded.reversed() {
            let coordinator = container.persistentStoreCoordinator
            for store in coordinator.persistentStores {
                do {
                    try coordinator.remove(store)
                } catch {
                    failure = error
                }
            }
        }
        loaded = []
        try? FileManager.default.removeItem(at: directory)
        if let failure {
            throw TestStoreError(
                .cannotStart, "A store of the test could not be closed", because: failure)
        }
    }
}

extension NSPersistentContainer {
    /// Deletes all saved objects of all entities, and discards the changes that `viewContext` has not saved.
    ///
    /// The objects are deleted and saved together, in a context of their own: if the deletion fails, no object is deleted.
    /// The delete rules of the model apply. Stores of all types are supported. Call this method on the main thread while
    /// no other context uses the container.
    ///
    /// - Parameter kept: The names of entities whose objects stay, unless a delete rule deletes them.
    /// - Throws: Core Data's error if the objects cannot be fetched or deleted, such as by the delete rule Deny.
    public func deleteAllObjects(keeping kept: Set<String> = []) throws {
        let context = newBackgroundContext()
        try context.performAndWait {
            for name in entityNames where !kept.contains(name) {
                let request = Self.request(for: name)
                request.includesPropertyValues = false
                for object in try context.fetch(request) { context.delete(object) }
            }
            try context.save()
        }
        viewContext.reset()
    }

    /// Counts the saved objects of each entity.
    func countSavedObjects() throws -> [String: Int] {
        let context = newBackgroundContext()
        return try context.performAndWait {
            var counts: [String: Int] = [:]
            for name in entityNames { counts[name] = try context.count(for: Self.request(for: name)) }
            return counts
        }
    }

    private var entityNames: [String] { managedObjectModel.entities.compactMap(\.name) }

    /// Returns a request for the objects of one entity, without those of the entities that inherit from it.
    private static func request(for name: String) -> NSFetchRequest<NSManagedObject> {
        let request = NSFetchRequest<NSManagedObject>(entityName: name)
        request.includesSubentities = false
        return request
    }
}
#endif
