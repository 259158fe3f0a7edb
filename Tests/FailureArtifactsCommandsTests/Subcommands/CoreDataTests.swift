import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

@Suite struct CoreDataTests {
    private static let uuid = "5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11"

    /// Creates a bundle with a store of Core Data, and its committed version.
    private func bundle(
        _ fixture: borrowing Fixture, history: Bool = false, sql: String = ""
    ) throws -> String {
        let tables = ["ZFRUIT", "Z_METADATA", "Z_PRIMARYKEY"]
            .map { "{\"name\": \"\($0)\", \"rows\": 3, \"exact\": true}" }.joined(separator: ", ")
        let metadata = Metadata.store("fruits").replacing(
            "\"bytes\": {}",
            with: "\"bytes\": {}, \"committedEntry\": \"stores/c.sqlite\", \"tables\": [\(tables)]")
        let path = try fixture.coreDataStore(after: true, history: history, sql: sql)
        let committed = try fixture.coreDataStore(history: history)
        return try fixture.zip(
            "cd.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/fruits.sqlite", try FileSystem.contents(ofFile: path)),
                ("stores/c.sqlite", try FileSystem.contents(ofFile: committed)),
            ])
    }

    @Test func commandsKnowPersistentHistory() throws {
        let fixture = try Fixture()
        let path = try bundle(fixture, history: true)
        let shown = run("show", path).output
        #expect(shown.contains("\n    CHANGE  5 objects  (ACHANGE)\n"))
        #expect(shown.contains("\n    TRANSACTION  2 objects  (ATRANSACTION)\n"))
        #expect(!shown.contains("(no table)"))
        let changed = run("diff", path).output
        #expect(changed.contains("CHANGE (ACHANGE): 3 inserted"))
        #expect(changed.contains("timestamp '2026-11-21T07:09:09.250Z'"))
        let queried = run(
            "query", path, "SELECT _id, entitypk FROM \"CHANGE\" WHERE transactionid = 2", "--entities")
        #expect(queried.output == "_id,entitypk\r\n3,4\r\n4,1\r\n5,3\r\n")
        let file = fixture.path("r.html")
        #expect(run("report", path, "-o", file).status == 0)
        let page = String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
        #expect(try Program.blocks(ofPage: page).contains("3 rows inserted into CHANGE"))
    }

    /// The statement of its view is too long.
    @Test func anEntityThatCannotBeShownIsAWarning() throws {
        let fixture = try Fixture()
        let columns = (0..<1100).map { "Z\(String(repeating: "X", count: 2000))\($0)" }
        let path = try bundle(
            fixture,
            sql: "INSERT INTO Z_PRIMARYKEY VALUES (99, 'Wide', 0, 0); "
                + "CREATE TABLE ZWIDE(Z_PK INTEGER PRIMARY KEY, Z_ENT, Z_OPT, \(columns.joined(separator: ", ")))"
        )
        let queried = run("query", path, "SELECT count(*) AS n FROM Fruit", "--entities")
        #expect(queried.status == 0 && queried.output.hasPrefix("n\r\n"), "\(queried.error.prefix(500))")
        let warning = "The entity or relationship 'Wide' can't be shown: "
        #expect(queried.error.contains("warning: " + warning), "\(queried.error.prefix(500))")
        let file = fixture.path("r.html")
        #expect(run("report", path, "-o", file).status == 0)
        let page = String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
        #expect(page.contains("&#39;Wide&#39; can&#39;t be shown: "))
        #expect(try Program.blocks(ofPage: page).contains("Fruit"))
    }

    @Test func showTellsEntities() throws {
        let fixture = try Fixture()
        let path = try bundle(fixture)
        let short = run("show", path).output
        #expect(short.contains("        Citrus  2 objects\n    Person  "), "\(short)")
        #expect(short.contains("\n  Attributes and relationships: see --schema\n"))
        let text = run("show", path, "--schema").output
        for line in [
            "  Core Data 5E1B4F0C-8A3E-4B5E-9C57-2B7A1C0D9E11",
            "    Fruit  1 object of its own  (ZFRUIT)", "        Citrus  2 objects",
            "      basket → Basket", "      tags →→ Tag", "      pickedat TIMESTAMP", "      名前 VARCHAR",
        ] {
            #expect(text.split(separator: "\n").contains(Substring(line)), "\(line)")
        }
        let json = run("show", path, "--json").output
        #expect(json.contains("\"coreData\" : {\n    \"fruits\" : {"))
        #expect(!run("show", try fixture.ledger(), "--json").output.contains("\"uuid\""))
    }

    @Test(arguments: [
        (
            "SELECT _id, _entity, name, pickedat, basket, grower FROM Fruit",
            """
            1,Fruit,りんご,2026-11-21T07:09:09.250Z,2,1
            2,Citrus,みかん,1970-01-01T00:00:00.000Z,1,2
            4,Citrus,ゆず,2026-11-21T07:08:09.250Z,2,
            """
        ),
        ("SELECT name FROM citrus ORDER BY _id", "みかん\nゆず"),
        ("SELECT * FROM \"Fruit.tags\"", "1,2,1024\n2,2,1024"),
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
        #expect(refused.error.contains("is not a Core Data store"))
    }

    @Test func diffsByEntities() throws {
        let fixture = try Fixture()
        let (a, b) = (try fixture.coreDataStore(), try fixture.coreDataStore(after: true))
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
        // Columns that only Core Data uses are shown if no other column changed.
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
        let a = try fixture.coreDataStore()
        let b = fixture.path("b.sqlite")
        try FileSystem.copy(a, toNewFile: b)
        try Connection(path: b, mode: .readWrite).execute(
            """
            UPDATE ZFRUIT SET ZPICKEDAT = 'soon' WHERE Z_PK = 1;
            UPDATE ZFRUIT SET ZPICKEDAT = 1e300, Z_ENT = 2, ZGROWER = NULL WHERE Z_PK = 2;
            UPDATE ZFRUIT SET ZPICKEDAT = -63113904000 WHERE Z_PK = 3;
            """)
        let text = run("diff", a, b, width: 200).output
        #expect(text.contains("pickedat '2026-11-21T07:08:09.250Z' → 'soon'"))
        #expect(text.contains("_entity 'Citrus' → 'Fruit'"))
        #expect(text.contains("grower 'Person/p2' → NULL"))
        #expect(text.contains("pickedat '1970-01-01T00:00:00.000Z' → 1e+300"))
        #expect(text.contains("pickedat NULL → '0001-01-01T00:00:00.000Z'"))
    }

    @Test func reportsTellEntities() throws {
        let fixture = try Fixture()
        let file = fixture.path("r.html")
        #expect(run("report", try bundle(fixture), "-o", file).status == 0)
        let page = String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
        let blocks = try Program.blocks(ofPage: page)
        #expect(
            blocks.contains(
                "\"columns\":[{\"key\":true,\"name\":\"_id\",\"type\":\"INTEGER\"},{\"name\":\"_entity\""
            ))
        #expect(blocks.contains("\"2026-11-21T07:09:09.250Z\""))
        #expect(
            blocks.contains(
                "1 row inserted into Fruit, 1 row updated in Fruit, 1 row deleted from Fruit"))
        // Changes and rows of entities and relationships have the same keys, so that a state can be rebuilt.
        #expect(blocks.contains("[\"u\",[1],[[12,1,2]"))
        #expect(blocks.contains("[\"d\",[1,1],[1,1,2048]]"))
        #expect(page.contains("<span>Core Data \(Self.uuid)</span>"))
    }

    /// Stores may be untrusted.
    @Test(arguments: [
        "UPDATE Z_METADATA SET Z_UUID = zeroblob(3000000)", "DELETE FROM Z_METADATA",
        "DELETE FROM Z_PRIMARYKEY", "DROP TABLE ZFRUIT", "UPDATE Z_PRIMARYKEY SET Z_SUPER = Z_ENT",
        "UPDATE Z_PRIMARYKEY SET Z_SUPER = Z_ENT % 7 + 1", "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Fruit'",
        "UPDATE Z_PRIMARYKEY SET Z_NAME = 'sqlite_x' WHERE Z_ENT = 1; ALTER TABLE ZBASKET RENAME TO ZSQLITE_X",
        "UPDATE Z_PRIMARYKEY SET Z_NAME = X'FF00' WHERE Z_ENT = 1",
        "UPDATE Z_PRIMARYKEY SET Z_NAME = 'a\";DROP TABLE x' WHERE Z_ENT = 1",
        "ALTER TABLE ZFRUIT RENAME COLUMN Z_PK TO K", "ALTER TABLE ZFRUIT ADD COLUMN \"Z\" INTEGER",
        "CREATE TABLE Z_2MORE(Z_2A, Z_99B)", "CREATE TABLE Z_99999999999999999999X(a)",
        "DROP TABLE ZTAG; CREATE TABLE Fruit(a); CREATE TABLE Z_6X(Z_6A, Z_6B)",
        "UPDATE Z_PRIMARYKEY SET Z_NAME = 'It''s \"an\" ' || Z_ENT WHERE Z_ENT > 5",
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
}
