internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
public import Foundation

/// A state of a captured store: the one at the failure, or one of its history.
public enum CapturedState: Hashable, Sendable {
    /// What the failing test saw, with what it had not committed.
    case failure
    /// What was committed after so many transactions of the store's history: 0 is the state before the first,
    /// and negative numbers count from the end: -1 is the last one, -2 that of a transaction earlier.
    case commit(Int)
}

extension StoreContent {
    /// What a store held when it was captured.
    ///
    /// ```swift
    /// override var content: StoreContent<SQLiteTestStore> {
    ///     .restored(from: Bundle.module.url(forResource: "march", withExtension: "zip")!, at: .commit(-2))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - bundle: A bundle, or a directory or zip that holds exactly one.
    ///   - store: The store's name in it; nil for the first.
    ///   - state: The state.
    /// - Returns: The content. Where there is no such store or state, the test fails that starts with it.
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
    /// Opens a copy of a captured store, for the rest of the running test.
    ///
    /// The copy is in a new directory. It is closed and removed when the test has ended, or, where no test is
    /// known, at the end of the process; it need not be closed before.
    ///
    /// - Parameters:
    ///   - bundle: A bundle, or a directory or zip that holds exactly one.
    ///   - store: The store's name in it; nil for the first.
    ///   - state: The state.
    /// - Returns: The store.
    /// - Throws: A ``TestStoreError``: that there is no such store or state, or why it cannot be opened.
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

/// Stores in bundles.
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
                throw TestStoreError(.bundle, "\(number) is no commit.")
            }
            _ = try history.rebuild(history.state(of: reference), to: target)
        }
    }
}
