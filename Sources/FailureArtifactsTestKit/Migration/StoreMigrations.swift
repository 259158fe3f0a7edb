internal import FailureArtifactsCapture
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Foundation

/// A version in a chain of versions of a store, with the migration from the version before it.
///
/// ```swift
/// let boardGames: [StoreVersion<SQLiteTestStore>] = [
///     StoreVersion("App V1", .script("CREATE TABLE game (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")),
///     StoreVersion("App V2", .script("ALTER TABLE game ADD COLUMN rating REAL")),
/// ]
/// ```
public struct StoreVersion<Store: TestStore>: Sendable {
    /// The version's name in errors and in a bundle; unique in its chain.
    public let name: String
    /// The whole content of the first version, or the migration to a later one.
    public let content: StoreContent<Store>

    /// Creates a version.
    ///
    /// - Parameters:
    ///   - name: The version's name; unique in its chain.
    ///   - content: The whole content of the first version, or the migration to a later one: a script, a resource or,
    ///     for a library's own migration, a closure.
    public init(_ name: String, _ content: StoreContent<Store>) {
        self.name = name
        self.content = content
    }
}

/// The stores of a migration test: a separate store for each version that the test has reached.
///
/// ``withMigrations(of:placement:_:)`` creates it. It isn't `Sendable`: only the test that creates it uses it.
public final class StoreMigrations<Store: TestStore> {
    private let versions: [StoreVersion<Store>]
    private let stores: IsolatedStores<Store>
    private var chain: VersionChain<Store>

    init(_ versions: [StoreVersion<Store>], _ stores: IsolatedStores<Store>) throws(TestStoreError) {
        self.versions = versions
        self.stores = stores
        chain = try VersionChain(versions.map(\.name))
    }

    /// Creates the store at a version.
    ///
    /// If the version isn't the first of its chain, the migrations of the earlier versions run on the same store first.
    ///
    /// - Parameter name: The version's name.
    /// - Returns: The open store.
    /// - Throws: A ``TestStoreError`` if there is no such version, if a store was started before, or if the store
    ///   cannot be created.
    @discardableResult
    public func start(at name: String) throws(TestStoreError) -> Store {
        let number = try chain.start(at: name)
        let content = versions[...number].reduce(StoreContent<Store>.empty) { $0.then($1.content) }
        let store = try stores.open(name, content)
        chain.reach(number, store)
        return store
    }

    /// Migrates a copy of the last store to a later version.
    ///
    /// The last store stays unchanged. Each version on the way gets a store of its own.
    ///
    /// - Parameter name: The version's name.
    /// - Returns: The store of that version.
    /// - Throws: A ``TestStoreError`` if there is no such version after the last one, or if a migration fails.
    @discardableResult
    public func migrate(to name: String) throws(TestStoreError) -> Store {
        var (store, steps) = try chain.migration(to: name)
        for number in steps { store = try step(to: number, store) }
        return store
    }

    /// Returns the store of a version that was started or migrated to.
    ///
    /// - Parameter name: The version's name.
    /// - Returns: The open store.
    /// - Throws: A ``TestStoreError`` if the version was not reached.
    public func store(at name: String) throws(TestStoreError) -> Store {
        try chain.store(at: name)
    }

    /// Compares the schemas and rows of two versions' stores as they are now.
    ///
    /// - Parameters:
    ///   - old: The old version's name; nil for the first version that was reached.
    ///   - new: The new version's name; nil for the last version that was reached.
    /// - Returns: The difference.
    /// - Throws: A ``TestStoreError`` if a version was not reached, or if a store cannot be read.
    public func difference(
        from old: String? = nil, to new: String? = nil
    ) throws(TestStoreError) -> StoreDifference {
        let ends = try chain.ends
        let (old, new) = (old ?? ends.first, new ?? ends.last)
        let (a, b) = (try store(at: old), try store(at: new))
        do {
            return try stores.withFiles((old, a), (new, b)) { try StoreDifference(from: $0, to: $1) }
        } catch {
            throw TestStoreError(
                .cannotStart, "'\(old)' and '\(new)' cannot be compared", because: error)
        }
    }

    /// Migrates a copy of the store of the version before.
    private func step(to number: Int, _ old: Store) throws(TestStoreError) -> Store {
        let (version, oldName) = (versions[number], versions[number - 1].name)
        let stores = stores
        let copy = StoreContent<Store> { target in try stores.copy(old, named: oldName, to: target) }
        let store: Store
        do throws(TestStoreError) {
            store = try stores.open(version.name, copy.then(version.content))
        } catch {
            throw TestStoreError(
                .cannotStart, "The migration from '\(oldName)' to '\(version.name)' failed",
                because: error)
        }
        chain.reach(number, store)
        attachDifference((oldName, old), (version.name, store))
        return store
    }

    /// Attaches the difference to the bundle that the test leaves if it fails.
    private func attachDifference(
        _ old: (name: String, store: Store), _ new: (name: String, store: Store)
    ) {
        guard CaptureSession.shared.currentTest != nil,
            CaptureConfiguration.current.mode != .off
        else { return }
        let title = "\(old.name) -> \(new.name)"
        let difference = try? stores.withFiles(old, new) { try StoreDifference(from: $0, to: $1) }
        CurrentTest.attach(
            Data("\(title)\n\n\(difference?.description ?? "The stores cannot be compared.")\n".utf8),
            named: "\(old.name) to \(new.name).diff.txt")
    }
}

/// Runs a test of migrations between versions of a store.
///
/// ```swift
/// try withMigrations(of: boardGames) { stores in
///     let old = try stores.start(at: "App V1")
///     try old.execute("INSERT INTO game (title) VALUES ('Go'), ('Shogi')")
///     let new = try stores.migrate(to: "App V2")
///     XCTAssertEqual(try new.value("SELECT count(*) FROM game WHERE rating IS NULL"), 2)
///     XCTAssertEqual(try stores.difference().columns, ["game": .init(added: ["rating"])])
/// }
/// ```
///
/// If the test fails, its bundle contains a store for each version, under the version's name, and their differences as
/// attachments.
///
/// - Parameters:
///   - versions: The chain, the oldest version first.
///   - placement: The stores' placement.
///   - body: A closure that takes the stores.
/// - Returns: The value that `body` returns.
/// - Throws: The error that `body` throws, or a ``TestStoreError`` if two versions have the same name, or if a store
///   could not be closed.
@discardableResult
public func withMigrations<Store: TestStore, Result>(
    of versions: [StoreVersion<Store>], placement: StorePlacement = .standard,
    _ body: (StoreMigrations<Store>) throws -> Result
) throws -> Result {
    try IsolatedStores<Store>(named: SafeFileName.ofCurrentTest, placement: placement).use {
        try body(StoreMigrations(versions, $0))
    }
}

/// Runs an asynchronous test of migrations between versions of a store.
///
/// - Parameters:
///   - versions: The chain, the oldest version first.
///   - placement: The stores' placement.
///   - isolation: The actor that `body` runs on; by default the caller's.
///   - body: A closure that takes the stores.
/// - Returns: The value that `body` returns.
/// - Throws: The error that `body` throws, or a ``TestStoreError`` if two versions have the same name, or if a store
///   could not be closed.
@discardableResult
public func withMigrations<Store: TestStore, Result>(
    of versions: [StoreVersion<Store>], placement: StorePlacement = .standard,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (StoreMigrations<Store>) async throws -> Result
) async throws -> Result {
    try await IsolatedStores<Store>(named: SafeFileName.ofCurrentTest, placement: placement)
        .use(isolation: isolation) { try await body(StoreMigrations(versions, $0)) }
}

/// The names of the versions in a chain, the oldest one first, and the stores of the versions that a test has reached.
package struct VersionChain<Store> {
    private let names: [String]
    /// The stores with their versions' positions, in the order in which they were reached.
    private var reached: [(position: Int, store: Store)] = []

    /// Creates a chain of which no version is reached.
    package init(_ names: [String]) throws(TestStoreError) {
        self.names = names
        var known: Set<String> = []
        for name in names where !known.insert(name).inserted {
            throw TestStoreError(
                .version,
                "Two versions are called '\(name)'. Give each version of the chain its own name."
            )
        }
    }

    /// Returns the position of the version to start at.
    package func start(at name: String) throws(TestStoreError) -> Int {
        let position = try position(of: name)
        if let first = reached.first {
            throw TestStoreError(
                .version,
                "There is a store at '\(names[first.position])' already: call 'start(at:)' only once.")
        }
        return position
    }

    /// Returns the last store, and the positions to migrate it to, one after the other.
    package func migration(
        to name: String
    ) throws(TestStoreError) -> (store: Store, steps: ClosedRange<Int>) {
        let target = try position(of: name)
        guard let last = reached.last else {
            throw TestStoreError(
                .version, "There is no store to migrate to '\(name)': call 'start(at:)' first.")
        }
        guard target > last.position else {
            throw TestStoreError(
                .version,
                "'\(name)' does not come after '\(names[last.position])', the last version.")
        }
        return (last.store, last.position + 1...target)
    }

    /// Adds the store of a version that is reached.
    package mutating func reach(_ position: Int, _ store: Store) { reached.append((position, store)) }

    /// Returns the store of a version that is reached.
    package func store(at name: String) throws(TestStoreError) -> Store {
        let position = try position(of: name)
        guard let found = reached.first(where: { $0.position == position }) else {
            throw TestStoreError(
                .version,
                "There is no store at '\(name)': call 'start(at:)' or 'migrate(to:)' with it first.")
        }
        return found.store
    }

    /// The names of the first and the last version that were reached.
    package var ends: (first: String, last: String) {
        get throws(TestStoreError) {
            guard let first = reached.first, let last = reached.last else {
                throw TestStoreError(
                    .version, "There is no store to compare: call 'start(at:)' first.")
            }
            return (names[first.position], names[last.position])
        }
    }

    private func position(of name: String) throws(TestStoreError) -> Int {
        if let position = names.firstIndex(of: name) { return position }
        let known = names.map { "'\($0)'" }.joined(separator: ", ")
        throw TestStoreError(.version, "There is no version '\(name)' among \(known).")
    }
}
