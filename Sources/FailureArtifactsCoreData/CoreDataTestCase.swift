#if canImport(CoreData)
public import CoreData
public import FailureArtifactsTestKit
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
public import XCTest

/// A base class for tests that each have a container with a store of their own.
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
/// The store is in a new directory and loaded before `setUp`. After the whole teardown, when every failure has been
/// captured, it is removed from its coordinator and deleted. If it cannot be loaded, the test fails with the reason, and
/// neither `setUp` nor the test runs.
open class CoreDataTestCase<P: NSPersistentContainer>: XCTestCase {
    // Set before and after the test by the thread that runs it.
    nonisolated(unsafe) private var loaded: P?
    nonisolated(unsafe) private var folder: URL?

    // MARK: Overridden by subclasses

    /// The model; subclasses must override this property.
    ///
    /// Return the same object for all tests: to Core Data, each model has a set of classes of its own.
    open var model: NSManagedObjectModel {
        preconditionFailure("\(type(of: self)) must override 'model' of CoreDataTestCase.")
    }

    /// The store's name in a bundle; by default `store`.
    open var storeName: String { "store" }

    /// The store's placement; by default `StorePlacement.standard`.
    ///
    /// A store in memory is at `/dev/null`, as Apple advises. It isn't captured, because Core Data cannot copy it.
    open var placement: StorePlacement { .standard }

    /// Creates the container without loading a store.
    ///
    /// Override this method if `P` is one of the application's classes.
    ///
    /// - Parameters:
    ///   - name: The container's name.
    ///   - model: The container's model.
    /// - Returns: The container.
    /// - Throws: A `TestStoreError` if `P` isn't `NSPersistentContainer`, or an error of the override; the test fails
    ///   with it.
    open func makeContainer(name: String, model: NSManagedObjectModel) throws -> P {
        guard let container = NSPersistentContainer(name: name, managedObjectModel: model) as? P else {
            throw TestStoreError(
                .cannotStart,
                "\(type(of: self)) must override 'makeContainer(name:model:)' to create a \(P.self).")
        }
        return container
    }

    /// Changes the description that the store is loaded with, such as its options; by default has no effect.
    ///
    /// - Parameter description: The store's description.
    open func configure(_ description: NSPersistentStoreDescription) {}

    /// Creates and saves the objects that each test starts with; by default none.
    ///
    /// - Parameter context: The container's context for the main queue.
    /// - Throws: An error of the override; the test fails with it.
    open func prepare(_ context: NSManagedObjectContext) throws {}

    // MARK: Used by tests

    /// The test's container.
    ///
    /// Available from `setUp` to the end of the teardown; reading it at another time is a programming error.
    public var container: P {
        guard let loaded else {
            preconditionFailure("'container' of CoreDataTestCase is available only while a test runs.")
        }
        return loaded
    }

    /// The container's context for the main queue; available as long as ``container``.
    public var context: NSManagedObjectContext { container.viewContext }

    /// A directory for other files of the test; it exists from `setUp` to the end of the teardown.
    public var directory: URL {
        guard let folder else {
            preconditionFailure("'directory' of CoreDataTestCase is available only while a test runs.")
        }
        return folder
    }

    // MARK: Around each test

    /// Loads the store, runs the test with its setup and teardown, and then removes the store.
    ///
    /// XCTest calls this method.
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
        // The store isn't added asynchronously, so this calls the closure before it returns.
        nonisolated(unsafe) var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        if let failure { throw failure }
    }

    /// Removes the stores from their coordinator, and then deletes their files.
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
