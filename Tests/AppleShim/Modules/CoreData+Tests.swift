// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Core Data that only the adapter's tests use, and the sources don't. The comment before each
// declaration names its source; see XCTest.swift.

// not read: https://developer.apple.com/documentation/coredata/nssqlitestoretype
public let NSSQLiteStoreType: String = "SQLite"
// not read: https://developer.apple.com/documentation/coredata/nsinmemorystoretype
public let NSInMemoryStoreType: String = "InMemory"

extension NSManagedObjectModel {
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectmodel/entities
    public var entities: [NSEntityDescription] {
        get { [] }
        set {}
    }
}

extension NSPersistentStoreDescription {
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstoredescription/type
    public var type: String {
        get { "" }
        set {}
    }
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstoredescription/setoption(_:forkey:)
    public func setOption(_ option: NSObject?, forKey key: String) {}
}

extension NSPersistentStoreCoordinator {
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstorecoordinator/performandwait(_:)
    public func performAndWait(_ block: () -> Void) {}
}

extension NSManagedObjectContext {
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobjectcontext/save()
    public func save() throws {}
}

// not read: https://developer.apple.com/documentation/coredata/nspropertydescription
open class NSPropertyDescription: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nspropertydescription/name
    open var name = ""
    // not read: https://developer.apple.com/documentation/coredata/nspropertydescription/isoptional
    open var isOptional = true
}

// not read: https://developer.apple.com/documentation/coredata/nsattributetype
public enum NSAttributeType {
    case stringAttributeType
}

// not read: https://developer.apple.com/documentation/coredata/nsattributedescription
open class NSAttributeDescription: NSPropertyDescription {
    // not read: https://developer.apple.com/documentation/coredata/nsattributedescription/attributetype
    open var attributeType = NSAttributeType.stringAttributeType
}

// not read: https://developer.apple.com/documentation/coredata/nsmanagedobject
open class NSManagedObject: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobject/setvalue(_:forkey:)
    open func setValue(_ value: Any?, forKey key: String) {}
}

// not read: https://developer.apple.com/documentation/coredata/nsentitydescription
open class NSEntityDescription: NSObject {
    // not read: https://developer.apple.com/documentation/coredata/nsentitydescription/name
    open var name: String?
    // not read: https://developer.apple.com/documentation/coredata/nsentitydescription/properties
    open var properties: [NSPropertyDescription] = []
    // not read: https://developer.apple.com/documentation/coredata/nsentitydescription/insertnewobject(forentityname:into:)
    open class func insertNewObject(
        forEntityName entityName: String, into context: NSManagedObjectContext
    ) -> NSManagedObject { NSManagedObject() }
}
