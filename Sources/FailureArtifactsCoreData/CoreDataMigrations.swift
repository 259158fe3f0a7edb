#if canImport(CoreData)
public import CoreData
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
public import FailureArtifactsTestKit

/// The containers of a migration test: a separate store for each version that the test has reached.
///
/// ``withMigrations(of:_:)`` creates it. It isn't `Sendable`: only the test that creates it uses it.
public final class CoreDataMigrations {
    private let versions: [CoreDataVersion]
    private let containers: IsolatedContainers
    private var chain: VersionChain<NSPersistentContainer>

    init(_ versions: [CoreDataVersion], _ containers: IsolatedContainers) throws {
        self.versions = versions
        self.containers = containers
        chain = try VersionChain(versions.map(\.name))
    }

    /// Creates an empty store at a version.
    ///
    /// - Parameter name: The version's name.
    /// - Returns: The container, with its store loaded.
    /// - Throws: A `TestStoreError` if there is no such version, if a store was started before, or if the store cannot be
    ///   loaded.
    @discardableResult
    public func start(at name: String) throws -> NSPersistentContainer {
        let position = try chain.start(at: name)
        do {
            return try load(position)
        } catch {
            throw TestStoreError(
                .cannotStart, "The store '\(name)' could not be opened for the test", because: error)
        }
    }

    /// Migrates the last store into a new one of a later version, by `NSMigrationManager`.
    ///
    /// Save its objects first. The last store stays unchanged, and its container stays loaded. Each version on the way
    /// gets a store of its own.
    ///
    /// - Parameter name: The version's name.
    /// - Returns: The container of that version, with the migrated store loaded.
    /// - Throws: A `TestStoreError` if there is no such version after the last one, or if a migration fails.
    @discardableResult
    public func migrate(to name: String) throws -> NSPersistentContainer {
        var (container, steps) = try chain.migration(to: name)
        for position in steps {
            let (old, new) = (versions[position - 1], versions[position])
            do {
                try CoreDataMigration.migrate(
                    storeAt: containers.file(of: old.name), from: old, to: new, mapping: new.mapping,
                    into: containers.file(of: new.name))
                container = try load(position)
            } catch {
                throw TestStoreError(
                    .cannotStart, "The migration from '\(old.name)' to '\(new.name)' failed",
                    because: error)
            }
        }
        return container
    }

    /// Returns the container of a version that was started or migrated to.
    ///
    /// - Parameter name: The version's name.
    /// - Returns: The container, with its store loaded.
    /// - Throws: A `TestStoreError` if the version was not reached.
    public func container(at name: String) throws -> NSPersistentContainer { try chain.store(at: name) }

    /// Compares the schemas and rows of two versions' stores as they are now, by tables and columns.
    ///
    /// - Parameters:
    ///   - old: The old version's name; nil for the first version that was reached.
    ///   - new: The new version's name; nil for the last version that was reached.
    /// - Returns: The difference.
    /// - Throws: A `TestStoreError` if a version was not reached, or if a store cannot be read.
    public func difference(
        from old: String? = nil, to new: String? = nil
    ) throws -> StoreDifference {
        let ends = try chain.ends
        let (old, new) = (old ?? ends.first, new ?? ends.last)
        _ = (try chain.store(at: old), try chain.store(at: new))
        return try CoreDataMigration.difference(
            from: containers.file(of: old), to: containers.file(of: new))
    }

    /// Loads the store of a version, without a migration by Core Data.
    private func load(_ position: Int) throws -> NSPersistentContainer {
        let version = versions[position]
        let container = NSPersistentContainer(name: version.name, managedObjectModel: version.model)
        try containers.load(container, named: version.name, placement: .onDisk, type: .sqlite) {
            $0.shouldMigrateStoreAutomatically = false
        }
        chain.reach(position, container)
        return container
    }
}

/// Runs a test of migrations between versions of a model.
///
/// ```swift
/// let games = try ["App V1", "App V2"].map { try CoreDataVersion($0, ofModel: "Games", in: .module) }
/// try withMigrations(of: games) { stores in
///     let old = try stores.start(at: "App V1")
///     let new = try stores.migrate(to: "App V2")
///     XCTAssertEqual(try new.viewContext.count(for: NSFetchRequest<NSManagedObject>(entityName: "Game")), 0)
/// }
/// ```
///
/// The stores are files. If the test fails, its bundle contains a store for each version, under the version's name.
/// Call this function on the main thread.
///
/// - Parameters:
///   - versions: The chain, the oldest version first.
///   - body: A closure that takes the containers.
/// - Returns: The value that `body` returns.
/// - Throws: The error that `body` throws, or a `TestStoreError` if two versions have the same name, or if a store could
///   not be closed.
@discardableResult
public func withMigrations<Result>(
    of versions: [CoreDataVersion], _ body: (CoreDataMigrations) throws -> Result
) throws -> Result {
    try IsolatedContainers(named: SafeFileName.ofCurrentTest).use {
        try body(CoreDataMigrations(versions, $0))
    }
}

/// Runs an asynchronous test of migrations between versions of a model.
///
/// - Parameters:
///   - versions: The chain, the oldest version first.
///   - isolation: The actor that `body` runs on; by default the caller's. Use the main actor.
///   - body: A closure that takes the containers.
/// - Returns: The value that `body` returns.
/// - Throws: The error that `body` throws, or a `TestStoreError` if two versions have the same name, or if a store could
///   not be closed.
@discardableResult
public func withMigrations<Result>(
    of versions: [CoreDataVersion], isolation: isolated (any Actor)? = #isolation,
    _ body: (CoreDataMigrations) async throws -> Result
) async throws -> Result {
    try await IsolatedContainers(named: SafeFileName.ofCurrentTest).use(isolation: isolation) {
        try await body(CoreDataMigrations(versions, $0))
    }
}

/// A version of a model, with the name of its store in a bundle.
///
/// It is `Sendable` because neither the kit nor Core Data changes its model and mapping. Don't change them either.
public struct CoreDataVersion: @unchecked Sendable {
    /// The version's name, such as `App V1`.
    public let name: String
    /// The version's model.
    public let model: NSManagedObjectModel
    /// The mapping from the version before it in a chain; nil for the mapping that Core Data infers.
    public let mapping: NSMappingModel?

    /// Creates a version.
    ///
    /// - Parameters:
    ///   - name: The version's name, such as `App V1`; also its store's name in a bundle.
    ///   - model: The version's model.
    ///   - mapping: The mapping from the version before it in a chain; nil for the mapping that Core Data infers.
    public init(_ name: String, _ model: NSManagedObjectModel, mapping: NSMappingModel? = nil) {
        self.name = name
        self.model = model
        self.mapping = mapping
    }

    /// Creates a version of a compiled model in a bundle.
    ///
    /// - Parameters:
    ///   - name: The version's name, such as `App V1`; also its store's name in a bundle.
    ///   - model: The model's name, such as `Games`; nil for the only model in the bundle.
    ///   - bundle: The bundle with the compiled model, such as `.module`.
    ///   - mapping: The mapping from the version before it in a chain; nil for the mapping that Core Data infers.
    /// - Throws: A `TestStoreError` if there is no such model or version, which lists those there are, or if Core Data
    ///   cannot load it.
    public init(
        _ name: String, ofModel model: String? = nil, in bundle: Bundle, mapping: NSMappingModel? = nil
    ) throws {
        self.init(name, try CoreDataModel.load(model, version: name, in: bundle), mapping: mapping)
    }
}

/// Migrations of stores to new files by `NSMigrationManager`; for containers, see ``withMigrations(of:_:)``.
///
/// ```swift
/// let v1 = CoreDataVersion("App V1", modelV1), v2 = CoreDataVersion("App V2", modelV2)
/// let new = directory.appending(path: "v2.sqlite")
/// try CoreDataMigration.migrate(storeAt: old, from: v1, to: v2, into: new)
/// XCTAssertEqual(try CoreDataMigration.difference(from: old, to: new).rows["ZGAME"], nil)
/// ```
public enum CoreDataMigration {
    /// Migrates a store, which stays unchanged, into a new file.
    ///
    /// If the test fails, its bundle contains both stores under the names of their versions.
    ///
    /// - Parameters:
    ///   - source: A store of the old version. A coordinator may have it open, provided that all changes are saved.
    ///   - old: The store's version.
    ///   - new: The version to migrate to.
    ///   - mapping: The mapping of the models; nil for the mapping that Core Data infers.
    ///   - destination: A file that doesn't exist.
    ///   - options: The options to open both stores with.
    /// - Throws: Core Data's error if it cannot infer a mapping, or if the migration fails.
    public static func migrate(
        storeAt source: URL, from old: CoreDataVersion, to new: CoreDataVersion,
        mapping: NSMappingModel? = nil, into destination: URL, options: [AnyHashable: Any]? = nil
    ) throws {
        CurrentTest.register(storeAt: source, named: old.name)
        CurrentTest.register(storeAt: destination, named: new.name)
        let mapping =
            try mapping
            ?? NSMappingModel.inferredMappingModel(
                forSourceModel: old.model, destinationModel: new.model)
        let manager = NSMigrationManager(sourceModel: old.model, destinationModel: new.model)
        try manager.migrateStore(
            from: source, type: .sqlite, options: options, mapping: mapping, to: destination,
            type: .sqlite, options: options)
    }

    /// Compares the schemas and rows of two stores, by tables and columns.
    ///
    /// - Parameters:
    ///   - old: The old store's file.
    ///   - new: The new store's file.
    /// - Returns: The difference.
    /// - Throws: A `TestStoreError` if a store cannot be read.
    public static func difference(from old: URL, to new: URL) throws -> StoreDifference {
        try StoreDifference(
            fromFile: old.path(percentEncoded: false), to: new.path(percentEncoded: false))
    }
}
#endif
