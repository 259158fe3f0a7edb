#if canImport(CoreData)
public import CoreData
internal import FailureArtifactsTestKit
public import XCTest

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
