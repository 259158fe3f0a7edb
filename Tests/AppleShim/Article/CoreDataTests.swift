// The tests for Core Data that correspond to those for SQLite in the article "Test kit". The first one is in the article.

import CoreData
import FailureArtifactsCoreData
import FailureArtifactsTestKit
import XCTest

final class GameMigrationTests: XCTestCase {
    private func games() throws -> [CoreDataVersion] {
        try ["App V1", "App V2"].map { try CoreDataVersion($0, ofModel: "Games", in: .module) }
    }

    func testV2AddsTheAvailability() throws {
        try withMigrations(of: games()) { stores in
            func hasAvailability(_ container: NSPersistentContainer) -> Bool {
                let game = NSEntityDescription.entity(forEntityName: "Game", in: container.viewContext)
                return game?.propertiesByName["isAvailable"] != nil
            }
            XCTAssertFalse(hasAvailability(try stores.start(at: "App V1")))
            XCTAssertTrue(hasAvailability(try stores.migrate(to: "App V2")))
        }
    }

    func testV2KeepsTheGames() throws {
        try withMigrations(of: games()) { stores in
            let old = try stores.start(at: "App V1").viewContext
            for title in ["Go", "Shogi"] {
                let game = NSEntityDescription.insertNewObject(forEntityName: "Game", into: old)
                game.setValue(title, forKey: "title")
            }
            try old.save()

            let new = try stores.migrate(to: "App V2").viewContext
            let games = try new.fetch(NSFetchRequest<NSManagedObject>(entityName: "Game"))
            XCTAssertEqual(Set(games.map { $0.value(forKey: "title") as? String }), ["Go", "Shogi"])
            games.first?.setValue(true, forKey: "isAvailable")
            XCTAssertNoThrow(try new.save())
        }
    }
}

final class OrderTests: CoreDataTestCase<NSPersistentContainer> {
    override var model: NSManagedObjectModel {
        get throws { try CoreDataModel.load("Orders", in: .module) }
    }
    override var storeType: NSPersistentStore.StoreType { .inMemory }

    func testStoreIsLoadedAndEmpty() throws {
        XCTAssertEqual(container.persistentStoreCoordinator.persistentStores.count, 1)
        let request = NSFetchRequest<NSManagedObject>(entityName: "Order")
        XCTAssertEqual(try context.count(for: request), 0)
    }
}

let sharedFruits = SharedContainer(named: "fruits", placement: .atDevNull) {
    NSPersistentContainer(
        name: "Fruits", managedObjectModel: try CoreDataModel.load("Fruits", in: .module))
}

class FruitTestCase: SharedCoreDataTestCase<NSPersistentContainer> {
    override class var sharedContainer: SharedContainer<NSPersistentContainer> { sharedFruits }

    override func setUp() { FruitManager.shared.inject(container) }
}

final class FruitManagerTests: FruitTestCase {
    override func tearDownWithError() throws { try container.deleteAllObjects() }

    func test_果物を追加できる() throws {
        try FruitManager.shared.create("りんご", price: 300)
        XCTAssertEqual(try FruitManager.shared.price(of: "りんご"), 300)
    }

    func test_果物を更新できる() throws {
        try FruitManager.shared.create("りんご", price: 300)
        try FruitManager.shared.update("りんご", price: 500)
        XCTAssertEqual(try FruitManager.shared.price(of: "りんご"), 500)
    }

    func test_果物を削除できる() throws {
        try FruitManager.shared.create("りんご", price: 300)
        try FruitManager.shared.delete("りんご")
        XCTAssertNil(try FruitManager.shared.price(of: "りんご"))
    }
}

final class ForgetfulTests: FruitTestCase {
    func test_果物を追加できる() throws { try FruitManager.shared.create("りんご", price: 300) }
}

final class DepartureTests: CoreDataTestCase<NSPersistentContainer> {
    override var model: NSManagedObjectModel {
        get throws { try CoreDataModel.load("Departures", in: .module) }
    }
    override var storeName: String { "departures" }

    func testDelay() throws {
        let departure = NSEntityDescription.insertNewObject(forEntityName: "Departure", into: context)
        departure.setValue("Hikari 505", forKey: "train")
        departure.setValue(7, forKey: "delay")
        try context.save()
        XCTAssertEqual(departure.value(forKey: "delay") as? Int, 5)
    }
}
