import FailureArtifactsSQLite
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsReading

@Suite struct ScriptTests {
    /// Returns the script for A and B, and its summary.
    static func script(_ a: String, _ b: String) throws -> (sql: String, summary: ScriptSummary) {
        let comparison = try StoreComparison(
            a: StoreComparison.Side(path: a, isPrivate: true),
            b: StoreComparison.Side(path: b, isPrivate: true))
        var sql = ""
        let summary = try comparison.writeScript { sql += $0 }
        return (sql, summary)
    }

    /// Applies the script to A with another program and returns its output.
    static func apply(_ sql: String, to store: String) throws -> String {
        let file = store + ".sql"
        try Data(sql.utf8).write(to: URL(filePath: file))
        return try sqlite3Program(store, ".read '\(file)'")
    }

    @Test(arguments: 0..<8) func scriptTurnsOneStoreIntoTheOther(_ part: UInt64) throws {
        for seed in (part * 50)..<(part * 50 + UInt64(rounds(10, of: 50))) {
            try withTemporaryDirectory { directory in
                let (a, b) = (directory + "/a.sqlite", directory + "/b.sqlite")
                var stores = RandomStores(seed: seed)
                let encoding = ["UTF-8", "UTF-8", "UTF-16le", "UTF-16be"][Int(seed % 4)]
                let creation = ["PRAGMA encoding = '\(encoding)'"] + stores.creation()
                try makeStore(a, creation)
                // Most pairs have a common history; some are unrelated stores.
                try makeStore(
                    b,
                    (stores.numbers.chance(85) ? creation : [creation[0]] + stores.creation())
                        + stores.changes())
                let expected = try contents(ofStore: b)
                let (sql, summary) = try Self.script(a, b)
                #expect(summary.omissions.isEmpty, "seed \(seed)")
                let said = try Self.apply(sql, to: a)
                #expect(said.isEmpty, "seed \(seed)\n\(sql)")
                #expect(try contents(ofStore: a) == expected, "seed \(seed)\n\(sql)")
                let again = try StoreComparison(
                    a: StoreComparison.Side(path: a, isPrivate: true),
                    b: StoreComparison.Side(path: b, isPrivate: true))
                #expect(again.schemaChanges().isEmpty, "seed \(seed)")
                for table in try again.tables() {
                    #expect(
                        try again.countRowChanges(in: table).total == 0, "seed \(seed) \(table.name)")
                }
            }
        }
    }

    /// Makes A and B, applies the script to A, and expects it to equal B.
    private func expectScript(
        _ a: [String], _ b: [String], omissions: [String] = []
    ) throws -> String {
        try withTemporaryDirectory { directory in
            let paths = (directory + "/a.sqlite", directory + "/b.sqlite")
            try makeStore(paths.0, a)
            try makeStore(paths.1, b)
            let (sql, summary) = try Self.script(paths.0, paths.1)
            #expect(summary.omissions == omissions)
            #expect(try Self.apply(sql, to: paths.0).isEmpty)
            if omissions.isEmpty {
                #expect(try contents(ofStore: paths.0) == contents(ofStore: paths.1))
            }
            #expect(try sqlite3Program(paths.0, "PRAGMA integrity_check") == "ok")
            return sql
        }
    }

    @Test(arguments: ["INTEGER", "TEXT"]) func rowsCanSwapUniqueValues(_ type: String) throws {
        let store = { (rows: String) in
            ["CREATE TABLE t(k \(type) PRIMARY KEY, a UNIQUE, b)", "INSERT INTO t VALUES \(rows)"]
        }
        let sql = try expectScript(
            store("(1, 'x', 1), (2, 'y', 2), (3, 'z', 3)"),
            store("(1, 'y', 1), (2, 'x', 2), (3, 'z', 3)"))
        #expect(!sql.contains("'z'"))
    }

    @Test func onlyTheRowWithTheExactKeyIsDeleted() throws {
        let store = { (rows: String) in
            [
                "CREATE TABLE t(k TEXT NOT NULL COLLATE NOCASE, a, PRIMARY KEY (k COLLATE BINARY))",
                "INSERT INTO t VALUES \(rows)",
            ]
        }
        let sql = try expectScript(
            store("('a', 1), ('A', 2), ('B', 3)"), store("('a', 1), ('B', 4), ('b', 3)"))
        #expect(!sql.contains("'a'"))
    }

    @Test func triggersAndForeignKeysDoNotInterfere() throws {
        let store = { (rows: String) in
            [
                "PRAGMA foreign_keys = 0",
                "CREATE TABLE parent(k INTEGER PRIMARY KEY, a UNIQUE)",
                "CREATE TABLE child(p REFERENCES parent(a) ON DELETE CASCADE)",
                "CREATE TABLE log(x)",
                "INSERT INTO parent VALUES \(rows)", "INSERT INTO child VALUES('x'), ('y'), ('lost')",
                "CREATE TRIGGER r AFTER DELETE ON parent BEGIN INSERT INTO log VALUES(old.a); END",
                "CREATE TRIGGER other AFTER DELETE ON child BEGIN INSERT INTO log VALUES(1); END",
            ]
        }
        let sql = try expectScript(store("(1, 'x'), (2, 'y')"), store("(1, 'y'), (2, 'x')"))
        #expect(sql.contains("DROP TRIGGER \"r\""))
        #expect(!sql.contains("DROP TRIGGER \"other\""))
    }

    @Test func virtualTablesOfSQLiteAreCompared() throws {
        let plain = ["CREATE TABLE t(a)"]
        let full = [
            "CREATE VIRTUAL TABLE docs USING fts5(title, body)",
            "INSERT INTO docs VALUES('one', 'lorem ipsum'), ('two', 'dolor sit')",
            "CREATE VIRTUAL TABLE places USING rtree(id, x0, x1)",
            "INSERT INTO places VALUES(1, 0, 1), (2, 5, 6)", "CREATE TABLE t(a)",
        ]
        let changed =
            full + ["DELETE FROM docs WHERE title = 'one'", "INSERT INTO docs VALUES('three', 'amet')"]
            + ["UPDATE places SET x1 = 7 WHERE id = 2"]
        _ = try expectScript(plain, full)
        _ = try expectScript(full, plain)
        _ = try expectScript(full, changed)
        try withTemporaryDirectory { directory in
            let paths = (directory + "/a.sqlite", directory + "/b.sqlite")
            try makeStore(paths.0, full)
            try makeStore(paths.1, changed)
            #expect(try Self.apply(Self.script(paths.0, paths.1).sql, to: paths.0).isEmpty)
            let found = try sqlite3Program(
                paths.0,
                "INSERT INTO docs(docs) VALUES('integrity-check'); "
                    + "SELECT group_concat(title) FROM docs('amet OR lorem OR dolor'); "
                    + "SELECT id FROM places WHERE x1 >= 7")
            #expect(found == "two,three\n2")
        }
    }

    @Test func forgedDefinitionIsOmitted() throws {
        // SQLite itself reads only the first statement of each schema entry.
        let forged = [
            "CREATE TABLE t(a)", "CREATE TABLE u(a)", "INSERT INTO u VALUES(1)",
            "PRAGMA writable_schema = 1",
            "UPDATE sqlite_master SET sql = sql || ';' || char(10) || '.shell touch pwned' WHERE name = 'u'",
        ]
        let sql = try expectScript(
            ["CREATE TABLE t(a)"], forged,
            omissions: ["table u is left out: its definition is not one plain statement"])
        #expect(!sql.contains("pwned"))
        #expect(!sql.contains("INSERT INTO \"u\""))
    }

    @Test func virtualTableOfAnUnknownModuleIsOmitted() throws {
        let foreign = [
            "CREATE TABLE t(a)", "PRAGMA writable_schema = 1",
            "INSERT INTO sqlite_master VALUES('table', 'x', 'x', 0, 'CREATE VIRTUAL TABLE x USING csv(a)')",
        ]
        _ = try expectScript(
            ["CREATE TABLE t(a)"], foreign,
            omissions: ["table x is left out: the module 'csv' is not one of SQLite's own"])
    }

    @Test func scriptForEqualStoresSaysSo() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try makeStore(
                path, ["CREATE TABLE t(k INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO t VALUES(1)"])
            let (sql, summary) = try Self.script(path, path)
            #expect(summary == ScriptSummary(isEmpty: true, omissions: []))
            #expect(sql.hasSuffix("BEGIN;\nCOMMIT;\n"))
        }
    }

    @Test func numbersThatAReaderWouldRoundAreWrittenAsProducts() throws {
        var numbers = SplitMix(seed: 7)
        var values = [
            Double.leastNonzeroMagnitude, 2.2250738585072014e-308, .greatestFiniteMagnitude, 0.1,
            -1.0 / 3, 1e22, 3,
        ]
        values += (0..<300).map { _ in Double(bitPattern: numbers.next()) }
        for number in values where number.isFinite {
            let product = SQLLiterals.product(number)
            try #require(try evaluate(product) == number, "\(product)")
        }
    }

    private func evaluate(_ expression: String) throws -> Double? {
        let connection = try Connection(path: "/dev/null", mode: .immutable)
        if case .real(let number) = try connection.value(of: "SELECT \(expression)") { return number }
        return nil
    }
}
