import FailureArtifactsSQLite
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct CoreDataStoreTests {
    @Test func theModelOfAStore() throws {
        let fixture = try Fixture()
        let connection = try Connection(path: fixture.coreDataStore(), mode: .immutable)
        let store = try #require(try CoreDataStore.read(connection, counts: true))
        #expect(store.uuid == "5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11")
        #expect(
            store.entities.map(\.name)
                == ["Basket", "Fruit", "Citrus", "Person", "Farmer", "Tag", "果物屋"])
        #expect(store.entities.map(\.rows) == [2, 2, 1, 1, 1, 2, 1])
        let fruit = try #require(store.root(ofTable: "ZFRUIT"))
        #expect(
            fruit.attributes.map(\.name) == [
                "count", "isripe", "seeds", "pickedat", "weight", "price", "name", "identifier", "photo",
                "color",
            ])
        #expect(
            fruit.toOne == [
                .init(name: "basket", column: "ZBASKET", entity: "Basket"),
                .init(name: "grower", column: "ZGROWER", entity: "Person"),
            ])
        let citrus = try #require(store.entity(3))
        #expect(citrus.superentity == "Fruit" && citrus.table == "ZFRUIT")
        #expect(store.links.map(\.name) == ["Fruit.tags", "Person.friends"])
    }

    @Test func persistentHistoryHasTablesOfItsOwn() throws {
        let fixture = try Fixture()
        let connection = try Connection(path: fixture.coreDataStore(history: true), mode: .immutable)
        let store = try #require(try CoreDataStore.read(connection, counts: true))
        let entities = store.entities.suffix(3)
        #expect(entities.map(\.name) == ["CHANGE", "TRANSACTION", "TRANSACTIONSTRING"])
        #expect(entities.map(\.table) == ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"])
        #expect(entities.map(\.rows) == [2, 1, 1])
        #expect(entities.first?.toOne.map(\.column) == ["ZTRANSACTIONID"])
        #expect(entities.dropFirst().first?.attributes.first { $0.name == "timestamp" }?.isDate == true)
        #expect(entities.last?.attributes == [.init(name: "name", column: "ZNAME", type: "VARCHAR")])
    }

    @Test func anEntityOfTheModelMayBeCalledAsOneOfPersistentHistory() throws {
        let fixture = try Fixture()
        let path = try fixture.coreDataStore(
            history: true,
            sql: """
                INSERT INTO Z_PRIMARYKEY VALUES (8, 'Change', 0, 1);
                CREATE TABLE ZCHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZREASON VARCHAR);
                INSERT INTO ZCHANGE VALUES (1, 8, 1, 'because')
                """)
        let store = try #require(
            try CoreDataStore.read(Connection(path: path, mode: .immutable), counts: true))
        let tables = Dictionary(uniqueKeysWithValues: store.entities.map { ($0.name, $0.table) })
        #expect(tables["Change"] == "ZCHANGE" && tables["CHANGE"] == "ACHANGE")
        #expect(store.entity(8)?.rows == 1 && store.entity(16001)?.rows == 2)
    }

    private func model(_ fixture: borrowing Fixture, _ sql: String) throws -> CoreDataStore {
        let connection = try Connection(path: fixture.coreDataStore(sql: sql), mode: .immutable)
        return try #require(try CoreDataStore.read(connection))
    }

    @Test func whatMakesNoSenseIsLeftOut() throws {
        // Of several entities with one name, only the first counts, because inheritance is derived from names.
        let one = try model(
            try Fixture(),
            "DELETE FROM Z_PRIMARYKEY; INSERT INTO Z_PRIMARYKEY VALUES (1, 'E', 0, 0), (2, 'E', 1, 0), (3, 'F', 2, 0)"
        )
        #expect(one.entities.map(\.name) == ["E", "F"])
        #expect(one.entities.map(\.superentity) == [nil, nil])
        let circle = try model(try Fixture(), "UPDATE Z_PRIMARYKEY SET Z_SUPER = Z_ENT % 7 + 1")
        #expect(circle.entities.count == 7 && circle.entities.allSatisfy { $0.table == nil })
        let links = try model(
            try Fixture(),
            "CREATE TABLE Z_2MORE(Z_3A, Z_6MORE); CREATE TABLE Z_2NONE(Z_2A, Z_66NONE); CREATE TABLE Z_2ONE(Z_2A)"
        )
        #expect(links.links.map(\.name) == ["Fruit.tags", "Person.friends"])
    }

    /// Tables that only have Core Data's table names.
    @Test(arguments: [
        "CREATE TABLE Z_METADATA(a); CREATE TABLE Z_PRIMARYKEY(Z_ENT, Z_NAME, Z_SUPER)",
        "CREATE TABLE Z_METADATA(Z_UUID, Z_PLIST); CREATE TABLE Z_PRIMARYKEY(b)",
        "CREATE VIEW Z_METADATA AS SELECT 1 AS Z_UUID, 2 AS Z_PLIST; CREATE TABLE Z_PRIMARYKEY(Z_ENT)",
        "CREATE TABLE zfruit(a)",
    ])
    func storesOfOthers(_ sql: String) throws {
        let fixture = try Fixture()
        let path = try fixture.write(try fixture.store(sql), to: "other.sqlite")
        #expect(try CoreDataStore.read(Connection(path: path, mode: .immutable)) == nil)
    }

    @Test func aViewThatSQLiteRefusesIsLeftOut() throws {
        var store = CoreDataStore()
        store.entities = [
            .init(name: "Good", number: 1, table: "ZGOOD"), .init(name: "Bad", number: 2, table: "ZBAD"),
        ]
        store.entities[1].attributes = [.init(name: "a\0b", column: "ZA", type: "")]
        let fixture = try Fixture()
        let sql = "CREATE TABLE ZGOOD(Z_PK); CREATE TABLE ZBAD(Z_PK, ZA); INSERT INTO ZGOOD VALUES (7)"
        let path = try fixture.write(try fixture.store(sql), to: "refused.sqlite")
        let connection = try Connection(path: path, mode: .readWrite)
        var views = CoreDataViews(store)
        let refused = try views.create(on: connection)
        #expect(
            refused.count == 1
                && refused[0].hasPrefix("The entity or relationship 'Bad' can't be shown: "))
        #expect(views.names == ["ZGOOD": "Good"])
        #expect(try connection.integer(of: "SELECT _id FROM Good") == 7)
    }
}
