internal import FailureArtifactsCapture
internal import FailureArtifactsReading
internal import FailureArtifactsSystem
internal import Foundation

/// Resources of a test that are closed and removed together.
package protocol IsolatedResources: AnyObject, Sendable {
    /// Closes and removes them; later calls do nothing.
    func end() throws
}

extension IsolatedResources {
    /// Runs `body` with resources that end after it; if it throws, they end with the test, after the failure is captured.
    package func use<Result>(_ body: (Self) throws -> Result) throws -> Result {
        let result: Result
        do {
            result = try body(self)
        } catch {
            endWithTest()
            throw error
        }
        try end()
        return result
    }

    package func use<Result>(
        isolation: isolated (any Actor)?, _ body: (Self) async throws -> Result
    ) async throws -> Result {
        let result: Result
        do {
            result = try await body(self)
        } catch {
            endWithTest()
            throw error
        }
        try end()
        return result
    }

    /// Ends at the test's end if a test is known to run, and at once otherwise.
    private func endWithTest() {
        if let test = CaptureSession.shared.currentTest {
            test.retain(self)
        } else {
            try? end()
        }
    }
}

/// The stores of one test in a directory of its own, which are closed and removed together.
///
/// Any thread may use it.
final class IsolatedStores<Store: TestStore>: IsolatedResources {
    private struct State {
        var stores: [Store] = []
        var hasEnded = false
    }

    /// The directory, which no other test uses.
    let directory: URL
    private let placement: StorePlacement
    private let state = Lock(State())

    /// Creates the directory.
    init(named name: String, placement: StorePlacement) throws(TestStoreError) {
        self.placement = placement
        let parent = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        do {
            let path = try FileSystem.createUniqueDirectory(in: parent, prefix: name + "-")
            directory = URL(filePath: path, directoryHint: .isDirectory)
        } catch {
            throw TestStoreError(
                .cannotStart, "The directory for the test's stores could not be created", because: error)
        }
    }

    // After a thrown error, nothing else ends it.
    deinit {
        try? end()
    }

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - name: The store's name in a bundle; unique among these stores.
    ///   - content: The store's initial content.
    /// - Returns: The open store.
    /// - Throws: An error if the store cannot be opened or filled.
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

    /// The directory as a path, without a slash at its end.
    var path: String {
        let path = directory.path(percentEncoded: false)
        return path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Returns the location of the store with a name.
    func location(of name: String) -> StoreLocation {
        switch placement {
        case .onDisk:
            .file(directory.appending(path: SafeFileName.make(from: name) + ".sqlite"))
        case .inMemory: .memory(name: name)
        case .atDevNull: .devNull
        }
    }
}

extension IsolatedStores {
    /// Calls a closure with two stores as files to compare.
    func withFiles<Result>(
        _ a: (name: String, store: Store), _ b: (name: String, store: Store),
        _ body: (StoreComparison.Side, StoreComparison.Side) throws -> Result
    ) throws -> Result {
        let scratch = try FileSystem.createUniqueDirectory(in: path, prefix: "compared-")
        defer { try? FileSystem.remove(scratch) }
        return try body(
            side(of: a.store, named: a.name, scratch: scratch, file: "a.sqlite"),
            side(of: b.store, named: b.name, scratch: scratch, file: "b.sqlite"))
    }

    private func side(
        of store: Store, named name: String, scratch: String, file: String
    ) throws -> StoreComparison.Side {
        if case .file(let url) = location(of: name) {
            return StoreComparison.Side(path: url.path(percentEncoded: false), isPrivate: false)
        }
        let copy = Path.join(scratch, file)
        try store.copy(to: copy)
        return StoreComparison.Side(path: copy, isPrivate: true)
    }

    /// Copies the committed content of a store to a new file.
    func copy(_ store: Store, named name: String, to target: String) throws {
        if case .file(let url) = location(of: name) {
            try DatabaseCopy.copy(file: url.path(percentEncoded: false), toNewFile: target)
        } else {
            try store.copy(to: target)
        }
    }
}

extension TestStore {
    /// Copies the content that the store's connection sees to a new file.
    func copy(to file: String) throws {
        try withConnection { try DatabaseCopy.copy(connection: $0, toNewFile: file) }
    }
}
