import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Stores with the model that Core Data keeps in them.
@Suite struct CoreDataModelTests {
    private func read(_ fixture: borrowing Fixture, _ sql: String = "") throws -> CoreDataStore {
        let connection = try Connection(path: fixture.modelStore(sql: sql), mode: .immutable)
        return try #require(try CoreDataStore.read(connection, counts: true))
    }

    private func attributes(_ store: CoreDataStore, _ table: String) throws -> [String: CoreDataStore
        .Attribute]
    {
        let root = try #require(store.root(ofTable: table))
        return Dictionary(
            root.attributes.map { ($0.column, $0) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func namesAndTypesAreThoseOfTheModel() throws {
        let fixture = try Fixture()
        let store = try read(fixture)
        let items = try attributes(store, "ZITEM")
        #expect(items["ZISHIDDEN"]?.name == "isHidden" && items["ZISHIDDEN"]?.kind == .boolean)
        #expect(items["ZIDENTIFIER"]?.kind == .uuid)
        #expect(items["ZWEBPAGE"]?.name == "webPage" && items["ZWEBPAGE"]?.kind == .uri)
        #expect(items["ZCAMERA"]?.kind == .transformable)
        #expect(items["ZCONTENT"]?.kind == .binary)
        #expect(items["ZTAKENAT"]?.kind == .date)
        #expect(items["ZNAME"]?.typeText == "String")
        let cover = try attributes(store, "ZCOVER")
        #expect(cover["Z_COLOR"]?.name == "_color")
    }

    @Test func derivedAttributesAreMarked() throws {
        let fixture = try Fixture()
        let albums = try attributes(try read(fixture), "ZALBUM")
        #expect(albums["ZPHOTOCOUNT"]?.typeText == "Integer 64, derived")
        #expect(albums["ZLASTCHANGE"]?.typeText == "Date, derived")
        #expect(albums["ZTITLE"]?.derived == nil && albums["ZCREATEDAT"]?.derived == nil)
    }

    /// The triggers name them.
    @Test func derivedAttributesAreMarkedWithoutTheModel() throws {
        let fixture = try Fixture()
        let albums = try attributes(try read(fixture, "DELETE FROM Z_MODELCACHE"), "ZALBUM")
        #expect(albums["ZPHOTOCOUNT"]?.typeText == "INTEGER, derived")
        #expect(albums["ZLASTCHANGE"]?.typeText == "TIMESTAMP, derived")
        #expect(albums["ZTITLE"]?.derived == nil && albums["ZCREATEDAT"]?.derived == nil)
    }

    private func trigger(_ name: String) -> String {
        "CREATE TRIGGER \(name) AFTER INSERT ON ZTAG BEGIN SELECT 1; END;"
    }

    @Test func triggersOfASubentityMarkOnlyItsAttributes() throws {
        let fixture = try Fixture()
        let items = try attributes(try read(fixture, trigger("Z_DA_ZITEM_Video_size_INSERT")), "ZITEM")
        #expect(items["ZSIZE1"]?.derived == true && items["ZSIZE"]?.derived == nil)
        // Without the model, the entity that declares a column is unknown.
        let other = try Fixture()
        let columns = try attributes(
            try read(other, "DELETE FROM Z_MODELCACHE; " + trigger("Z_DA_ZITEM_Video_size_INSERT")),
            "ZITEM")
        #expect(columns["ZSIZE"]?.derived == true && columns["ZSIZE1"]?.derived == nil)
    }

    @Test(arguments: ["Z_DA_ZMY_TAG_My_Tag_its_label_UPDATE_OF_Z_OPT", "Z_DA_My_Tag_its_label_x"])
    func namesInTriggersMayContainUnderscores(name: String) throws {
        let fixture = try Fixture()
        let sql = """
            DELETE FROM Z_MODELCACHE; UPDATE Z_PRIMARYKEY SET Z_NAME = 'My_Tag' WHERE Z_NAME = 'Tag';
            ALTER TABLE ZTAG RENAME TO ZMY_TAG; ALTER TABLE ZMY_TAG RENAME ZLABEL TO ZITS_LABEL;
            ALTER TABLE ZMY_TAG ADD COLUMN ZLABEL VARCHAR;
            """
        let tags = try attributes(
            try read(fixture, sql + trigger(name).replacing("ZTAG BEGIN", with: "ZMY_TAG BEGIN")),
            "ZMY_TAG")
        #expect(tags["ZITS_LABEL"]?.derived == true && tags["ZLABEL"]?.derived == nil)
    }

    /// Stores may be untrusted.
    @Test func namesOfTriggersHaveALimit() throws {
        func isMarked(_ ending: String) throws -> Bool {
            let fixture = try Fixture()
            let name = "Z_DA_ZTAG_Tag_label_" + ending
            return try attributes(try read(fixture, trigger(name)), "ZTAG")["ZLABEL"]?.derived == true
        }
        #expect(try isMarked(String(repeating: "x", count: 980)))
        #expect(try !isMarked(String(repeating: "x", count: 981)))
        #expect(try isMarked(String(repeating: "_", count: 19)))
        #expect(try !isMarked(String(repeating: "_", count: 20)))
    }

    /// Searching all triggers for all attributes of all entities would take hours.
    @Test(.timeLimit(.minutes(1))) func manyTriggersAndAttributes() throws {
        let fixture = try Fixture()
        var sql =
            "DELETE FROM Z_MODELCACHE; DROP TABLE ZTAG; CREATE TABLE ZTAG(Z_PK INTEGER PRIMARY KEY, Z_ENT"
        sql += (0..<1900).map { ", ZA\($0)" }.joined() + ");"
        for number in 100..<580 {
            sql += "INSERT INTO Z_PRIMARYKEY VALUES (\(number), 'E\(number)', 6, 1);"
        }
        let long = String(repeating: "Q", count: 100)
        for number in 0..<2000 { sql += trigger("Z_DA_\(long)_\(number)") }
        let tags = try attributes(
            try read(fixture, sql + trigger("Z_DA_ZTAG_E579_A1899_INSERT")), "ZTAG")
        #expect(tags.count == 1900 && tags.values.filter { $0.derived == true }.map(\.name) == ["a1899"])
    }

    @Test func attributesBelongToTheSubentityThatDeclaresThem() throws {
        let fixture = try Fixture()
        let store = try read(fixture)
        let items = try attributes(store, "ZITEM")
        #expect(items["ZNAME"]?.entity == nil)
        #expect(items["ZSIZE"]?.name == "size" && items["ZSIZE"]?.entity == "Photo")
        #expect(items["ZSIZE1"]?.name == "size" && items["ZSIZE1"]?.entity == "Video")
        #expect(items["ZSIZE"]?.kind == .integer32 && items["ZSIZE1"]?.kind == .double)
        #expect(items["ZTAKENAT1"]?.name == "takenAt" && items["ZTAKENAT1"]?.entity == "Video")
        #expect(store.entities.map(\.superentity).prefix(6) == [nil, nil, nil, "Item", "Item", nil])
        #expect(store.entities.prefix(6).map(\.rows) == [1, 1, 0, 1, 1, 2])
    }

    /// SQLite limits the arguments of a function, to 127 in many versions.
    @Test(arguments: [1, 2, 100, 101, 301]) func manySubentitiesMayHaveAnAttributeOfOneName(count: Int)
        throws
    {
        let fixture = try Fixture()
        let columns = (0..<count).map { "ZSIZE\($0)" }
        var sql = "CREATE TABLE ZROOT(Z_PK INTEGER PRIMARY KEY, Z_ENT, ZNAME, "
        sql += columns.joined(separator: ", ") + "); CREATE TABLE Z_PRIMARYKEY(Z_ENT, Z_NAME);"
        for (row, column) in columns.enumerated() {
            sql += "INSERT INTO ZROOT(Z_ENT, ZNAME, \(column)) VALUES (\(row + 2), 'n\(row)', \(row));"
        }
        var store = CoreDataStore()
        store.entities = [.init(name: "Root", number: 1, table: "ZROOT")]
        store.entities[0].attributes =
            [.init(name: "name", column: "ZNAME", type: "")]
            + columns.enumerated().map {
                .init(name: "size", column: $1, type: "", entity: "S\($0)")
            }
        for number in 0..<count {
            store.entities.append(
                .init(
                    name: "S\(number)", number: Int64(number) + 2, superentity: "Root", table: "ZROOT"))
        }
        let path = try fixture.write(try fixture.store(sql), to: "many.sqlite")
        let connection = try Connection(path: path, mode: .readWrite)
        var views = CoreDataViews(store)
        #expect(try views.create(on: connection).isEmpty)
        let statement = try connection.prepare(
            "SELECT count(*), sum(size = _id - 1 AND name = 'n' || size) FROM Root")
        #expect(try statement.step())
        #expect(statement.value(at: 0) == .integer(Int64(count)))
        #expect(statement.value(at: 1) == .integer(Int64(count)))
    }

    /// It isn't known which column belongs to which.
    @Test func propertiesThatDifferOnlyInCaseHaveTheNamesOfTheirColumns() throws {
        let fixture = try Fixture()
        let connection = try Connection(
            path: fixture.modelStore(namesakes: true), mode: .immutable)
        let store = try #require(try CoreDataStore.read(connection))
        let tags = try #require(store.root(ofTable: "ZTAG"))
        #expect(tags.attributes.map(\.name) == ["label", "label1"])
        #expect(tags.attributes.allSatisfy { $0.kind == nil })
        #expect(store.notes.count == 1)
        #expect(
            store.notes[0].hasPrefix("The properties 'Label' and 'label' of the entity 'Tag' differ"))
        // The other entities have their names and types from the model.
        #expect(try attributes(store, "ZITEM")["ZISHIDDEN"]?.kind == .boolean)
        #expect(try read(Fixture()).notes.isEmpty)
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

    @Test func relationshipsHaveTheirTargetsAndInverses() throws {
        let fixture = try Fixture()
        let store = try read(fixture)
        let item = try #require(store.root(ofTable: "ZITEM"))
        #expect(
            item.toOne == [
                .init(
                    name: "album", column: "ZALBUM", entity: "Album", orderColumn: "Z_FOK_ALBUM",
                    owner: "Photo", inverse: "photos"),
                .init(name: "poster", column: "ZPOSTER", entity: "Photo", owner: "Video"),
            ])
        // An album has one cover, so the inverse of the cover's album is no list.
        #expect(store.root(ofTable: "ZALBUM")?.toMany.map(\.name) == ["photos"])
        #expect(store.root(ofTable: "ZCOVER")?.toMany.isEmpty == true)
        let photo = try #require(store.entities.first { $0.name == "Photo" })
        #expect(photo.toMany.map(\.name) == ["tags", "Video.poster"])
        #expect(store.links.map(\.name) == ["Photo.tags"])
        #expect(store.root(ofTable: "ZTAG")?.toMany.map(\.name) == ["taggedPhotos"])
    }

    @Test func persistentHistoryIsReadable() throws {
        let fixture = try Fixture()
        let store = try read(fixture)
        let changes = try attributes(store, "ACHANGE")
        #expect(
            changes["ZCHANGETYPE"]?.kind == .historyChange && changes["ZENTITY"]?.kind == .historyEntity)
        let transactions = try #require(store.root(ofTable: "ATRANSACTION"))
        #expect(transactions.attributes.first { $0.name == "timestamp" }?.isDate == true)
        #expect(transactions.toOne.map(\.entity) == Array(repeating: "TRANSACTIONSTRING", count: 4))
        #expect(transactions.toMany.map(\.name) == ["CHANGE.transactionid"])
    }

    /// The columns tell less, but they tell the same.
    @Test(arguments: [
        "DELETE FROM Z_MODELCACHE", "DROP TABLE Z_MODELCACHE",
        "UPDATE Z_MODELCACHE SET Z_CONTENT = X'00'",
        "UPDATE Z_MODELCACHE SET Z_CONTENT = substr(Z_CONTENT, 1, 900)",
        "UPDATE Z_MODELCACHE SET Z_CONTENT = 7",
        "UPDATE Z_MODELCACHE SET Z_CONTENT = zeroblob(2000000)",
    ])
    func withoutAModelThatCanBeReadTheColumnsTell(sql: String) throws {
        let fixture = try Fixture()
        let store = try read(fixture, sql)
        let item = try #require(store.root(ofTable: "ZITEM"))
        #expect(item.toOne.map(\.name) == ["album", "poster"])
        #expect(item.attributes.map(\.name).contains("size1"))
        #expect(item.attributes.allSatisfy { $0.kind == nil && $0.entity == nil })
        #expect(store.root(ofTable: "ZCOVER")?.attributes.map(\.name) == ["_color"])
    }

    /// A model of another version, whose names fit no column, does no harm.
    @Test func aModelThatFitsNoColumnIsNotUsed() throws {
        let fixture = try Fixture()
        let store = try read(fixture, "UPDATE Z_PRIMARYKEY SET Z_NAME = 'TAG' WHERE Z_NAME = 'Tag'")
        #expect(store.root(ofTable: "ZTAG")?.attributes.map(\.name) == ["label"])
        #expect(store.root(ofTable: "ZTAG")?.attributes.first?.kind == nil)
    }

    @Test func compressedModelsHaveALimit() throws {
        let fixture = try Fixture()
        let program =
            "import sys, zlib; c = zlib.compressobj(wbits=-15); "
            + "sys.stdout.write((c.compress(b'bplist00' + bytes(6 << 20)) + c.flush()).hex())"
        let bytes = try Self.bytes(of: program)
        #expect(bytes.count > 1000 && bytes.count < CoreDataModel.maximumBytes)
        #expect(RawDeflate.content(of: bytes, maximumBytes: 7 << 20)?.count == (6 << 20) + 8)
        #expect(RawDeflate.content(of: bytes, maximumBytes: 6 << 20) == nil)
        #expect(RawDeflate.content(of: Array(bytes.dropLast(9)), maximumBytes: 7 << 20) == nil)
        #expect(CoreDataModel(bytes, entities: ["Album"]) == nil)
        withExtendedLifetime(fixture.directory) {}
    }

    /// Returns the bytes that a Python program writes in hexadecimal.
    private static func bytes(of program: String) throws -> [UInt8] {
        let digits = Array(try Program.python(program, "").utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }

    /// Returns a model whose entities `e0`, `e1`, … all refer to one dictionary of properties `p0`, `p1`, ….
    private static func model(entities: Int, properties: Int, ending: Int = 0) throws -> [UInt8] {
        try bytes(
            of: """
                import plistlib, sys
                objects = ["$null", {"$classname": "NSEntityDescription"},
                    {"$classname": "NSRelationshipDescription"}]
                def add(value):
                    objects.append(value)
                    return plistlib.UID(len(objects) - 1)
                end = "x" * \(ending)
                target = add("t" + end)
                value = add({"$class": plistlib.UID(2), "_NSDestinationEntityName": target,
                    "_NSInverseRelationshipName": target, "NSMaxCount": 1})
                keys = [add("p%d" % i + end) for i in range(\(properties))]
                shared = add({"NS.keys": keys, "NS.objects": [value] * len(keys)})
                for i in range(\(entities)):
                    add({"$class": plistlib.UID(1), "NSEntityName": add("e%d" % i), "NSProperties": shared})
                sys.stdout.write(plistlib.dumps({"$archiver": "NSKeyedArchiver",
                    "$top": {"root": value}, "$objects": objects}, fmt=plistlib.FMT_BINARY).hex())
                """)
    }

    /// All entities may refer to the same properties.
    @Test func propertiesOfAllEntitiesHaveALimit() throws {
        let names = Set((0..<500).map { "e\($0)" })
        let allowed = try #require(
            CoreDataModel(try Self.model(entities: 500, properties: 40), entities: names))
        #expect(allowed.declared(by: "e499").count == 40)
        #expect(CoreDataModel(try Self.model(entities: 500, properties: 41), entities: names) == nil)
        #expect(CoreDataModel(try Self.model(entities: 2, properties: 20_001), entities: names) == nil)
    }

    @Test func entitiesThatTheStoreDoesNotListAreIgnored() throws {
        let model = try #require(
            CoreDataModel(try Self.model(entities: 2000, properties: 20), entities: ["e7", "e1999"]))
        #expect(model.declared(by: "e7").count == 20 && model.declared(by: "e1999").count == 20)
        #expect(model.declared(by: "e8").isEmpty)
    }

    /// One long text may be the name of thousands of properties.
    @Test func namesHaveALimit() throws {
        func property(_ ending: Int) throws -> CoreDataModel.Property? {
            try CoreDataModel(
                Self.model(entities: 1, properties: 1, ending: ending), entities: ["e0"])?
                .declared(by: "e0").first
        }
        #expect(try property(1998)?.name.utf8.count == 2000)
        guard case .relationship(let target, let inverse, _) = try property(1998)?.content else {
            Issue.record("The property is no relationship.")
            return
        }
        #expect(target?.utf8.count == 1999 && inverse == target)
        #expect(try property(1999) == nil)
    }
}

/// Archives of single values.
@Suite struct KeyedArchiveTests {
    private func archive(_ objects: [PropertyList]) -> KeyedArchive? {
        KeyedArchive(
            .dictionary([
                "$archiver": .string("NSKeyedArchiver"), "$top": .dictionary(["root": .uid(1)]),
                "$objects": .array([.string("$null")] + objects),
            ]))
    }

    private func of(_ name: String, _ fields: [String: PropertyList], _ more: [PropertyList] = [])
        -> String?
    {
        var fields = fields
        fields["$class"] = .uid(2)
        return archive([.dictionary(fields), .dictionary(["$classname": .string(name)])] + more)?.line
    }

    @Test func valuesOfFoundationAreOneValue() {
        #expect(archive([.string("a\nb")])?.line == #""a\nb""#)
        #expect(archive([.integer(-3)])?.line == "-3")
        #expect(of("NSMutableString", ["NS.string": .string("x")]) == "\"x\"")
        #expect(of("NSDate", ["NS.time": .real(-978_307_200)]) == "1970-01-01T00:00:00.000000Z")
        #expect(of("NSData", ["NS.data": .data([1, 255])]) == "0x01FF")
        #expect(
            of("NSUUID", ["NS.uuidbytes": .data(Array(0..<16))])
                == "00010203-0405-0607-0809-0A0B0C0D0E0F")
        #expect(of("NSURL", ["NS.base": .uid(0), "NS.relative": .uid(3)], [.string("a:b")]) == "<a:b>")
    }

    @Test func listsAndObjectsHaveTheirContent() {
        #expect(of("NSArray", ["NS.objects": .array([.uid(3), .uid(0)])], [.integer(1)]) == "[1, nil]")
        #expect(
            of(
                "NSDictionary",
                ["NS.keys": .array([.uid(4), .uid(3)]), "NS.objects": .array([.uid(5), .uid(4)])],
                [.string("b"), .string("a"), .boolean(true)]) == "{a: true, b: \"a\"}")
        #expect(of("Demo.Point", ["x": .real(0.5), "y": .uid(0)]) == "Demo.Point(x: 0.5, y: nil)")
    }

    @Test func keysOfADictionaryMayBeOtherThanText() {
        let keys: [PropertyList] = [.uid(4), .uid(3), .uid(5), .uid(0), .uid(3)]
        let values: [PropertyList] = [.uid(6), .uid(7), .uid(6), .uid(7), .uid(6)]
        #expect(
            of(
                "NSDictionary", ["NS.keys": .array(keys), "NS.objects": .array(values)],
                [.integer(2), .integer(1), .string("10"), .string("x"), .string("y")])
                == #"{1: "x", 10: "x", 2: "y", 2: "x", nil: "y"}"#)
    }

    /// They may be untrusted.
    @Test func whatHasNoEndHasNoText() {
        #expect(of("Demo.Loop", ["self": .uid(1)]) == nil)
        #expect(of("Demo.Long", ["text": .string(String(repeating: "x", count: 2000))]) == nil)
        #expect(of("NSArray", ["NS.objects": .array([.uid(99), .uid(-1)])]) == "[nil, nil]")
        #expect(of("NSUUID", ["NS.uuidbytes": .data([1])]) == "NSUUID(NS.uuidbytes: 0x01)")
        #expect(KeyedArchive(.string("x")) == nil)
        #expect(KeyedArchive(.dictionary(["$archiver": .string("NSKeyedArchiver")])) == nil)
    }
}
