internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Foundation
public import XCTest

/// One store that several tests use in turn, and that each has to leave unchanged.
///
/// ```swift
/// let stations = SharedStore<SQLiteTestStore>(.script("CREATE TABLE station (id INTEGER PRIMARY KEY, name TEXT)"))
///
/// @Test func arrival() async throws {
///     try await stations.use { store in
///         try store.execute("INSERT INTO station (name) VALUES ('Ueno')")
///         #expect(try store.value("SELECT count(*) FROM station") == 1)
///         try store.deleteAllRows()
///     }
/// }
/// ```
///
/// The first test opens the store; it is closed and removed when the process exits. A test that leaves the rows,
/// sequences or schema changed, or a transaction open, fails with an error that names the test. The next test finds the
/// store with its initial content again. Any thread may use it: tests wait for each other. With XCTest, use
/// ``SharedStoreTestCase``.
public final class SharedStore<Store: TestStore>: Sendable {
    private struct Opened {
        let stores: IsolatedStores<Store>
        let store: Store
        /// The path of a copy with the content that each test must find.
        let initial: String
    }

    private struct State {
        var opened: Opened?
        /// True if the content must be restored before the next test, because the last one failed.
        var isDirty = false
    }

    /// The place of the description.
    ///
    /// XCTest doesn't know where a test is written.
    let file: StaticString
    let line: UInt
    private let name: String
    private let content: StoreContent<Store>
    private let placement: StorePlacement
    private let turns = Turns()
    /// Used by the test that has the turn.
    private let state = Lock(State())

    /// Describes a store, without opening it.
    ///
    /// - Parameters:
    ///   - content: The content that each test finds.
    ///   - name: The store's name in a bundle.
    ///   - placement: The store's placement.
    ///   - file: The file to which failures of ``SharedStoreTestCase`` point.
    ///   - line: The line in that file.
    public init(
        _ content: StoreContent<Store> = .empty, named name: String = "shared",
        placement: StorePlacement = .standard, file: StaticString = #filePath, line: UInt = #line
    ) {
        self.file = file
        self.line = line
        self.content = content
        self.name = name
        self.placement = placement
    }

    /// Waits until no other test uses the store, and runs a test with it.
    ///
    /// Don't call this method inside `body`: it would wait for itself.
    ///
    /// - Parameters:
    ///   - isolation: The actor that `body` runs on; by default the caller's.
    ///   - body: The test, a closure that takes the store. If it throws, the store is restored instead of checked.
    /// - Returns: The value that `body` returns.
    /// - Throws: The error that `body` throws, or a ``TestStoreError`` if the store could not be opened, or if the test
    ///   left it changed.
    @discardableResult
    public func use<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Store) async throws -> Result
    ) async throws -> Result {
        await turns.begin()
        defer { turns.end() }
        let store = try begin()
        do {
            let result = try await body(store)
            try end(of: CaptureSession.shared.currentTest.map(Self.name) ?? "A test")
            return result
        } catch {
            // The next test may change the store before the error is reported as a failure.
            CurrentTest.snapshot("thrown")
            state.withLock { $0.isDirty = true }
            throw error
        }
    }

    // MARK: XCTest, which runs one test at a time

    /// Opens the store, or restores its content, for a test that runs alone.
    func beginAlone() throws -> Store {
        guard turns.beginAtOnce() else {
            throw TestStoreError(.cannotStart, "Another test is using the shared store '\(name)'.")
        }
        do {
            return try begin()
        } catch {
            turns.end()
            throw error
        }
    }

    /// Checks that a test has left the store unchanged.
    ///
    /// - `hasFailed`: true if the test has failed already; the store is then restored instead of checked.
    func endAlone(of test: String, hasFailed: Bool) throws {
        defer { turns.end() }
        if hasFailed {
            state.withLock { $0.isDirty = true }
        } else {
            try end(of: test)
        }
    }

    // MARK: Before and after a test

    private func begin() throws -> Store {
        if let opened = state.withLock(\.opened) {
            if case .file(let url) = opened.stores.location(of: name) {
                CurrentTest.register(storeAt: url, named: name)
            }
            if state.withLock(\.isDirty) { try restore(opened) }
            return opened.store
        }
        let stores = try IsolatedStores<Store>(
            named: SafeFileName.make(from: name), placement: placement)
        let store = try stores.open(name, content)
        let initial = Path.join(stores.path, "initial")
        try stores.copy(store, named: name, to: initial)
        state.withLock { $0 = State(opened: Opened(stores: stores, store: store, initial: initial)) }
        ProcessExit.run {
            // If the exit cuts a test off, a handler that runs later captures it first.
            if CaptureSession.shared.currentTest == nil { try? stores.end() }
        }
        return store
    }

    private func end(of test: String) throws {
        guard let opened = state.withLock(\.opened) else { return }
        guard let left = try leftovers(opened) else { return }
        state.withLock { $0.isDirty = true }
        throw TestStoreError(.leak, "\(test) left the shared store '\(name)' changed: \(left).")
    }

    /// Returns a description of the changes that a test has left; nil without any.
    private func leftovers(_ opened: Opened) throws -> String? {
        let isInTransaction = try? opened.store.withConnection { sqlite3_get_autocommit($0) == 0 }
        if isInTransaction == true { return "a transaction is open" }
        let difference = try opened.stores.withFiles((name, opened.store), (name, opened.store)) {
            try StoreDifference(
                from: StoreComparison.Side(path: opened.initial, isPrivate: true), to: $1)
        }
        if difference.isEmpty { return nil }
        return difference.description.replacing("\n", with: ", ")
    }

    /// Restores the content that each test must find.
    private func restore(_ opened: Opened) throws {
        do {
            try opened.store.withConnection { handle in
                if sqlite3_get_autocommit(handle) == 0 {
                    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
                }
                try DatabaseCopy.copy(file: opened.initial, to: handle)
            }
        } catch {
            throw TestStoreError(
                .cannotStart, "The shared store '\(name)' cannot be restored after an earlier test",
                because: error)
        }
        state.withLock { $0.isDirty = false }
    }

    private static func name(of test: RunningTest) -> String {
        "\(test.identity.suite).\(test.identity.name)"
    }
}

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

/// An asynchronous lock: one task at a time holds it; the others wait, in the order of their arrival.
///
/// Waiting tasks are suspended and block no thread.
final class Turns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// Waits for the turn, and takes it.
    func begin() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiting.append(continuation) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
    }

    /// Takes the turn if it is free, without waiting.
    ///
    /// True if the turn was free.
    func beginAtOnce() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    /// Passes the turn to the next waiting task.
    func end() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            if state.waiting.isEmpty {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
