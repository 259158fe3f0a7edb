#if canImport(CoreData)
public import CoreData
public import FailureArtifactsTestKit
public import XCTest

/// A base class for tests that each have a container with a store of their own.
///
/// ```swift
/// final class FruitTests: CoreDataTestCase<NSPersistentContainer> {
///     override var modelBundle: Bundle { .module }
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
    nonisolated(unsafe) private var stores: IsolatedContainers?

    // MARK: Overridden by subclasses

    /// The bundle with the compiled model; by default the one that contains the test's class.
    ///
    /// In a package, override this property with `.module`, the bundle of the target's resources.
    open var modelBundle: Bundle { Bundle(for: type(of: self)) }

    /// The model; by default the only one in ``modelBundle``, in its current version.
    ///
    /// Override this property to use another model or version; see ``CoreDataModel/load(_:version:in:)``. Return the same
    /// object for all tests: to Core Data, each model has a set of classes of its own. If it throws, the test fails with
    /// the error.
    open var model: NSManagedObjectModel {
        get throws { try CoreDataModel.load(in: modelBundle) }
    }

    /// The store's name in a bundle; by default `store`.
    open var storeName: String { "store" }

    /// The store's placement; by default `StorePlacement.standard`.
    ///
    /// A SQLite store in memory is at `/dev/null`, as in Xcode's templates, for both placements in memory. A bundle only
    /// describes it, because Core Data cannot copy it.
    open var placement: StorePlacement { .standard }

    /// The store's type; by default `.sqlite`.
    ///
    /// With `.inMemory`, Core Data keeps the objects in memory without SQLite, whatever ``placement`` is. A bundle
    /// only describes such a store. It has no batch requests.
    open var storeType: NSPersistentStore.StoreType { .sqlite }

    /// A Boolean value that indicates whether a test ends at its first failure; by default false.
    ///
    /// Override this property instead of setting `continueAfterFailure` in `setUp`. The kit sets that property before
    /// `setUp`.
    open var stopsAtFirstFailure: Bool { false }

    /// Creates the container without loading a store, by default with the initializer `init(name:managedObjectModel:)`.
    ///
    /// Override this method if `P` doesn't inherit that initializer. A Swift class that declares a designated initializer
    /// of its own inherits none, unless it overrides all of its superclass. Calling one that isn't inherited ends the
    /// process.
    ///
    /// - Parameters:
    ///   - name: The container's name.
    ///   - model: The container's model.
    /// - Returns: The container.
    /// - Throws: An error of the override; the test fails with it.
    open func makeContainer(name: String, model: NSManagedObjectModel) throws -> P {
        P(name: name, managedObjectModel: model)
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
        guard let stores else {
            preconditionFailure("'directory' of CoreDataTestCase is available only while a test runs.")
        }
        return stores.directory
    }

    // MARK: Around each test

    /// Loads the store, runs the test with its setup and teardown, and then removes the store.
    ///
    /// XCTest calls this method.
    open override func invokeTest() {
        do {
            let name = SafeFileName.ofCurrentTest
            let stores = try IsolatedContainers(named: name)
            self.stores = stores
            let container = try makeContainer(name: name, model: model)
            loaded = container
            try stores.load(
                container, named: storeName, placement: placement, type: storeType, configure: configure)
            try prepare(container.viewContext)
            invoke(stoppingAtFirstFailure: stopsAtFirstFailure) { super.invokeTest() }
        } catch {
            XCTFail(
                "The store '\(storeName)' could not be opened for the test: \(TestStoreError.text(error))"
            )
        }
        loaded?.viewContext.reset()
        loaded = nil
        do {
            try stores?.end()
        } catch {
            XCTFail(TestStoreError.text(error))
        }
        stores = nil
    }
}
#endif
