internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Foundation

/// One store for several tests, one after the other, each of which has to leave it as it was.
///
/// ```swift
/// let stations = SharedStore<SQLiteTestStore>(.script("CREATE TABLE station (id INTEGER PRIMARY KEY, name TEXT)"))
///
/// @Test(.failureArtifacts) func arrival() async throws {
///     try await stations.use { store in
///         try store.execute("INSERT INTO station (name) VALUES ('Ueno')")
///         #expect(try store.value("SELECT count(*) FROM station") == 1)
///         try store.deleteAllRows()
///     }
/// }
/// ```
///
/// It is opened by the first test that uses it, and closed and removed when the process exits. A test that leaves
/// rows, sequences, a schema or a transaction other than it found them fails by its name, and the next one finds
/// the store as it should be. May be used from any thread; tests that use it wait for one another. With XCTest,
/// see ``SharedStoreTestCase``.
public final class SharedStore<Store: TestStore>: Sendable {
    private struct Opened {
        let stores: IsolatedStores<Store>
        let store: Store
        /// A copy of the store as each test is to find it.
        let baseline: String
    }

    private struct State {
        var opened: Opened?
        /// Whether the last test has failed, and the store is to be put right before the next one.
        var isDirty = false
    }

    private let name: String
    private let content: StoreContent<Store>
    private let placement: StorePlacement
    private let turns = Turns()
    /// Used by whoever has the turn.
    private let state = Lock(State())

    /// Creates a description of a store, which is not opened yet.
    ///
    /// - Parameters:
    ///   - content: What every test finds in it.
    ///   - name: What it is called in a bundle.
    ///   - placement: Whether it is a file or in memory.
    public init(
        _ content: StoreContent<Store> = .empty, named name: String = "shared",
        placement: StorePlacement = .standard
    ) {
        self.content = content
        self.name = name
        self.placement = placement
    }

    /// Runs a test with the store, when no other test uses it.
    ///
    /// A test must not call this inside of `body`: it would wait for itself.
    ///
    /// - Parameters:
    ///   - isolation: Where `body` runs: where the caller does.
    ///   - body: The test; gets the store. What it throws counts as a failure, after which nothing is checked.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; a ``TestStoreError``: why the store could not be opened, or what the test
    ///   left behind.
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
            // The next test may be faster than the report of the error.
            CurrentTest.snapshot("thrown")
            state.withLock { $0.isDirty = true }
            throw error
        }
    }

    // MARK: For XCTest, which runs one test at a time

    /// Opens the store or puts it right.
    func beginAlone() throws -> Store {
        guard turns.beginAtOnce() else {
            throw TestStoreError(.cannotStart, "Another test uses the shared store '\(name)'.")
        }
        do {
            return try begin()
        } catch {
            turns.end()
            throw error
        }
    }

    /// Looks for what the test has left.
    ///
    /// - Parameters:
    ///   - test: The test's name.
    ///   - hasFailed: Whether it has failed already, and what it left is of no interest.
    /// - Throws: What it has left, or why that cannot be known.
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
        let baseline = Path.join(stores.path, "baseline")
        try stores.copy(store, named: name, to: baseline)
        state.withLock { $0 = State(opened: Opened(stores: stores, store: store, baseline: baseline)) }
        ProcessExit.run {
            // A test that the exit cuts off is captured first, by whoever is told of it later.
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

    /// What a test has left; nil for nothing.
    private func leftovers(_ opened: Opened) throws -> String? {
        let isInTransaction = try? opened.store.withConnection { sqlite3_get_autocommit($0) == 0 }
        if isInTransaction == true { return "a transaction is open" }
        let difference = try opened.stores.withFiles((name, opened.store), (name, opened.store)) {
            try StoreDifference(
                from: StoreComparison.Side(path: opened.baseline, isPrivate: true), to: $1)
        }
        if difference.isEmpty { return nil }
        return difference.description.replacing("\n", with: ", ")
    }

    /// Gives the store its content back.
    private func restore(_ opened: Opened) throws {
        do {
            try opened.store.withConnection { handle in
                if sqlite3_get_autocommit(handle) == 0 {
                    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
                }
                try DatabaseCopy.copy(file: opened.baseline, to: handle)
            }
        } catch {
            throw TestStoreError(
                .cannotStart, "The shared store '\(name)' cannot be put right after an earlier test",
                because: error)
        }
        state.withLock { $0.isDirty = false }
    }

    private static func name(of test: RunningTest) -> String {
        "\(test.identity.suite).\(test.identity.name)"
    }
}
