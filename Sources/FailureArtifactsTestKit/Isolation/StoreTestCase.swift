internal import FailureArtifactsCapture
public import Foundation
public import XCTest

/// A base class for tests that each have a store of their own.
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
/// The store is in a new directory. It is opened before `setUp`, and closed and removed after the whole teardown, when
/// every failure has been captured. If it cannot be opened, the test fails with the reason, and neither `setUp` nor the
/// test runs.
open class StoreTestCase<Store: TestStore>: XCTestCase {
    // Set before and after the test by the thread that runs it.
    nonisolated(unsafe) private var stores: IsolatedStores<Store>?
    nonisolated(unsafe) private var opened: Store?

    /// The store's initial content; by default empty.
    ///
    /// Override this property to give the store a schema and rows.
    open var content: StoreContent<Store> { .empty }

    /// The store's placement; by default ``StorePlacement/standard``.
    ///
    /// Override this property to choose another placement.
    open var placement: StorePlacement { .standard }

    /// The store's name in a bundle; by default `store`.
    ///
    /// Override this property to choose another name.
    open var storeName: String { "store" }

    /// A Boolean value that indicates whether the store's invariants are checked after each test; by default false.
    ///
    /// Override this property to check them as ``assertInvariants(of:in:file:line:)-(TestStore,_,_,_)`` does. They are
    /// checked after the teardown, unless the test has failed already.
    open var checksInvariants: Bool { false }

    /// The directory of the invariants; by default the one that `FAILURE_ARTIFACTS_INVARIANTS` names.
    ///
    /// Override this property to use another directory, such as one of the test's resources.
    open var invariants: URL? { CaptureConfiguration.current.invariants }

    /// A Boolean value that indicates whether a test ends at its first failure; by default false.
    ///
    /// Override this property instead of setting `continueAfterFailure` in `setUp`. The kit sets that property before
    /// `setUp`. On Linux it has no effect: XCTest goes on after a failure.
    open var stopsAtFirstFailure: Bool { false }

    /// The test's store.
    ///
    /// Available from `setUp` to the end of the teardown, on any thread; reading it at another time is a programming
    /// error.
    public var store: Store {
        guard let opened else {
            preconditionFailure("'store' of StoreTestCase is available only while a test runs.")
        }
        return opened
    }

    /// A directory for other files of the test.
    ///
    /// It exists from `setUp` to the end of the teardown; reading this property at another time is a programming
    /// error.
    public var directory: URL {
        guard let stores else {
            preconditionFailure("'directory' of StoreTestCase is available only while a test runs.")
        }
        return stores.directory
    }

    /// Opens the store, runs the test with its setup and teardown, and then closes and removes the store.
    ///
    /// XCTest calls this method.
    open override func invokeTest() {
        do {
            let stores = try IsolatedStores<Store>(
                named: SafeFileName.ofCurrentTest, placement: placement)
            self.stores = stores
            opened = try stores.open(storeName, content)
            invoke(stoppingAtFirstFailure: stopsAtFirstFailure) { super.invokeTest() }
            if checksInvariants, let opened, (testRun?.totalFailureCount ?? 0) == 0 {
                assertInvariants(of: opened, in: invariants)
            }
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

extension XCTestCase {
    /// Runs a test with its setup and teardown, and stops it at its first failure if that is wanted and possible.
    package func invoke(stoppingAtFirstFailure stops: Bool, _ body: () -> Void) {
        if stops { continueAfterFailure = false }
        body()
        // On Apple platforms, recording a failure leaves the caller by an exception while this property is false. The
        // caller has yet to close stores, and may record failures meanwhile.
        continueAfterFailure = true
    }
}
