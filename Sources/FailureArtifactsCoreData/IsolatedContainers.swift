#if canImport(CoreData)
internal import CoreData
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
internal import FailureArtifactsTestKit

/// Containers with stores in a directory of their own, which are closed and removed together.
///
/// One thread at a time uses it.
final class IsolatedContainers: @unchecked Sendable {
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
#endif
