internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
internal import Foundation

/// The stores of one test in a directory of its own, all closed and removed together.
///
/// May be used from any thread.
final class IsolatedStores<Store: TestStore>: Sendable {
    private struct State {
        var stores: [Store] = []
        var hasEnded = false
    }

    /// A directory that nobody else uses.
    let directory: URL
    private let placement: StorePlacement
    private let state = Lock(State())

    /// - Parameters:
    ///   - name: What the directory's name begins with.
    ///   - placement: Where the stores are put.
    /// - Throws: Why there is no directory.
    init(named name: String, placement: StorePlacement) throws(TestStoreError) {
        self.placement = placement
        let parent = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        do {
            let path = try FileSystem.createUniqueDirectory(in: parent, prefix: name + "-")
            directory = URL(filePath: path, directoryHint: .isDirectory)
        } catch {
            throw TestStoreError(
                .cannotStart, "There is no directory for the test's stores", because: error)
        }
    }

    // After a thrown error, nobody else ends it.
    deinit {
        try? end()
    }

    /// Opens a store with some content.
    ///
    /// - Parameters:
    ///   - name: What the store is called in a bundle; unique among these.
    ///   - content: What it starts with.
    /// - Returns: The store.
    /// - Throws: Why there is none, as a ``TestStoreError``.
    func open(_ name: String, _ content: StoreContent<Store>) throws(TestStoreError) -> Store {
        let location = location(of: name)
        if case .file(let url) = location { CurrentTest.register(storeAt: url, named: name) }
        do {
            let store = try content.open(at: location, directory: path)
            state.withLock { $0.stores.append(store) }
            return store
        } catch {
            throw TestStoreError(
                .cannotStart, "The store '\(name)' (\(location.path)) could not be opened for the test",
                because: error)
        }
    }

    /// Closes the stores, the last one first, and removes the directory; later calls do nothing.
    ///
    /// - Throws: Why a store could not be closed. The others are, and the directory is gone.
    func end() throws(TestStoreError) {
        let stores: [Store] = state.withLock { state in
            defer { state = State(hasEnded: true) }
            return state.hasEnded ? [] : state.stores
        }
        var failure: TestStoreError?
        for store in stores.reversed() {
            do {
                try store.close()
            } catch {
                failure = TestStoreError(
                    .cannotStart, "A store of the test could not be closed", because: error)
            }
        }
        try? FileSystem.remove(path)
        if let failure { throw failure }
    }

    /// Leaves the end to the test's own, where it is known: the failure, which is about to be reported, is
    /// captured first.
    func endWithTest() {
        if let test = CaptureSession.shared.currentTest {
            test.retain(self)
        } else {
            try? end()
        }
    }

    /// The directory as a path, without a slash at its end.
    var path: String {
        let path = directory.path(percentEncoded: false)
        return path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    func location(of name: String) -> StoreLocation {
        switch placement {
        case .onDisk:
            .file(directory.appending(path: SafeFileName.make(from: name) + ".sqlite"))
        case .inMemory: .memory(name: name)
        case .atDevNull: .devNull
        }
    }
}

/// Names of files and directories that are made of names of tests and stores.
package enum SafeFileName {
    /// A name that every file system takes.
    package static func make(from text: String) -> String {
        SafeName.make(from: text, maximumBytes: 100)
    }

    /// What a directory of the test that runs begins with; `test` where none is known.
    package static var ofCurrentTest: String {
        guard let test = CaptureSession.shared.currentTest?.identity else { return "test" }
        return make(from: "\(test.suite).\(test.name)")
    }
}
