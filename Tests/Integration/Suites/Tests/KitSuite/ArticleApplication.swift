import FailureArtifactsTestKit

// The application that the tests of the article "Test kit" are about.

final class StationStore: TestStore {
    private let store: SQLiteTestStore

    init(at location: StoreLocation) throws { store = try SQLiteTestStore(at: location) }

    func close() { store.close() }

    func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try store.withConnection(body)
    }

    func importStations(_ names: [String]) throws {
        try store.execute("DELETE FROM station")
        for name in names { try store.rows("INSERT INTO station VALUES (?)", .text(name)) }
    }

    func stationNames() throws -> [String] {
        try store.rows("SELECT name FROM station ORDER BY name").map { row in
            guard case .text(let name) = row[0] else { return "no name" }
            return name
        }
    }
}

final class FruitManager: @unchecked Sendable {
    static let shared = FruitManager()

    private var store: SQLiteTestStore?

    func inject(_ store: SQLiteTestStore) { self.store = store }

    func create(_ name: String, price: Int64) throws {
        try store?.rows("INSERT INTO fruit VALUES (?, ?)", .text(name), .integer(price))
    }

    func update(_ name: String, price: Int64) throws {
        try store?.rows("UPDATE fruit SET price = ? WHERE name = ?", .integer(price), .text(name))
    }

    func delete(_ name: String) throws {
        try store?.rows("DELETE FROM fruit WHERE name = ?", .text(name))
    }

    func price(of name: String) throws -> Int64? {
        let price = try store?.value("SELECT price FROM fruit WHERE name = ?", .text(name))
        guard case .integer(let number)? = price else { return nil }
        return number
    }
}
