#if canImport(CoreData)
public import CoreData
public import FailureArtifactsTestKit
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
public import XCTest

/// Tests of which each has a container with a store of its own.
///
/// ```swift
/// final class FruitTests: CoreDataTestCase<NSPersistentContainer> {
///     static let fruits = NSManagedObjectModel(contentsOf: modelURL)!
///
///     override var model: NSManagedObjectModel { Self.fruits }
///
///     func test_CoreData内の果物を更新できる() throws {
///         let fruit = Fruit(context: context)
///         fruit.name = "りんご"
///         try context.save()
///     }
/// }
/// ```
///
/// The store is in a new directory, open before `setUp`, and removed from its coordinator and deleted after the last
/// of the teardown, when every failure has been captured. Where it cannot be loaded, the test fails with the reason,
/// and neither `setUp` nor the test is run.
open class CoreDataTestCase<P: NSPersistentContainer>: XCTestCase {
    // Set before and after the test by the thread that runs it.
    nonisolated(unsafe) private var loaded: P?
    nonisolated(unsafe) private var folder: URL?

    // MARK: To be overridden

    /// The model, which is to be the same object for all tests: Core Data takes two models for two sets of classes.
    open var model: NSManagedObjectModel {
        preconditionFailure("\(type(of: self)) is to override 'model' of CoreDataTestCase.")
    }

    /// What the store is called in a bundle; by default `store`.
    open var storeName: String { "store" }

    /// Whether the store is a file.
    ///
    /// By default what `FAILURE_ARTIFACTS_TEST_STORES` says, or a file. One in memory is at `/dev/null`, as Apple
    /// advises, and is not captured: Core Data has no way to copy it.
    open var placement: StorePlacement { .standard }

    /// Creates the container, with no store loaded.
    ///
    /// To be overridden where `P` is a class of the application's.
    open func makeContainer(name: String, model: NSManagedObjectModel) throws -> P {
        guard let container = NSPersistentContainer(name: name, managedObjectModel: model) as? P else {
            throw TestStoreError(
                .cannotStart,
                "\(type(of: self)) is to override 'makeContainer(name:model:)', which creates a \(P.self)."
            )
        }
        return container
    }

    /// Changes how the store is opened, such as its options; by default nothing.
    open func configure(_ description: NSPersistentStoreDescription) {}

    /// Puts the objects into the store that each test starts with, and saves; by default none.
    open func prepare(_ context: NSManagedObjectContext) throws {}

    // MARK: To be used

    /// The test's container, from `setUp` to the end of the teardown.
    public var container: P {
        guard let loaded else {
            preconditionFailure(
                "'container' of CoreDataTestCase is there while a test runs, and none does.")
        }
        return loaded
    }

    /// The container's context for the main queue.
    public var context: NSManagedObjectContext { container.viewContext }

    /// A directory of the test's own, from `setUp` to the end of the teardown, for other files it needs.
    public var directory: URL {
        guard let folder else {
            preconditionFailure(
                "'directory' of CoreDataTestCase is there while a test runs, and none does.")
        }
        return folder
    }

    // MARK: Around each test

    /// Loads the store, runs the test with its setup and teardown, removes the store.
    ///
    /// Called by XCTest.
    open override func invokeTest() {
        do {
            let name = SafeFileName.ofCurrentTest
            let path = try FileSystem.createUniqueDirectory(
                in: FileManager.default.temporaryDirectory.path(percentEncoded: false),
                prefix: name + "-")
            folder = URL(filePath: path, directoryHint: .isDirectory)
            let container = try makeContainer(name: name, model: model)
            loaded = container
            try load(container)
            try prepare(container.viewContext)
            super.invokeTest()
        } catch {
            XCTFail("The store '\(storeName)' could not be opened for the test: \(error)")
        }
        end()
    }

    private func load(_ container: P) throws {
        let file = directory.appending(path: SafeFileName.make(from: storeName) + ".sqlite")
        let url = placement == .onDisk ? file : URL(filePath: "/dev/null")
        let description = NSPersistentStoreDescription(url: url)
        description.shouldAddStoreAsynchronously = false
        configure(description)
        container.persistentStoreDescriptions = [description]
        if placement == .onDisk { CurrentTest.register(storeAt: file, named: storeName) }
        // The store is not added asynchronously: the closure is called before this returns.
        nonisolated(unsafe) var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        if let failure { throw failure }
    }

    /// Takes the stores from their coordinator before their files are gone.
    private func end() {
        if let coordinator = loaded?.persistentStoreCoordinator {
            loaded?.viewContext.reset()
            for store in coordinator.persistentStores {
                do {
                    try coordinator.remove(store)
                } catch {
                    XCTFail("The store '\(storeName)' could not be closed: \(error)")
                }
            }
        }
        loaded = nil
        if let folder { try? FileManager.default.removeItem(at: folder) }
        folder = nil
    }
}
#endif
