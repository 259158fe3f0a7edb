@testable import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@Suite struct StoreScriptTests {
    private static func script(
        _ store: String, maximum: Int = 1 << 20, checksForeignKeys: Bool = false
    ) throws -> String? {
        try StoreScript.bytes(
            of: store, limits: .standard, maximum: maximum, checksForeignKeys: checksForeignKeys
        ).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Applies a script to a new store with another program, and returns the store's contents.
    private static func applied(_ sql: String, to store: String) throws -> [String] {
        try Data(sql.utf8).write(to: URL(filePath: store + ".sql"))
        let said = try sqlite3Program(store, ".read '\(store).sql'")
        #expect(said == "")
        return try contents(ofStore: store)
    }

    @Test(arguments: 0..<4) func scriptCreatesTheStore(_ part: UInt64) throws {
        var count = 0
        for seed in (part * 50)..<(part * 50 + 50) {
            try withTemporaryDirectory { directory in
                let store = directory + "/a.sqlite"
                var stores = RandomStores(seed: seed)
                try makeStore(store, stores.creation() + stores.changes())
                guard let sql = try Self.script(store) else { return }
                count += 1
                let made = try Self.applied(sql, to: directory + "/made.sqlite")
                #expect(made == (try contents(ofStore: store)), "seed \(seed)\n\(sql)")
            }
        }
        #expect(count > 25)
    }

    private static let keys = [
        "PRAGMA foreign_keys = 0", "CREATE TABLE parent(k INTEGER PRIMARY KEY)",
        "CREATE TABLE child(p REFERENCES parent(k))", "INSERT INTO child VALUES(1)",
    ]

    @Test func rowsMayPrecedeTheOnesThatTheyReferTo() throws {
        try withTemporaryDirectory { directory in
            let store = directory + "/a.sqlite"
            try makeStore(store, Self.keys)
            #expect(try Self.script(store) != nil)
            #expect(try Self.script(store, checksForeignKeys: true) == nil)
            try makeStore(directory + "/b.sqlite", Self.keys + ["INSERT INTO parent VALUES(1)"])
            let sql = try #require(try Self.script(directory + "/b.sqlite", checksForeignKeys: true))
            let made = try Self.applied(
                "PRAGMA foreign_keys = 1;\n" + sql, to: directory + "/made.sqlite")
            #expect(made == (try contents(ofStore: directory + "/b.sqlite")))
        }
    }

    /// SQLite itself reads only the first statement of each schema entry.
    @Test(arguments: [
        [
            "CREATE TABLE u(a)", "PRAGMA writable_schema = 1",
            "UPDATE sqlite_master SET sql = sql || ';' || char(10) || '.shell touch pwned'",
        ],
        ["CREATE VIRTUAL TABLE docs USING fts5(title)"],
        ["PRAGMA encoding = 'UTF-16le'", "CREATE TABLE u(a)"],
        ["CREATE TABLE u(a)", "INSERT INTO u VALUES(hex(zeroblob(600000)))"],
    ])
    func noScriptGivesAllOfTheStore(_ statements: [String]) throws {
        try withTemporaryDirectory { directory in
            try makeStore(directory + "/a.sqlite", statements)
            #expect(try Self.script(directory + "/a.sqlite") == nil)
        }
    }

    @Test func numbersComeBack() throws {
        try withTemporaryDirectory { directory in
            let numbers = "0.1, -1.0 / 3, 1e22, 1.7976931348623157e308, 5e-324, 3.0, 1795.2"
            let store = directory + "/a.sqlite"
            try makeStore(
                store, ["CREATE TABLE t(a, b, c, d, e, f, g)", "INSERT INTO t VALUES(\(numbers))"])
            let sql = try #require(try Self.script(store))
            #expect(try Self.applied(sql, to: directory + "/b.sqlite") == contents(ofStore: store))
        }
    }

    /// SQLite writes digits for this number that it reads as another one.
    @Test func anotherNumberIsNotWritten() throws {
        try withTemporaryDirectory { directory in
            let store = directory + "/a.sqlite"
            try makeStore(store, ["CREATE TABLE t(a)"])
            let connection = try Connection(path: store, mode: .readWrite)
            let insert = try connection.prepare("INSERT INTO t VALUES(?)")
            try insert.bind([.real(-1.1716746713577426e-293)])
            _ = try insert.step()
            #expect(try Self.script(store) == nil)
        }
    }
}

@Suite struct DefinitionTextTests {
    @Test(arguments: [
        "CREATE TABLE t(a)", "create table t(a /* ; */, b DEFAULT ';', \"c;\", [d;], `e;`)",
        "CREATE VIEW v AS SELECT '--', 'it''s;'", "CREATE INDEX i ON t(a) WHERE a > '/*'",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; SELECT ';'; END",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; /* end */ END",
        "CREATE TABLE trigger_log(a)",
        "CREATE TRIGGER r BEFORE DELETE ON \"end\" BEGIN SELECT CASE WHEN 1 THEN 2 END; END",
    ])
    func aStatementIsKept(_ sql: String) {
        #expect(DefinitionText.statement(sql) == sql + ";")
    }

    @Test func aCommentDoesNotSwallowTheEnd() {
        #expect(DefinitionText.statement("CREATE TABLE t(a) -- x") == "CREATE TABLE t(a) -- x\n;")
    }

    @Test(arguments: [
        "", "-- CREATE", "DROP TABLE t", "; CREATE TABLE t(a)", "CREATE TABLE t(a);",
        "CREATE TABLE t(a);\n.quit",
        "CREATE TABLE t(a); DROP TABLE u", "CREATE TABLE t('", "CREATE TABLE t(\"a)",
        "CREATE TABLE t(a) /* ;",
        "CREATE TABLE t([a)", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END;\n.shell true",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END; DROP TABLE t; END",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1", "CREATE TABLE \"\u{1B}[31m\"(a)",
        "CREATE TABLE x(trigger); DROP TABLE t; END", "CREATE TABLE trigger(a); DROP TABLE t; END",
    ])
    func anythingElseIsNot(_ sql: String) {
        #expect(DefinitionText.statement(sql) == nil)
    }

    @Test(arguments: [
        ("CREATE VIRTUAL TABLE t USING fts5(a)", "fts5"),
        ("CREATE VIRTUAL TABLE \"using x\" /* using y */ USING\nRTree_i32(a)", "rtree_i32"),
        ("CREATE VIRTUAL TABLE t USING \"csv\"(a)", ""), ("CREATE TABLE t(a)", nil),
    ])
    func theModuleIsFound(_ sql: String, _ module: String?) {
        #expect(VirtualTable("t", definition: sql)?.module == module)
    }
}
