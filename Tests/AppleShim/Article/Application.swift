// The application that the tests of the article "Tests with Core Data and with SQLite" are about.
//
// Without bodies, as these types are only checked.

import CoreData

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

extension Bundle {
    /// The bundle of a target's resources, as SwiftPM generates it.
    static var module: Bundle { .main }
}
