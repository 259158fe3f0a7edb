#if canImport(CoreData)
public import CoreData
internal import FailureArtifactsCapture
public import FailureArtifactsTestKit
internal import FailureArtifactsSystem

/// A version of a model, by the name that its store has in a bundle.
public struct CoreDataVersion {
    /// Such as `App V1`.
    public let name: String
    /// Its model.
    public let model: NSManagedObjectModel

    /// Creates a version.
    ///
    /// - Parameters:
    ///   - name: Such as `App V1`; what its store is called in a bundle.
    ///   - model: Its model.
    public init(_ name: String, _ model: NSManagedObjectModel) {
        self.name = name
        self.model = model
    }
}

/// Migrations of closed stores by `NSMigrationManager`, each into a new file.
///
/// ```swift
/// let v1 = CoreDataVersion("App V1", modelV1), v2 = CoreDataVersion("App V2", modelV2)
/// let new = directory.appending(path: "v2.sqlite")
/// try CoreDataMigration.migrate(storeAt: old, from: v1, to: v2, into: new)
/// XCTAssertEqual(try CoreDataMigration.difference(from: old, to: new).rows["ZGAME"], nil)
/// ```
public enum CoreDataMigration {
    /// Migrates a store that nobody has open; it stays as it was.
    ///
    /// Should the test fail, both stores are in its bundle, by the names of their versions.
    ///
    /// - Parameters:
    ///   - source: A store of the first version.
    ///   - old: The version it has.
    ///   - new: The version it is to get.
    ///   - mapping: How; nil for the mapping that Core Data infers.
    ///   - destination: A file that does not exist.
    ///   - options: Those that the stores are opened with.
    /// - Throws: That no mapping can be inferred, or why the migration failed.
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

    /// Whether a store on disk is one of a version's, by the hashes of its entities.
    ///
    /// - Parameters:
    ///   - url: The store.
    ///   - version: The version.
    /// - Returns: Whether Core Data would open it without a migration.
    /// - Throws: Why the store's metadata cannot be read.
    public static func isStore(at url: URL, of version: CoreDataVersion) throws -> Bool {
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
            type: .sqlite, at: url)
        return version.model.isConfiguration(
            withName: nil, compatibleWithStoreMetadata: metadata)
    }

    /// What differs between two closed stores: schema and rows, by tables and columns.
    ///
    /// - Parameters:
    ///   - old: What there was.
    ///   - new: What it became.
    /// - Returns: The difference.
    /// - Throws: Why a store cannot be read.
    public static func difference(from old: URL, to new: URL) throws -> StoreDifference {
        try StoreDifference(
            fromFile: old.path(percentEncoded: false), to: new.path(percentEncoded: false))
    }
}
#endif
