// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Core Data that the sources use, as in
// https://developer.apple.com/documentation/coredata.
//
// No class is Sendable here, although Apple marks some as Sendable. Code that compiles here compiles there
// too.

@_exported public import Foundation

public let NSSQLiteStoreType = "SQLite"

open class NSManagedObjectModel: NSObject {
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectmodel/init(contentsof:)
    public init?(contentsOf url: URL) {}
    override init() {}
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectmodel/entities
    open var entities: [NSEntityDescription] {
        get { [] }
        set {}
    }
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

// https://developer.apple.com/documentation/coredata/nsentitydescription
open class NSEntityDescription: NSObject {
    open var name: String? {
        get { nil }
        set {}
    }
    open var propertiesByName: [String: NSPropertyDescription] { [:] }
    open class func entity(
        forEntityName entityName: String, in context: NSManagedObjectContext
    ) -> NSEntityDescription? { nil }
    open class func insertNewObject(
        forEntityName entityName: String, into context: NSManagedObjectContext
    ) -> NSManagedObject { NSManagedObject(context: context) }
}

// https://developer.apple.com/documentation/coredata/nspropertydescription
open class NSPropertyDescription: NSObject {}

// https://developer.apple.com/documentation/coredata/nsfetchrequestresult
public protocol NSFetchRequestResult: NSObjectProtocol {}

// https://developer.apple.com/documentation/coredata/nsmanagedobject
open class NSManagedObject: NSObject, NSFetchRequestResult {
    // https://developer.apple.com/documentation/coredata/nsmanagedobject/init(context:)
    // Not required in Apple's class either: as an imported initializer, it can be called on any metatype.
    public required init(context moc: NSManagedObjectContext) {}
    open func setValue(_ value: Any?, forKey key: String) {}
}

// https://developer.apple.com/documentation/coredata/nsfetchrequest
open class NSFetchRequest<ResultType: NSFetchRequestResult>: NSObject {
    public convenience init(entityName: String) { self.init() }
    open var includesSubentities = true
    open var includesPropertyValues = true
    open var sortDescriptors: [NSSortDescriptor]?
}

// https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext
open class NSManagedObjectContext: NSObject {
    open var hasChanges: Bool { false }
    open func reset() {}
    open func save() throws {}
    open func delete(_ object: NSManagedObject) {}
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/fetch(_:)
    public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] where T: NSFetchRequestResult { [] }
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/count(for:)
    public func count<T>(for request: NSFetchRequest<T>) throws -> Int where T: NSFetchRequestResult {
        0
    }
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/performandwait(_:)
    public func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try block() }
}

// https://developer.apple.com/documentation/coredata/nspersistentstoredescription
open class NSPersistentStoreDescription: NSObject {
    public init(url: URL) {}
    open var type = NSSQLiteStoreType
    open var shouldMigrateStoreAutomatically = true
    open var shouldAddStoreAsynchronously = false
}

open class NSPersistentContainer: NSObject {
    // https://developer.apple.com/documentation/coredata/nspersistentcontainer/init(name:managedobjectmodel:)
    // Not required in Apple's class. Swift allows calling an initializer on the metatype of a generic parameter if it is
    // required, or if it is imported from Objective-C.
    public required init(name: String, managedObjectModel model: NSManagedObjectModel) {}
    // https://developer.apple.com/documentation/coredata/nspersistentcontainer/managedobjectmodel
    open var managedObjectModel: NSManagedObjectModel { NSManagedObjectModel() }
    // https://developer.apple.com/documentation/coredata/nspersistentcontainer/newbackgroundcontext()
    open func newBackgroundContext() -> NSManagedObjectContext { NSManagedObjectContext() }
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
