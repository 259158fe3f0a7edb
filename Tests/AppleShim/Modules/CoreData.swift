// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Core Data that the sources use. The comment before each declaration names its source; see
// XCTest.swift.
//
// No class is Sendable here, although Apple marks some as Sendable. Code that compiles here compiles there
// too.

@_exported public import Foundation

// not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectmodel
open class NSManagedObjectModel: NSObject {
    public override init() {}
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectmodel/init(contentsof:)
    public init?(contentsOf url: URL) {}
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectmodel/entities
    open var entities: [NSEntityDescription] {
        get { [] }
        set {}
    }
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectmodel/isconfiguration(withname:compatiblewithstoremetadata:)
    open func isConfiguration(
        withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
    ) -> Bool { false }
}

// https://developer.apple.com/documentation/coredata/nspersistentstore
open class NSPersistentStore: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstore/storetype
    public struct StoreType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        // not read: https://developer.apple.com/documentation/coredata/nspersistentstore/storetype/sqlite
        public static let sqlite = StoreType(rawValue: "SQLite")
        // not read: https://developer.apple.com/documentation/coredata/nspersistentstore/storetype/inmemory
        public static let inMemory = StoreType(rawValue: "InMemory")
    }

    // not read: https://developer.apple.com/documentation/coredata/nspersistentstore/type
    open var type: String { "" }
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstore/url
    open var url: URL? {
        get { nil }
        set {}
    }
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstore/options
    open var options: [AnyHashable: Any]? { nil }
}

// https://developer.apple.com/documentation/coredata/nspersistentstorecoordinator
open class NSPersistentStoreCoordinator: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstorecoordinator/init(managedobjectmodel:)
    public init(managedObjectModel model: NSManagedObjectModel) {}
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstorecoordinator/managedobjectmodel
    open var managedObjectModel: NSManagedObjectModel { NSManagedObjectModel() }
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstorecoordinator/persistentstores
    open var persistentStores: [NSPersistentStore] { [] }
    // https://developer.apple.com/documentation/coredata/nspersistentstorecoordinator/remove(_:)
    open func remove(_ store: NSPersistentStore) throws {}
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstorecoordinator/metadataforpersistentstore(type:at:options:)
    open class func metadataForPersistentStore(
        type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] { [:] }
}

extension NSNotification.Name {
    // not read: https://developer.apple.com/documentation/foundation/nsnotification/name-swift.struct/nspersistentstorecoordinatorstoresdidchange
    public static let NSPersistentStoreCoordinatorStoresDidChange = NSNotification.Name("did")
}

// not read: https://developer.apple.com/documentation/coredata/nsentitydescription
open class NSEntityDescription: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nsentitydescription/name
    open var name: String?
}

// not read: https://developer.apple.com/documentation/coredata/nsfetchrequestresult
public protocol NSFetchRequestResult: NSObjectProtocol {}

// not read: https://developer.apple.com/documentation/coredata/nsmanagedobject
open class NSManagedObject: NSObject, NSFetchRequestResult {
    // Not required in Apple's class: as an imported initializer, it can be called on any metatype.
    // https://developer.apple.com/documentation/coredata/nsmanagedobject/init(context:)
    public required init(context moc: NSManagedObjectContext) {}
}

// not read: https://developer.apple.com/documentation/coredata/nsfetchrequest
open class NSFetchRequest<ResultType: NSFetchRequestResult>: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nsfetchrequest/init(entityname:)
    public convenience init(entityName: String) { self.init() }
    // not read: https://developer.apple.com/documentation/coredata/nsfetchrequest/includessubentities
    open var includesSubentities = true
    // not read: https://developer.apple.com/documentation/coredata/nsfetchrequest/includespropertyvalues
    open var includesPropertyValues = true
}

// not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext
open class NSManagedObjectContext: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/haschanges
    open var hasChanges: Bool { false }
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/save()
    open func save() throws {}
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/delete(_:)
    open func delete(_ object: NSManagedObject) {}
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/fetch(_:)
    public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] where T: NSFetchRequestResult { [] }
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/count(for:)
    public func count<T>(for request: NSFetchRequest<T>) throws -> Int where T: NSFetchRequestResult {
        0
    }
    // https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/performandwait(_:)
    public func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try block() }
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/reset()
    open func reset() {}
}

// not read: https://developer.apple.com/documentation/coredata/nspersistentstoredescription
open class NSPersistentStoreDescription: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstoredescription/init(url:)
    public init(url: URL) {}
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstoredescription/shouldaddstoreasynchronously
    open var shouldAddStoreAsynchronously = false
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstoredescription/shouldmigratestoreautomatically
    open var shouldMigrateStoreAutomatically = true
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstoredescription/type
    open var type: String {
        get { "" }
        set {}
    }
}

// not read: https://developer.apple.com/documentation/coredata/nspersistentcontainer
open class NSPersistentContainer: NSObject {
    // Not required in Apple's class. Swift allows calling an initializer on the metatype of a generic parameter if it is
    // required, or if it is imported from Objective-C.
    // https://developer.apple.com/documentation/coredata/nspersistentcontainer/init(name:managedobjectmodel:)
    public required init(name: String, managedObjectModel model: NSManagedObjectModel) {}
    // https://developer.apple.com/documentation/coredata/nspersistentcontainer/managedobjectmodel
    open var managedObjectModel: NSManagedObjectModel { NSManagedObjectModel() }
    // https://developer.apple.com/documentation/coredata/nspersistentcontainer/newbackgroundcontext()
    open func newBackgroundContext() -> NSManagedObjectContext { NSManagedObjectContext() }
    // not read: https://developer.apple.com/documentation/coredata/nspersistentcontainer/viewcontext
    open var viewContext: NSManagedObjectContext { NSManagedObjectContext() }
    // not read: https://developer.apple.com/documentation/coredata/nspersistentcontainer/persistentstorecoordinator
    open var persistentStoreCoordinator: NSPersistentStoreCoordinator {
        NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel())
    }
    // not read: https://developer.apple.com/documentation/coredata/nspersistentcontainer/persistentstoredescriptions
    open var persistentStoreDescriptions: [NSPersistentStoreDescription] = []
    // not read: https://developer.apple.com/documentation/coredata/nspersistentcontainer/loadpersistentstores(completionhandler:)
    open func loadPersistentStores(
        completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
    ) {}
}

// not read: https://developer.apple.com/documentation/coredata/nsmappingmodel
open class NSMappingModel: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nsmappingmodel/inferredmappingmodel(forsourcemodel:destinationmodel:)
    open class func inferredMappingModel(
        forSourceModel sourceModel: NSManagedObjectModel,
        destinationModel: NSManagedObjectModel
    ) throws -> NSMappingModel { NSMappingModel() }
}

// https://developer.apple.com/documentation/coredata/nsmigrationmanager
open class NSMigrationManager: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nsmigrationmanager/init(sourcemodel:destinationmodel:)
    public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {}
    // https://developer.apple.com/documentation/coredata/nsmigrationmanager/migratestore(from:type:options:mapping:to:type:options:)
    open func migrateStore(
        from sourceURL: URL, type sourceStoreType: NSPersistentStore.StoreType,
        options sourceOptions: [AnyHashable: Any]? = nil, mapping mappings: NSMappingModel,
        to destinationURL: URL, type destinationStoreType: NSPersistentStore.StoreType,
        options destinationOptions: [AnyHashable: Any]? = nil
    ) throws {}
}

// Keys of notifications and options

// not read: https://developer.apple.com/documentation/coredata/nsaddedpersistentstoreskey
public let NSAddedPersistentStoresKey: String = "added"
// not read: https://developer.apple.com/documentation/coredata/nsremovedpersistentstoreskey
public let NSRemovedPersistentStoresKey: String = "removed"
// not read: https://developer.apple.com/documentation/coredata/nspersistenthistorytrackingkey
public let NSPersistentHistoryTrackingKey: String = "history"
// not read: https://developer.apple.com/documentation/coredata/nsreadonlypersistentstoreoption
public let NSReadOnlyPersistentStoreOption: String = "read-only"
// not read: https://developer.apple.com/documentation/coredata/nssqlitepragmasoption
public let NSSQLitePragmasOption: String = "pragmas"
