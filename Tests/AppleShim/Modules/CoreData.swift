// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Core Data that the sources use, as in
// https://developer.apple.com/documentation/coredata.
//
// No class is Sendable here, although Apple marks some as Sendable. Code that compiles here compiles there
// too.

@_exported public import Foundation

public let NSSQLiteStoreType = "SQLite"

open class NSManagedObjectModel: NSObject {
    open func isConfiguration(
        withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
    ) -> Bool { false }
}

open class NSPersistentStore: NSObject {
    public struct StoreType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let sqlite = StoreType(rawValue: "SQLite")
        public static let inMemory = StoreType(rawValue: "InMemory")
    }

    open var type: String { "" }
    open var url: URL? {
        get { nil }
        set {}
    }
    open var options: [AnyHashable: Any]? { nil }
}

open class NSPersistentStoreCoordinator: NSObject {
    public init(managedObjectModel model: NSManagedObjectModel) {}
    open var managedObjectModel: NSManagedObjectModel { NSManagedObjectModel() }
    open var persistentStores: [NSPersistentStore] { [] }
    open func remove(_ store: NSPersistentStore) throws {}
    open func replacePersistentStore(
        at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
        withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil,
        type sourceType: NSPersistentStore.StoreType
    ) throws {}
    open class func metadataForPersistentStore(
        type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] { [:] }
}

extension NSNotification.Name {
    public static let NSPersistentStoreCoordinatorStoresDidChange = NSNotification.Name("did")
    public static let NSPersistentStoreCoordinatorStoresWillChange = NSNotification.Name("will")
    public static let NSPersistentStoreCoordinatorWillRemoveStore = NSNotification.Name("remove")
}

open class NSManagedObjectContext: NSObject {
    open func reset() {}
}

open class NSPersistentStoreDescription: NSObject {
    public init(url: URL) {}
    open var shouldAddStoreAsynchronously = false
}

open class NSPersistentContainer: NSObject {
    public init(name: String, managedObjectModel model: NSManagedObjectModel) {}
    open var viewContext: NSManagedObjectContext { NSManagedObjectContext() }
    open var persistentStoreCoordinator: NSPersistentStoreCoordinator {
        NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel())
    }
    open var persistentStoreDescriptions: [NSPersistentStoreDescription] = []
    open func loadPersistentStores(
        completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
    ) {}
}

open class NSMappingModel: NSObject {
    open class func inferredMappingModel(
        forSourceModel sourceModel: NSManagedObjectModel,
        destinationModel: NSManagedObjectModel
    ) throws -> NSMappingModel { NSMappingModel() }
}

open class NSMigrationManager: NSObject {
    public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {}
    open func migrateStore(
        from sourceURL: URL, type sourceStoreType: NSPersistentStore.StoreType,
        options sourceOptions: [AnyHashable: Any]? = nil, mapping mappings: NSMappingModel,
        to destinationURL: URL, type destinationStoreType: NSPersistentStore.StoreType,
        options destinationOptions: [AnyHashable: Any]? = nil
    ) throws {}
}
