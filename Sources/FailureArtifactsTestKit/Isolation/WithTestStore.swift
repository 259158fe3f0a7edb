internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
public import Foundation

/// Runs a test, or a part of it, with a store of its own.
///
/// ```swift
/// @Test func ripening() throws {
///     try withTestStore(SQLiteTestStore.self, .script("CREATE TABLE fruit (name TEXT)")) { store in
///         try store.execute("INSERT INTO fruit VALUES ('apple')")
///         #expect(try store.value("SELECT count(*) FROM fruit") == 1)
///     }
/// }
/// ```
///
/// The store is in a new directory, and is closed and removed after `body`. If `body` throws, this happens at the test's
/// end, after the failure has been captured.
///
/// - Parameters:
///   - type: The type of the store.
///   - content: The store's initial content.
///   - name: The store's name in a bundle.
///   - placement: The store's placement.
///   - body: A closure that takes the open store.
/// - Returns: The value that `body` returns.
/// - Throws: The error that `body` throws, or a ``TestStoreError`` if the store could not be opened or closed.
@discardableResult
public func withTestStore<Store: TestStore, Result>(
    _ type: Store.Type, _ content: StoreContent<Store> = .empty, named name: String = "store",
    placement: StorePlacement = .standard, _ body: (Store) throws -> Result
) throws -> Result {
    try IsolatedStores<Store>(named: SafeFileName.ofCurrentTest, placement: placement).use {
        try body($0.open(name, content))
    }
}

/// Runs an asynchronous test, or a part of it, with a store of its own.
///
/// The store is opened, closed and removed as by the synchronous function.
///
/// - Parameters:
///   - type: The type of the store.
///   - content: The store's initial content.
///   - name: The store's name in a bundle.
///   - placement: The store's placement.
///   - isolation: The actor that `body` runs on; by default the caller's.
///   - body: A closure that takes the open store.
/// - Returns: The value that `body` returns.
/// - Throws: The error that `body` throws, or a ``TestStoreError`` if the store could not be opened or closed.
@discardableResult
public func withTestStore<Store: TestStore, Result>(
    _ type: Store.Type, _ content: StoreContent<Store> = .empty, named name: String = "store",
    placement: StorePlacement = .standard, isolation: isolated (any Actor)? = #isolation,
    _ body: (Store) async throws -> Result
) async throws -> Result {
    try await IsolatedStores<Store>(named: SafeFileName.ofCurrentTest, placement: placement)
        .use(isolation: isolation) { try await body($0.open(name, content)) }
}

/// A state of a captured store: the one at the failure, or one of its history.
public enum CapturedState: Hashable, Sendable {
    /// The state that the failing test saw, with its uncommitted changes.
    case failure
    /// The committed state after a number of transactions of the store's history.
    ///
    /// 0 is the state before the first transaction. Negative numbers count from the end: -1 is the last state, -2 the
    /// state one transaction earlier.
    case commit(Int)
}

extension StoreContent {
    /// Returns the content of a captured store.
    ///
    /// ```swift
    /// override var content: StoreContent<SQLiteTestStore> {
    ///     .restored(from: Bundle.module.url(forResource: "march", withExtension: "zip")!, at: .commit(-2))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - bundle: A bundle, or a directory or zip that contains exactly one.
    ///   - store: The store's name in the bundle; nil for the first store.
    ///   - state: The state to restore; by default the state at the failure.
    /// - Returns: The content. The bundle is read when a store is opened with the content; a bundle, store or state
    ///   that doesn't exist is an error then.
    public static func restored(
        from bundle: URL, store: String? = nil, at state: CapturedState = .failure
    ) -> StoreContent {
        let path = bundle.path(percentEncoded: false)
        return StoreContent { target in
            do {
                try CapturedStore.extract(store, at: state, of: path, to: target)
            } catch {
                throw TestStoreError(.bundle, TestStoreError.text(error))
            }
        }
    }
}

extension TestStore {
    /// Opens a copy of a captured store for the rest of the running test.
    ///
    /// The copy is in a new directory. It is closed and removed after the test's end, or at the end of the process if
    /// no test is known to run. The test need not close it.
    ///
    /// - Parameters:
    ///   - bundle: A bundle, or a directory or zip that contains exactly one.
    ///   - store: The store's name in the bundle; nil for the first store.
    ///   - state: The state to restore; by default the state at the failure.
    /// - Returns: The open store.
    /// - Throws: A ``TestStoreError`` if there is no such bundle, store or state, or if the copy cannot be opened.
    public static func restored(
        from bundle: URL, store: String? = nil, at state: CapturedState = .failure
    ) throws(TestStoreError) -> Self {
        let stores = try IsolatedStores<Self>(
            named: SafeFileName.ofCurrentTest, placement: .onDisk)
        let opened = try stores.open(
            store ?? "restored", .restored(from: bundle, store: store, at: state))
        if let test = CaptureSession.shared.currentTest {
            test.retain(stores)
        } else {
            ProcessExit.run { try? stores.end() }
        }
        return opened
    }
}

/// Extraction of stores from bundles.
private enum CapturedStore {
    static func extract(
        _ name: String?, at state: CapturedState, of path: String, to target: String
    ) throws {
        let scratch = try FileSystem.createUniqueDirectory(
            in: Path.directory(of: target), prefix: "bundle-")
        defer { try? FileSystem.remove(scratch) }
        let bundle = try BundleReader(try BundleLocator.single(at: path), scratchDirectory: scratch)
        let choice = try bundle.store(named: name)
        switch state {
        case .failure: try bundle.extract(entryNamed: choice.entry, toNewFile: target)
        case .commit(let number):
            let history = try bundle.extractHistory(of: choice, below: scratch)
            guard let reference = CommitReference(String(number)) else {
                throw TestStoreError(.bundle, "\(number) is not the number of a state.")
            }
            _ = try history.rebuild(history.state(of: reference), to: target)
        }
    }
}
