public import XCTest

/// Tests that share one store, each of which has to leave it as it was.
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
/// What a test has left is looked for after its teardown; a test that has failed already is not looked at.
open class SharedStoreTestCase<Store: TestStore>: XCTestCase {
    // Set before and after the test by the thread that runs it.
    nonisolated(unsafe) private var opened: Store?

    /// The store that the tests of this class use: to be overridden.
    open class var sharedStore: SharedStore<Store> {
        preconditionFailure("\(self) is to override 'sharedStore' of SharedStoreTestCase.")
    }

    /// The store, from `setUp` to the end of the teardown, on any thread.
    public var store: Store {
        guard let opened else {
            preconditionFailure(
                "'store' of SharedStoreTestCase is there while a test runs, and none does.")
        }
        return opened
    }

    /// Runs the test with its setup and teardown, and looks for what it has left.
    ///
    /// Called by XCTest.
    open override func invokeTest() {
        let shared = Self.sharedStore
        do {
            opened = try shared.beginAlone()
        } catch {
            XCTFail(TestStoreError.text(error))
            return
        }
        super.invokeTest()
        opened = nil
        do {
            try shared.endAlone(of: name, hasFailed: (testRun?.totalFailureCount ?? 0) > 0)
        } catch {
            XCTFail(TestStoreError.text(error))
        }
    }
}
