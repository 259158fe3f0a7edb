public import XCTest

/// A base class for tests that share one store, and that each have to leave it unchanged.
///
/// ```swift
/// let stations = SharedStore<SQLiteTestStore>(.script("CREATE TABLE station (name TEXT)"))
///
/// final class StationTests: SharedStoreTestCase<SQLiteTestStore> {
///     override class var sharedStore: SharedStore<SQLiteTestStore> { stations }
///
///     override func tearDownWithError() throws { try store.deleteAllRows() }
/// }
/// ```
///
/// The store is compared after a test's teardown, unless the test has failed already. A test that leaves changes fails,
/// and the next test finds the store unchanged.
open class SharedStoreTestCase<Store: TestStore>: XCTestCase {
    // Set before and after the test by the thread that runs it.
    nonisolated(unsafe) private var opened: Store?

    /// The store that the tests of this class use.
    ///
    /// Subclasses must override this property.
    open class var sharedStore: SharedStore<Store> {
        preconditionFailure("\(self) must override 'sharedStore' of SharedStoreTestCase.")
    }

    /// A Boolean value that indicates whether a test ends at its first failure; by default false.
    ///
    /// Override this property instead of setting `continueAfterFailure` in `setUp`. The kit sets that property before
    /// `setUp`. On Linux it has no effect: XCTest goes on after a failure.
    open var stopsAtFirstFailure: Bool { false }

    /// The shared store.
    ///
    /// Available from `setUp` to the end of the teardown, on any thread; reading it at another time is a programming
    /// error.
    public var store: Store {
        guard let opened else {
            preconditionFailure("'store' of SharedStoreTestCase is available only while a test runs.")
        }
        return opened
    }

    /// Runs the test with its setup and teardown, and then checks that the store is unchanged.
    ///
    /// XCTest calls this method.
    open override func invokeTest() {
        let shared = Self.sharedStore
        do {
            opened = try shared.beginAlone()
        } catch {
            XCTFail(TestStoreError.text(error), file: shared.file, line: shared.line)
            return
        }
        invoke(stoppingAtFirstFailure: stopsAtFirstFailure) { super.invokeTest() }
        opened = nil
        do {
            try shared.endAlone(of: name, hasFailed: (testRun?.totalFailureCount ?? 0) > 0)
        } catch {
            XCTFail(TestStoreError.text(error), file: shared.file, line: shared.line)
        }
    }
}
