#if canImport(CoreData)
public import CoreData
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
public import FailureArtifactsTestKit
public import XCTest

/// One container that several tests use in turn, and that each has to leave without objects.
///
/// ```swift
/// let fruits = SharedContainer(named: "fruits") {
///     NSPersistentContainer(name: "Fruits", managedObjectModel: try CoreDataModel.load("Fruits", in: .module))
/// }
/// ```
///
/// The first test loads the container's store, which is empty. It is removed when the process exits. A test that leaves
/// objects, or unsaved changes in `viewContext`, fails with an error that names the test. The next test finds an empty
/// store in the same container. Use it with ``SharedCoreDataTestCase``.
public final class SharedContainer<P: NSPersistentContainer>: @unchecked Sendable {
    // Sendable, although containers are not: only the test that has set `isInUse` uses the other variables.
    private struct Opened {
        let container: P
        var stores: IsolatedContainers
        /// True if the store must be replaced before the next test, because the last one failed.
        var isDirty = false
    }

    /// The place of the description, to which failures point.
    let file: StaticString
    let line: UInt
    private let name: String
    private let placement: StorePlacement
    private let storeType: NSPersistentStore.StoreType
    private let configure: @Sendable (NSPersistentStoreDescription) throws -> Void
    private let makeContainer: @Sendable () throws -> P
    private let isInUse = Lock(false)
    private var opened: Opened?

    /// Describes a container, without creating it.
    ///
    /// - Parameters:
    ///   - name: The store's name in a bundle.
    ///   - placement: The store's placement; see ``CoreDataTestCase/placement``.
    ///   - storeType: The store's type; see ``CoreDataTestCase/storeType``.
    ///   - file: The file to which failures of ``SharedCoreDataTestCase`` point.
    ///   - line: The line in that file.
    ///   - configure: A closure that changes the description that the store is loaded with, such as its options.
    ///   - makeContainer: A closure that creates the container without loading a store. An error that it throws fails the
    ///     test.
    public init(
        named name: String = "shared", placement: StorePlacement = .standard,
        storeType: NSPersistentStore.StoreType = .sqlite,
        file: StaticString = #filePath, line: UInt = #line,
        configure: @escaping @Sendable (NSPersistentStoreDescription) throws -> Void = { _ in },
        makeContainer: @escaping @Sendable () throws -> P
    ) {
        self.file = file
        self.line = line
        self.name = name
        self.placement = placement
        self.storeType = storeType
        self.configure = configure
        self.makeContainer = makeContainer
    }

    /// Loads the store, or replaces it after a failure, for a test that runs alone.
    func begin() throws -> P {
        let isFree = isInUse.withLock { isInUse in
            defer { isInUse = true }
            return !isInUse
        }
        guard isFree else {
            throw TestStoreError(.cannotStart, "Another test is using the shared container '\(name)'.")
        }
        do {
            return try load()
        } catch {
            isInUse.withLock { $0 = false }
            throw TestStoreError(
                .cannotStart, "The shared container '\(name)' could not be loaded for the test",
                because: error)
        }
    }

    /// Checks that a test has left no objects.
    ///
    /// - `hasFailed`: true if the test has failed already; the store is then replaced instead of checked.
    func end(of test: String, hasFailed: Bool) throws {
        defer { isInUse.withLock { $0 = false } }
        guard let container = opened?.container else { return }
        opened?.isDirty = true
        defer { container.viewContext.reset() }
        guard !hasFailed else { return }
        let left = LeftObjects(
            counts: try container.countSavedObjects(),
            hasUnsavedChanges: container.viewContext.hasChanges)
        try left.check(after: test, in: name)
        opened?.isDirty = false
    }

    private func load() throws -> P {
        if let opened {
            guard opened.isDirty else {
                if placement == .onDisk, storeType == .sqlite {
                    CurrentTest.register(storeAt: opened.stores.file(of: name), named: name)
                }
                return opened.container
            }
            try opened.stores.end()
        }
        let stores = try IsolatedContainers(named: SafeFileName.make(from: name))
        let container = try opened?.container ?? makeContainer()
        try stores.load(
            container, named: name, placement: placement, type: storeType, configure: configure)
        opened = Opened(container: container, stores: stores)
        // At the exit, Core Data is left alone; only files remain to be removed.
        let directory = stores.directory
        ProcessExit.run { try? FileManager.default.removeItem(at: directory) }
        return container
    }
}

/// A base class for tests that share one container, and that each have to leave it without objects.
///
/// ```swift
/// final class FruitStorageTests: SharedCoreDataTestCase<NSPersistentContainer> {
///     override class var sharedContainer: SharedContainer<NSPersistentContainer> { fruits }
///
///     override func tearDownWithError() throws { try container.deleteAllObjects() }
/// }
/// ```
///
/// The objects are counted after a test's teardown, unless the test has failed already. A test that leaves objects
/// fails, and the next test finds none. The container is the same object for all tests, so an application's manager can
/// keep it.
open class SharedCoreDataTestCase<P: NSPersistentContainer>: XCTestCase {
    // Set before and after the test by the thread that runs it.
    nonisolated(unsafe) private var loaded: P?

    /// The container that the tests of this class use.
    ///
    /// Subclasses must override this property.
    open class var sharedContainer: SharedContainer<P> {
        preconditionFailure("\(self) must override 'sharedContainer' of SharedCoreDataTestCase.")
    }

    /// A Boolean value that indicates whether a test ends at its first failure; by default false.
    ///
    /// Override this property instead of setting `continueAfterFailure` in `setUp`. The kit sets that property before
    /// `setUp`.
    open var stopsAtFirstFailure: Bool { false }

    /// The shared container.
    ///
    /// Available from `setUp` to the end of the teardown; reading it at another time is a programming error.
    public var container: P {
        guard let loaded else {
            preconditionFailure(
                "'container' of SharedCoreDataTestCase is available only while a test runs.")
        }
        return loaded
    }

    /// The container's context for the main queue; available as long as ``container``.
    public var context: NSManagedObjectContext { container.viewContext }

    /// Runs the test with its setup and teardown, and then checks that no objects are left.
    ///
    /// XCTest calls this method.
    open override func invokeTest() {
        let shared = Self.sharedContainer
        do {
            loaded = try shared.begin()
        } catch {
            XCTFail(TestStoreError.text(error), file: shared.file, line: shared.line)
            return
        }
        invoke(stoppingAtFirstFailure: stopsAtFirstFailure) { super.invokeTest() }
        loaded = nil
        do {
            try shared.end(of: name, hasFailed: (testRun?.totalFailureCount ?? 0) > 0)
        } catch {
            XCTFail(TestStoreError.text(error), file: shared.file, line: shared.line)
        }
    }
}
#endif
