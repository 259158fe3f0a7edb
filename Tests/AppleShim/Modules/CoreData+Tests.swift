// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Core Data that only the adapter's tests and the article's use, and the sources don't.
// The comment before each declaration names its source; see XCTest.swift.

// not read: https://developer.apple.com/documentation/coredata/nssqlitestoretype
public let NSSQLiteStoreType: String = "SQLite"
// not read: https://developer.apple.com/documentation/coredata/nsinmemorystoretype
public let NSInMemoryStoreType: String = "InMemory"

extension NSPersistentStoreDescription {
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstoredescription/setoption(_:forkey:)
    public func setOption(_ option: NSObject?, forKey key: String) {}
}

extension NSPersistentStoreCoordinator {
    // not read: https://developer.apple.com/documentation/coredata/nspersistentstorecoordinator/performandwait(_:)
    public func performAndWait(_ block: () -> Void) {}
}

extension NSFetchRequest {
    // not read: https://developer.apple.com/documentation/coredata/nsfetchrequest/sortdescriptors
    public var sortDescriptors: [NSSortDescriptor]? {
        get { nil }
        set {}
    }
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

extension NSManagedObject {
    // not read: https://developer.apple.com/documentation/coredata/nsmanagedobject/setvalue(_:forkey:)
    public func setValue(_ value: Any?, forKey key: String) {}
}

extension NSEntityDescription {
    // not read: https://developer.apple.com/documentation/coredata/nsentitydescription/properties
    public var properties: [NSPropertyDescription] {
        get { [] }
        set {}
    }
    // not read: https://developer.apple.com/documentation/coredata/nsentitydescription/propertiesbyname
    public var propertiesByName: [String: NSPropertyDescription] { [:] }
    // not read: https://developer.apple.com/documentation/coredata/nsentitydescription/entity(forentityname:in:)
    public class func entity(
        forEntityName entityName: String, in context: NSManagedObjectContext
    ) -> NSEntityDescription? { nil }
    // not read: https://developer.apple.com/documentation/coredata/nsentitydescription/insertnewobject(forentityname:into:)
    public class func insertNewObject(
        forEntityName entityName: String, into context: NSManagedObjectContext
    ) -> NSManagedObject { NSManagedObject(context: context) }
}
