#if canImport(CoreData)
public import CoreData
internal import FailureArtifactsCapture
public import FailureArtifactsTestKit
internal import FailureArtifactsSystem

/// A version of a model, with the name of its store in a bundle.
public struct CoreDataVersion {
    /// The version's name, such as `App V1`.
    public let name: String
    /// The version's model.
    public let model: NSManagedObjectModel

    /// Creates a version.
    ///
    /// - Parameters:
    ///   - name: The version's name, such as `App V1`; also its store's name in a bundle.
    ///   - model: The version's model.
    public init(_ name: String, _ model: NSManagedObjectModel) {
        self.name = name
        self.model = model
    }
}

/// Migrations of closed stores to new files by `NSMigrationManager`.
///
/// ```swift
/// let v1 = CoreDataVersion("App V1", modelV1), v2 = CoreDataVersion("App V2", modelV2)
/// let new = directory.appending(path: "v2.sqlite")
/// try CoreDataMigration.migrate(storeAt: old, from: v1, to: v2, into: new)
/// XCTAssertEqual(try CoreDataMigration.difference(from: old, to: new).rows["ZGAME"], nil)
/// ```
public enum CoreDataMigration {
    /// Migrates a copy of a closed store, which stays unchanged.
    ///
    /// If the test fails, its bundle contains both stores under the names of their versions.
    ///
    /// - Parameters:
    ///   - source: A store of the old version, open in no coordinator.
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

    /// Compares the schemas and rows of two closed stores, by tables and columns.
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
