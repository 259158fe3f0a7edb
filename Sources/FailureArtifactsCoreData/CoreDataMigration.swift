#if canImport(CoreData)
public import CoreData
internal import FailureArtifactsCapture
public import FailureArtifactsTestKit
internal import FailureArtifactsSystem

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

    /// Returns a Boolean value that indicates whether a store on disk has a version, by the hashes of its entities.
    ///
    /// - Parameters:
    ///   - url: The store's file.
    ///   - version: The version.
    /// - Returns: True if Core Data opens the store without a migration.
    /// - Throws: Core Data's error if it cannot read the store's metadata.
    public static func isStore(at url: URL, of version: CoreDataVersion) throws -> Bool {
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
            type: .sqlite, at: url)
        return version.model.isConfiguration(
            withName: nil, compatibleWithStoreMetadata: metadata)
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
