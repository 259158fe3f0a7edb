public import Foundation
public import XCTest

/// Tests of which each has a store of its own.
///
/// ```swift
/// final class FruitTests: StoreTestCase<SQLiteTestStore> {
///     override var content: StoreContent<SQLiteTestStore> { .script("CREATE TABLE fruit (name TEXT)") }
///
///     func testPicking() throws {
///         try store.execute("INSERT INTO fruit VALUES ('apple')")
///         XCTAssertEqual(try store.value("SELECT count(*) FROM fruit"), 1)
///     }
/// }
/// ```
///
/// The store is in a new directory, open before `setUp`, and closed and removed after the last of the teardown,
/// when every failure has been captured. Where it cannot be opened, the test fails with the reason, and neither
/// `setUp` nor the test is run.
open class StoreTestCase<Store: TestStore>: XCTestCase {
    // Set before and after the test by the thread that runs it.
    nonisolated(unsafe) private var stores: IsolatedStores<Store>?
    nonisolated(unsafe) private var opened: Store?

    /// What the store holds at the start: to be overridden.
    ///
    /// By default nothing.
    open var content: StoreContent<Store> { .empty }

    /// Where the store is put: to be overridden.
    ///
    /// By default what `FAILURE_ARTIFACTS_TEST_STORES` says, or a file.
    open var placement: StorePlacement { .standard }

    /// What the store is called in a bundle: to be overridden.
    ///
    /// By default `store`.
    open var storeName: String { "store" }

    /// The test's store, from `setUp` to the end of the teardown, on any thread.
    public var store: Store {
        guard let opened else {
            preconditionFailure("'store' of StoreTestCase is there while a test runs, and none does.")
        }
        return opened
    }

    /// A directory of the test's own, from `setUp` to the end of the teardown, for other files it needs.
    public var directory: URL {
        guard let stores else {
            preconditionFailure(
                "'directory' of StoreTestCase is there while a test runs, and none does.")
        }
        return stores.directory
    }

    /// Opens the store, runs the test with its setup and teardown, closes and removes the store.
    ///
    /// Called by XCTest.
    open override func invokeTest() {
        do {
            let stores = try IsolatedStores<Store>(
                named: SafeFileName.ofCurrentTest, placement: placement)
            self.stores = stores
            opened = try stores.open(storeName, content)
            super.invokeTest()
        } catch {
            XCTFail(TestStoreError.text(error))
        }
        opened = nil
        do {
            try stores?.end()
        } catch {
            XCTFail(TestStoreError.text(error))
        }
        stores = nil
    }
}
