import FailureArtifactsTestKit
import Foundation
import Testing

/// The kit with Swift Testing: closures in place of base classes.
@Suite struct KitExamples {
    static let fruits = StoreContent<SQLiteTestStore>.script("CREATE TABLE fruit (name TEXT NOT NULL)")

    @Test(arguments: 1...8) func isolated(_ count: Int) throws {
        try withTestStore(SQLiteTestStore.self, Self.fruits) { store in
            for number in 1...count {
                try store.rows("INSERT INTO fruit VALUES (?)", .text("\(number)"))
            }
            #expect(try store.value("SELECT count(*) FROM fruit") == .integer(Int64(count)))
        }
    }

    @Test(arguments: StorePlacement.allCases) func everywhere(_ placement: StorePlacement) async throws {
        try await withTestStore(GRDBStore.self, Fruits.withApples, placement: placement) { store in
            let count = try await store.queue.read { try Fruit.fetchCount($0) }
            #expect(count == 1)
        }
    }

    @Test(arguments: 1...8) func sharing(_ number: Int) async throws {
        try await Stations.shared.use { store in
            #expect(try store.value("SELECT count(*) FROM station") == 0)
            try Stations.fill(store)
            await Task.yield()
            #expect(try store.value("SELECT count(*) FROM station") == 2)
            try store.deleteAllRows()
        }
    }

    @Test func asynchronousMigration() async throws {
        try await withMigrations(of: BoardGames.versions) { stores in
            let store = try stores.start(at: "App V1")
            await Task.yield()
            try BoardGames.fill(store)
            try stores.migrate(to: "App V3")
            #expect(try stores.difference().addedTables == ["rating"])
        }
    }

    @Test func migration() throws {
        try withMigrations(of: BoardGames.versions) { stores in
            try BoardGames.fill(stores.start(at: "App V1"))
            try stores.migrate(to: "App V2")
            #expect(try stores.difference().rows.isEmpty)
        }
    }
}

@Suite struct KitFailures {
    @Test func expectation() throws {
        try withTestStore(SQLiteTestStore.self, KitExamples.fruits, named: "fruits") { store in
            try store.execute("INSERT INTO fruit VALUES ('apple')")
            #expect(try store.value("SELECT count(*) FROM fruit") == 2)
        }
    }

    @Test func thrownError() throws {
        try withTestStore(SQLiteTestStore.self, KitExamples.fruits, named: "fruits") { store in
            try store.execute("INSERT INTO fruit VALUES ('apple')")
            throw Rotten.apple
        }
    }

    @Test func afterwards() throws {
        try withTestStore(SQLiteTestStore.self, KitExamples.fruits, named: "fruits") { store in
            try store.execute("INSERT INTO fruit VALUES ('plum')")
        }
        #expect(Bool(false), "the store is closed and gone")
    }

    @Test func brokenInvariant() throws {
        try withTestStore(SQLiteTestStore.self, KitExamples.fruits, named: "fruits") { store in
            try store.execute("INSERT INTO fruit VALUES ('cherry')")
            assertInvariants(of: store)
            try store.execute("DELETE FROM fruit")
        }
    }

    @Test func opening() throws {
        try withTestStore(SQLiteTestStore.self, .script("CREATE TABEL fruit (name)")) { _ in }
    }

    @Test func thrownInSharedStore() async throws {
        try await Stations.leaking.use { store in
            try store.execute("INSERT INTO line (name) VALUES ('中央線')")
            throw Rotten.apple
        }
    }

    @Test func leak() async throws {
        try await Stations.leaking.use { try $0.execute("INSERT INTO line (name) VALUES ('山手線')") }
    }
}

/// Starts with the store that another test left.
@Suite struct RestoredTests {
    static let bundle = URL(
        filePath: ProcessInfo.processInfo.environment["KIT_BUNDLE"] ?? "no bundle was given")

    @Test func failure() throws {
        try withTestStore(SQLiteTestStore.self, .restored(from: Self.bundle)) { store in
            print("restored:", try store.value("SELECT group_concat(name) FROM fruit"))
        }
    }

    @Test func byName() throws {
        try withTestStore(SQLiteTestStore.self, .restored(from: Self.bundle, store: "fruits")) { _ in }
        #expect(throws: TestStoreError.self) {
            try withTestStore(SQLiteTestStore.self, .restored(from: Self.bundle, store: "nuts")) { _ in }
        }
    }

    @Test(arguments: 1...4) func commit(_ number: Int) throws {
        let store = try SQLiteTestStore.restored(from: Self.bundle, at: .commit(number))
        print("restored \(number):", try store.value("SELECT count(*) FROM fruit"))
    }
}

/// Leaves a store with a history: four transactions.
@Suite struct HistoryTests {
    @Test func transactions() throws {
        try withTestStore(SQLiteTestStore.self, named: "fruits", placement: .onDisk) { store in
            try store.execute("PRAGMA journal_mode = WAL; CREATE TABLE fruit (name TEXT NOT NULL)")
            try store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for name in ["apple", "pear", "plum"] {
                try store.rows("INSERT INTO fruit VALUES (?)", .text(name))
            }
            #expect(try store.value("SELECT count(*) FROM fruit") == 4)
        }
    }
}
