#if canImport(CoreData)
import CoreData
import FailureArtifactsCapture
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsCoreData

/// Stores that Core Data itself has made; run on a Mac only, by `Scripts/verify-on-mac`.
@Suite(.serialized, .timeLimit(.minutes(1))) final class CoreDataStoresTests {
    private let directory: String
    private var path: String { directory + "/Fruit.sqlite" }

    init() throws {
        #expect(CoreDataStores.isInstalled)
        directory = try FileSystem.createUniqueDirectory(
            in: FileManager.default.temporaryDirectory.path(percentEncoded: false),
            prefix: "core data tests ")
    }

    deinit { try? FileSystem.remove(directory) }

    private static func makeModel() -> NSManagedObjectModel {
        let name = NSAttributeDescription()
        name.name = "name"
        name.attributeType = .stringAttributeType
        name.isOptional = true
        let fruit = NSEntityDescription()
        fruit.name = "Fruit"
        fruit.properties = [name]
        let model = NSManagedObjectModel()
        model.entities = [fruit]
        return model
    }

    /// Loads a store with one object.
    private func makeContainer(type: String = NSSQLiteStoreType) throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Fruit", managedObjectModel: Self.makeModel())
        let description = NSPersistentStoreDescription(url: URL(filePath: path))
        description.type = type
        description.shouldAddStoreAsynchronously = false
        description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        if let failure { throw failure }
        let context = container.viewContext
        let fruit = NSEntityDescription.insertNewObject(forEntityName: "Fruit", into: context)
        fruit.setValue("apple", forKey: "name")
        try context.save()
        return container
    }

    private var foundPaths: [String?] { CoreDataStores.stores().map(\.path) }

    @Test func storesOfACoordinatorAreFound() throws {
        var container: NSPersistentContainer? = try makeContainer()
        #expect(foundPaths.contains(path))
        let coordinator = try #require(container?.persistentStoreCoordinator)
        for store in coordinator.persistentStores { try coordinator.remove(store) }
        #expect(!foundPaths.contains(path))
        container = nil
        #expect(!foundPaths.contains(path))
    }

    /// A coordinator posts notifications while it is deallocated, too.
    @Test func containersCanBeReleasedWithTheirStores() throws {
        for _ in 0..<20 { _ = try makeContainer() }
        #expect(!foundPaths.contains(path))
    }

    @Test func storesAreFoundWhileTheCoordinatorsQueueIsBusy() throws {
        let container = try makeContainer()
        nonisolated(unsafe) let coordinator = container.persistentStoreCoordinator
        let progress = Lock((isBusy: false, isReleased: false))
        #expect(
            Threads.detach {
                coordinator.performAndWait {
                    progress.withLock { $0.isBusy = true }
                    progress.wait { $0.isReleased ? () : nil }
                }
            })
        progress.wait { $0.isBusy ? () : nil }
        #expect(foundPaths.contains(path))
        progress.withLock { $0.isReleased = true }
    }

    @Test func storeInMemoryIsDescribed() throws {
        let container = try makeContainer(type: NSInMemoryStoreType)
        #expect(foundPaths.contains(nil))
        withExtendedLifetime(container) {}
    }
}
#endif
