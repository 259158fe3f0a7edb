import FailureArtifactsSQLite
import FailureArtifactsSystem
import Foundation
import Testing

@testable import FailureArtifactsCommands

@Suite struct CoreDataTests {
    private static let maker = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "store.py").path

    private static let uuid = "5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11"

    /// A store in Core Data's layout.
    private func store(
        _ fixture: borrowing Fixture, after: Bool = false, history: Bool = false, sql: String = ""
    ) throws -> String {
        let path = fixture.path(after ? "after.sqlite" : "before.sqlite")
        let made = try Program.run(
            "/usr/bin/env",
            ["python3", "-B", Self.maker, path] + (history ? ["history"] : []) + (after ? ["after"] : [])
        )
        try #require(made.status == 0, "\(made.error)")
        if !sql.isEmpty { try Connection(path: path, mode: .readWrite).execute(sql) }
        return path
    }

    private func bundle(
        _ fixture: borrowing Fixture, history: Bool = false, sql: String = ""
    ) throws -> String {
        let tables = ["ZFRUIT", "Z_METADATA", "Z_PRIMARYKEY"]
            .map { "{\"name\": \"\($0)\", \"rows\": 3, \"exact\": true}" }.joined(separator: ", ")
        let metadata = Metadata.store("fruits").replacing(
            "\"bytes\": {}",
            with: "\"bytes\": {}, \"committedEntry\": \"stores/c.sqlite\", \"tables\": [\(tables)]")
        return try fixture.zip(
            "cd.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                (
                    "stores/fruits.sqlite",
                    try FileSystem.contents(
                        ofFile: store(fixture, after: true, history: history, sql: sql))
                ),
                (
                    "stores/c.sqlite",
                    try FileSystem.contents(ofFile: store(fixture, history: history))
                ),
            ])
    }

    @Test func theModelOfAStore() throws {
        let fixture = try Fixture()
        let connection = try Connection(path: store(fixture), mode: .immutable)
        let store = try #require(try CoreDataStore.read(connection, counts: true))
        #expect(store.uuid == "5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11")
        #expect(store.modelIdentifiers == ["Fruits V2"])
        #expect(store.modelHashes["果物屋"] == String(repeating: "06", count: 32))
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
                .init(name: "basket", column: "ZBASKET", entity: "Basket", orderColumn: "Z_FOK_BASKET"),
                .init(name: "grower", column: "ZGROWER", entity: "Person"),
            ])
        #expect(fruit.toMany.map(\.name) == ["tags"])
        let citrus = try #require(store.entity(3))
        #expect(citrus.superentity == "Fruit" && citrus.table == "ZFRUIT")
        let hierarchy = EntityHierarchy(store)
        #expect(hierarchy.family(of: fruit).map(\.name) == ["Fruit", "Citrus"])
        #expect(hierarchy.ancestors(of: citrus).map(\.name) == ["Fruit"])
        #expect(store.entity(6)?.toMany.map(\.name) == ["fruits"])
        #expect(store.entity(4)?.toMany.map(\.name) == ["friends", "Fruit.grower"])
        #expect(store.links.map(\.name) == ["Fruit.tags", "Person.friends"])
    }

    @Test func persistentHistoryHasTablesOfItsOwn() throws {
        let fixture = try Fixture()
        let connection = try Connection(path: store(fixture, history: true), mode: .immutable)
        let store = try #require(try CoreDataStore.read(connection, counts: true))
        let entities = store.entities.suffix(3)
        #expect(entities.map(\.name) == ["CHANGE", "TRANSACTION", "TRANSACTIONSTRING"])
        #expect(entities.map(\.table) == ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"])
        #expect(entities.map(\.rows) == [2, 1, 1])
        #expect(entities.first?.toOne.map(\.column) == ["ZTRANSACTIONID"])
        #expect(entities.last?.attributes == [.init(name: "name", column: "ZNAME", type: "VARCHAR")])
    }

    @Test func commandsKnowPersistentHistory() throws {
        let fixture = try Fixture()
        let path = try bundle(fixture, history: true)
        let shown = run("show", path).output
        #expect(shown.contains("\n    CHANGE  5 objects  (ACHANGE)\n"))
        #expect(shown.contains("\n    TRANSACTION  2 objects  (ATRANSACTION)\n"))
        #expect(!shown.contains("(no table)"))
        #expect(shown.contains("3 rows inserted into CHANGE"))
        let changed = run("diff", path).output
        #expect(changed.contains("CHANGE (ACHANGE): 3 inserted"))
        #expect(changed.contains("timestamp '2026-11-21T07:09:09.250Z'"))
        let queried = run(
            "query", path, "SELECT _id, entitypk FROM \"CHANGE\" WHERE transactionid = 2", "--entities")
        #expect(queried.output == "_id,entitypk\r\n3,4\r\n4,1\r\n5,3\r\n")
        let file = fixture.path("r.html")
        #expect(run("report", path, "-o", file).status == 0)
        let page = String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
        #expect(page.contains("<caption><code>CHANGE</code> 3 inserted"))
    }

    @Test func anEntityOfTheModelMayBeCalledAsOneOfPersistentHistory() throws {
        let fixture = try Fixture()
        let path = try store(
            fixture, history: true,
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

    @Test func showTellsEntities() throws {
        let fixture = try Fixture()
        let path = try bundle(fixture)
        let text = run("show", path).output
        for line in [
            "  Core Data 5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11, model Fruits V2",
            "    Fruit  1 object of its own  (ZFRUIT)", "        Citrus  2 objects",
            "      basket → Basket", "      tags →→ Tag", "      pickedat TIMESTAMP", "      名前 VARCHAR",
            "    Fruit " + String(repeating: "01", count: 32),
        ] {
            #expect(text.split(separator: "\n").contains(Substring(line)), "\(line)")
        }
        #expect(text.contains("1 row inserted into Fruit, 1 row updated in Fruit"))
        let json = run("show", path, "--json").output
        #expect(json.contains("\"coreData\" : {\n    \"fruits\" : {"))
        #expect(!run("show", try fixture.ledger(), "--json").output.contains("modelHashes"))
    }

    @Test(arguments: [
        (
            "SELECT _id, _entity, name, pickedat, basket, grower, tags FROM Fruit",
            """
            1,Fruit,りんご,2026-11-21T07:09:09.250Z,2,1,2
            2,Citrus,みかん,1970-01-01T00:00:00.000Z,1,2,2
            4,Citrus,ゆず,2026-11-21T07:08:09.250Z,2,,
            """
        ),
        ("SELECT name FROM citrus ORDER BY _id", "みかん\nゆず"),
        ("SELECT name, \"Fruit.basket\" FROM Basket", "red,2\nみかん箱,4 1"),
        ("SELECT * FROM \"Fruit.tags\"", "1,2,1024\n2,2,1024"),
        ("SELECT name, friends FROM Person", "Ann,2\nBob,"), ("SELECT friends FROM Farmer", "\"\""),
        ("SELECT * FROM 果物屋", "1,2001-01-01T00:00:00.000Z,八百屋"),
        ("SELECT count(*) FROM ZFRUIT", "3"),
        (
            "SELECT f.name, b.name FROM Fruit AS f JOIN Basket AS b ON b._id = f.basket WHERE isRipe = 0",
            "みかん,red"
        ),
    ])
    func queriesByEntities(_ sql: String, _ rows: String) throws {
        let fixture = try Fixture()
        let outcome = run("query", try bundle(fixture), sql, "--entities")
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(
            outcome.output.split(separator: "\r\n").dropFirst().joined(separator: "\n") == rows)
    }

    @Test func queriesThatAreRefused() throws {
        let fixture = try Fixture()
        let path = try bundle(fixture)
        #expect(run("query", path, "DELETE FROM Fruit", "--entities").status == 64)
        #expect(run("query", path, "DELETE FROM ZFRUIT", "--entities").status == 64)
        #expect(run("query", path, "CREATE TEMP TABLE x(a)", "--entities").status == 64)
        let named = try Fixture()
        let own = try bundle(
            named, sql: "CREATE TABLE fruit(own); CREATE VIEW citrus AS SELECT 1 AS own")
        #expect(run("query", own, "SELECT count(own) FROM fruit", "--entities").status == 0)
        #expect(run("query", own, "SELECT own FROM citrus", "--entities").status == 0)
        let ledger = try fixture.ledger()
        let refused = run("query", ledger, "SELECT 1", "--entities")
        #expect(refused.status == 64)
        #expect(refused.error.contains("is none of Core Data"))
    }

    @Test func diffsByEntities() throws {
        let fixture = try Fixture()
        let (a, b) = (try store(fixture), try store(fixture, after: true))
        let text = run("diff", a, b).output
        for line in [
            "Fruit.tags (Z_2TAGS): 1 deleted", "  - 'Fruit/p1', 'Tag/p1': _order 2048",
            "Fruit (ZFRUIT): 1 inserted, 1 updated, 1 deleted",
            "  ~ 1: basket 'Basket/p1' → 'Basket/p2',",
            "      pickedat '2026-11-21T07:08:09.250Z' → '2026-11-21T07:09:09.250Z'",
        ] {
            #expect(text.split(separator: "\n").contains(Substring(line)), "\(line)")
        }
        #expect(!text.contains("Z_OPT") && !text.contains("Z_FOK") && !text.contains("Z4_GROWER"))
        let json = run("diff", a, b, "--json").output
        #expect(json.contains("\"entity\":\"Fruit\",\"key\":[\"_id\"]"))
        #expect(json.contains("\"basket\":{\"old\":\"Basket/p1\",\"new\":\"Basket/p2\"}"))
        // What only Core Data uses is told where nothing else has changed.
        let other = fixture.path("other.sqlite")
        try FileSystem.copy(a, toNewFile: other)
        try Connection(path: other, mode: .readWrite).execute(
            "UPDATE ZFRUIT SET Z_OPT = 9 WHERE Z_PK = 2; UPDATE ZFRUIT SET Z_FOK_BASKET = 7 WHERE Z_PK = 1"
        )
        let quiet = run("diff", a, other).output
        #expect(quiet.contains("  ~ 1: Z_FOK_BASKET 2048 → 7"))
        #expect(quiet.contains("  ~ 2: Z_OPT 1 → 9"))
    }

    @Test func valuesOfDiffs() throws {
        let fixture = try Fixture()
        let a = try store(fixture)
        let b = fixture.path("b.sqlite")
        try FileSystem.copy(a, toNewFile: b)
        try Connection(path: b, mode: .readWrite).execute(
            """
            UPDATE ZFRUIT SET ZPHOTO = X'00', ZPICKEDAT = 'soon' WHERE Z_PK = 1;
            UPDATE ZFRUIT SET ZPICKEDAT = 1e300, Z_ENT = 2, ZGROWER = NULL WHERE Z_PK = 2;
            UPDATE ZFRUIT SET ZPICKEDAT = -63113904000, ZPHOTO = CAST(char(1) || '\(Self.uuid)' || char(1) AS BLOB)
              WHERE Z_PK = 3;
            """)
        let text = run("diff", a, b, width: 200).output
        #expect(text.contains("photo 'external file 5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11' → X'00'"))
        #expect(text.contains("pickedat '2026-11-21T07:08:09.250Z' → 'soon'"))
        #expect(text.contains("_entity 'Citrus' → 'Fruit'"))
        #expect(text.components(separatedBy: "external file").count == 2)
        #expect(text.contains("grower 'Person/p2' → NULL"))
        #expect(text.contains("pickedat '1970-01-01T00:00:00.000Z' → 1e+300"))
        #expect(text.contains("pickedat NULL → '0001-01-01T00:00:00.000Z'"))
    }

    @Test func reportsTellEntities() throws {
        let fixture = try Fixture()
        let file = fixture.path("r.html")
        #expect(run("report", try bundle(fixture), "-o", file).status == 0)
        let page = String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
        #expect(page.contains("\"columns\":[\"_id\",\"_entity\",\"count\""))
        #expect(page.contains("\"2026-11-21T07:09:09.250Z\""))
        #expect(page.contains("<caption><code>Fruit</code> 1 inserted, 1 updated, 1 deleted</caption>"))
        #expect(page.contains("Basket/p2"))
        #expect(page.contains("<h4>Model hashes</h4>"))
        #expect(page.contains("<span>model Fruits V2</span>"))
        #expect(page.contains("SELECT * FROM &quot;Basket&quot;") || page.contains("--entities"))
    }

    /// Stores come from anywhere.
    @Test(arguments: [
        "UPDATE Z_METADATA SET Z_PLIST = X'62706C697374303001'", "UPDATE Z_METADATA SET Z_PLIST = 7",
        "UPDATE Z_METADATA SET Z_PLIST = zeroblob(3000000)", "DELETE FROM Z_METADATA",
        "DELETE FROM Z_PRIMARYKEY", "DROP TABLE ZFRUIT", "UPDATE Z_PRIMARYKEY SET Z_SUPER = Z_ENT",
        "UPDATE Z_PRIMARYKEY SET Z_SUPER = Z_ENT % 7 + 1", "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Fruit'",
        "UPDATE Z_PRIMARYKEY SET Z_NAME = 'sqlite_x' WHERE Z_ENT = 1; ALTER TABLE ZBASKET RENAME TO ZSQLITE_X",
        "UPDATE Z_PRIMARYKEY SET Z_NAME = X'FF00' WHERE Z_ENT = 1",
        "UPDATE Z_PRIMARYKEY SET Z_NAME = 'a\";DROP TABLE x' WHERE Z_ENT = 1",
        "ALTER TABLE ZFRUIT RENAME COLUMN Z_PK TO K", "ALTER TABLE ZFRUIT ADD COLUMN \"Z\" INTEGER",
        "CREATE TABLE Z_2MORE(Z_2A, Z_99B)", "CREATE TABLE Z_99999999999999999999X(a)",
        "DROP TABLE ZTAG; CREATE TABLE Fruit(a); CREATE TABLE Z_6X(Z_6A, Z_6B)",
        "UPDATE ZFRUIT SET ZPICKEDAT = 9e999, ZBASKET = 'x'",
        """
        DELETE FROM Z_PRIMARYKEY; WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000)
        INSERT INTO Z_PRIMARYKEY SELECT i, 'E' || i, i - 1, 0 FROM n
        """,
    ])
    func hostileStores(_ sql: String) throws {
        let fixture = try Fixture()
        let path = try bundle(fixture, sql: sql)
        #expect(run("show", path).status == 0)
        #expect(run("diff", path).status == 1)
        let file = fixture.path("r.html")
        #expect(run("report", path, "-o", file).status == 0)
        #expect(run("query", path, "SELECT 1", "--entities").status == 0)
    }

    private func model(_ fixture: borrowing Fixture, _ sql: String) throws -> CoreDataStore {
        let connection = try Connection(path: store(fixture, sql: sql), mode: .immutable)
        return try #require(try CoreDataStore.read(connection))
    }

    @Test func whatMakesNoSenseIsLeftOut() throws {
        // Of several entities of one name the first counts: names tell who inherits from whom.
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

    /// Tables that are only called so.
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
}
