// The application that the tests of the article "Test kit" are about.
//
// Without bodies, as these types are only checked.

import CoreData
import FailureArtifactsCoreData
import FailureArtifactsTestKit

final class StationContainer: NSPersistentContainer {
    func importStations(_ names: [String]) throws {}
    func stationNames() throws -> [String] { [] }
}

final class FruitManager: @unchecked Sendable {
    static let shared = FruitManager()

    func inject(_ container: NSPersistentContainer) {}
    func create(_ name: String, price: Int64) throws {}
    func update(_ name: String, price: Int64) throws {}
    func delete(_ name: String) throws {}
    func price(of name: String) throws -> Int64? { nil }
}

/// A test case that overrides everything that a test case for a container can override.
class FruitContainerTestCase: CoreDataTestCase<FruitContainer> {
    // It doesn't throw, unlike the overridden property.
    override var model: NSManagedObjectModel { preconditionFailure() }
    override var modelBundle: Bundle { .module }
    override var storeName: String { "fruits" }
    override var placement: StorePlacement { .onDisk }
    override var storeType: NSPersistentStore.StoreType { .sqlite }
    override var stopsAtFirstFailure: Bool { true }

    override func makeContainer(name: String, model: NSManagedObjectModel) -> FruitContainer {
        FruitContainer(model: model)
    }

    override func configure(_ description: NSPersistentStoreDescription) {}
    override func prepare(_ context: NSManagedObjectContext) throws {}
}

/// A container with an initializer of its own.
final class FruitContainer: NSPersistentContainer {
    init(model: NSManagedObjectModel) { super.init(name: "Fruits", managedObjectModel: model) }

    // The module for the check needs it, unlike Apple's: see there.
    required init(name: String, managedObjectModel model: NSManagedObjectModel) {
        super.init(name: name, managedObjectModel: model)
    }
}

extension Bundle {
    /// The bundle of a target's resources, as SwiftPM generates it.
    static var module: Bundle { .main }
}
