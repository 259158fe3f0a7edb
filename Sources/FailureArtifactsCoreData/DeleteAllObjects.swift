#if canImport(CoreData)
public import CoreData

extension NSPersistentContainer {
    /// Deletes all saved objects of all entities, and discards the changes that `viewContext` has not saved.
    ///
    /// The objects are deleted and saved together, in a context of their own: if the deletion fails, no object is deleted.
    /// The delete rules of the model apply. Stores of all types are supported. Call this method on the main thread while
    /// no other context uses the container.
    ///
    /// - Parameter kept: The names of entities whose objects stay, unless a delete rule deletes them.
    /// - Throws: Core Data's error if the objects cannot be fetched or deleted, such as by the delete rule Deny.
    public func deleteAllObjects(keeping kept: Set<String> = []) throws {
        let context = newBackgroundContext()
        try context.performAndWait {
            for name in entityNames where !kept.contains(name) {
                let request = Self.request(for: name)
                request.includesPropertyValues = false
                for object in try context.fetch(request) { context.delete(object) }
            }
            try context.save()
        }
        viewContext.reset()
    }

    /// Counts the saved objects of each entity.
    func countSavedObjects() throws -> [String: Int] {
        let context = newBackgroundContext()
        return try context.performAndWait {
            var counts: [String: Int] = [:]
            for name in entityNames { counts[name] = try context.count(for: Self.request(for: name)) }
            return counts
        }
    }

    private var entityNames: [String] { managedObjectModel.entities.compactMap(\.name) }

    /// Returns a request for the objects of one entity, without those of the entities that inherit from it.
    private static func request(for name: String) -> NSFetchRequest<NSManagedObject> {
        let request = NSFetchRequest<NSManagedObject>(entityName: name)
        request.includesSubentities = false
        return request
    }
}
#endif
