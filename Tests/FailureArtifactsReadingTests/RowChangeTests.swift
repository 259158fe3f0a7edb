import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@Suite struct RowChangeTests {
    /// Runs `body` with the comparison of two stores that the statements create.
    private func compare<Result>(
        _ a: [String], _ b: [String], _ body: (borrowing StoreComparison) throws -> Result
    ) throws -> Result {
        try withTemporaryDirectory { directory in
            let paths = (directory + "/a?b#c%41.sqlite", directory + "/b.sqlite")
            try makeStore(paths.0, a)
            try makeStore(paths.1, b)
            let comparison = try StoreComparison(
                a: StoreComparison.Side(path: paths.0, isPrivate: true),
                b: StoreComparison.Side(path: paths.1, isPrivate: true))
            return try body(comparison)
        }
    }

    /// Returns rows such as `~k=1 a:1→1.0`, and checks the counts of each table.
    private func rows(_ a: [String], _ b: [String]) throws -> [String] {
        try compare(a, b) { comparison in
            var result: [String] = []
            for table in try comparison.tables() {
                if let problem = table.problem { result.append("\(table.name): \(problem)") }
                var seen = RowCounts()
                let counts = try comparison.forEachRowChange(in: table) { change in
                    let names = table.keyColumns.isEmpty ? ["rowid"] : table.keyColumns
                    let key = zip(names, change.key).map { "\($0)=\(text($1))" }.joined(separator: ",")
                    let cells = change.cells.map { "\($0.column):\(text($0.old))→\(text($0.new))" }
                    let sign: String
                    switch change.kind {
                    case .inserted: (sign, seen.inserted) = ("+", seen.inserted + 1)
                    case .updated: (sign, seen.updated) = ("~", seen.updated + 1)
                    case .deleted: (sign, seen.deleted) = ("-", seen.deleted + 1)
                    }
                    result.append(
                        "\(sign)\(key) \(change.kind == .updated ? cells.joined(separator: " ") : "")")
                }
                #expect(counts == seen)
                #expect(try comparison.countRowChanges(in: table) == seen)
            }
            return result
        }
    }

    private func text(_ value: StoredValue?) -> String {
        switch value?.content {
        case nil: "-"
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let bytes):
            "'\(bytes.map { $0 >= 0x20 && $0 < 0x7F ? String(UnicodeScalar($0)) : "<\($0)>" }.joined())'"
        case .blob(let bytes): "x\(bytes)"
        }
    }

    @Test(arguments: [
        ("1", "1.0", "1→1.0"), ("1", "'1'", "1→'1'"), ("'a'", "X'61'", "'a'→x[97]"),
        ("0", "NULL", "0→NULL"),
        ("9223372036854775807", "9223372036854775808.0", "9223372036854775807→9.223372036854775807E18"),
        ("9e999", "-9e999", "inf→-inf"),
        ("CAST(X'FF' AS TEXT)", "CAST(X'FE' AS TEXT)", "'<255>'→'<254>'"),
        ("'a' || char(0) || 'b'", "'a' || char(0) || 'c'", "'a<0>b'→'a<0>c'"), ("''", "X''", "''→x[]"),
        ("'a'", "'A'", "'a'→'A'"), ("'a'", "'a '", "'a'→'a '"),
    ])
    func valuesThatOnlyLookAlikeDiffer(_ old: String, _ new: String, _ expected: String) throws {
        for definition in [
            "(k INTEGER PRIMARY KEY, a COLLATE NOCASE)",
            "(k PRIMARY KEY, a COLLATE RTRIM) WITHOUT ROWID",
        ] {
            let store = { (value: String) in
                ["CREATE TABLE t\(definition)", "INSERT INTO t VALUES(1, \(value))"] as [String]
            }
            let expected = expected.replacingOccurrences(
                of: "9.223372036854775807E18", with: "\(0x1p63)")
            #expect(try rows(store(old), store(new)) == ["~k=1 a:\(expected)"])
            #expect(try rows(store(new), store(new)).isEmpty)
        }
    }

    @Test func keysThatACollationFoldsMatch() throws {
        #expect(
            try rows(
                [
                    "CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY, a)",
                    "INSERT INTO t VALUES('a', 1), ('b', 2)",
                ],
                [
                    "CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY, a)",
                    "INSERT INTO t VALUES('B', 2), ('A', 1)",
                ])
                == ["~k='a' k:'a'→'A'", "~k='b' k:'b'→'B'"])
    }

    @Test func keyMayHaveAnotherCollationThanItsColumn() throws {
        for suffix in ["", " WITHOUT ROWID"] {
            let binary = { (value: String) in
                [
                    "CREATE TABLE t(k TEXT NOT NULL COLLATE NOCASE, a, PRIMARY KEY (k COLLATE BINARY))\(suffix)",
                    "INSERT INTO t VALUES('a', 1), ('A', \(value))",
                ]
            }
            #expect(try rows(binary("2"), binary("3")) == ["~k='A' a:2→3"])
            let folding = { (value: String) in
                [
                    "CREATE TABLE t(k TEXT NOT NULL, a, PRIMARY KEY (k COLLATE NOCASE))\(suffix)",
                    "INSERT INTO t VALUES('b', 1), (\(value), 2)",
                ]
            }
            #expect(try rows(folding("'a'"), folding("'A'")) == ["~k='a' k:'a'→'A'"])
        }
    }

    @Test func keyWithNullIdentifiesNoRow() throws {
        let store = { (value: String) in
            ["CREATE TABLE t(k TEXT PRIMARY KEY, a)", "INSERT INTO t VALUES(NULL, \(value)), (NULL, 2)"]
        }
        #expect(try rows(store("1"), store("3")) == ["~rowid=1 a:1→3"])
    }

    @Test func columnMayHaveTheNameOfTheRowid() throws {
        let store = { (value: String) in
            ["CREATE TABLE t(rowid, a)", "INSERT INTO t VALUES('x', \(value)), ('x', 2)"]
        }
        #expect(try rows(store("1"), store("3")) == ["~rowid=1 a:1→3"])
        let hidden = ["CREATE TABLE t(rowid, oid, _rowid_)", "INSERT INTO t VALUES(1, 2, 3)"]
        let said = try rows(hidden, hidden)
        #expect(said.count == 1 && said[0].hasPrefix("t: its rows cannot be identified"))
    }

    @Test func tablesThatDifferAreComparedByCommonColumns() throws {
        #expect(
            try rows(
                [
                    "CREATE TABLE t(k INTEGER PRIMARY KEY, a, gone)",
                    "INSERT INTO t VALUES(1, 1, 1), (2, 2, 2)",
                ],
                [
                    "CREATE TABLE T(new, A, K INTEGER PRIMARY KEY)",
                    "INSERT INTO t VALUES(9, 1, 1), (9, 3, 2), (9, 9, 9)",
                ])
                == ["~K=2 a:2→3", "+K=9 "])
        // With another key, the rows are different rows.
        #expect(
            try rows(
                ["CREATE TABLE t(k INTEGER PRIMARY KEY, a)", "INSERT INTO t VALUES(1, 1)"],
                ["CREATE TABLE t(k TEXT PRIMARY KEY, a)", "INSERT INTO t VALUES(1, 1)"])
                == ["-k=1 ", "+k='1' "])
        #expect(try rows(["CREATE TABLE t(a)", "INSERT INTO t VALUES(1)"], []) == ["-rowid=1 "])
        #expect(try rows([], ["CREATE TABLE t(a)", "INSERT INTO t VALUES(1)"]) == ["+rowid=1 "])
    }

    @Test func utf16IsComparedAndRead() throws {
        let store = { (value: String) in
            [
                "PRAGMA encoding = 'UTF-16be'", "CREATE TABLE t(k TEXT PRIMARY KEY, a)",
                "INSERT INTO t VALUES('果', \(value))",
            ]
        }
        #expect(
            try rows(store("'été'"), store("'ete'")) == [
                "~k='<230><158><156>' a:'<195><169>t<195><169>'→'ete'"
            ])
        #expect(try rows(store("'é'"), store("'é'")).isEmpty)
        let error = #expect(throws: SQLiteError.self) {
            try rows(store("1"), ["CREATE TABLE t(k TEXT PRIMARY KEY, a)"])
        }
        #expect(error?.message.contains("same text encoding") == true)
    }

    @Test func valuesAreCopiedUpToALimit() throws {
        let store = { (value: String) in
            ["CREATE TABLE t(a)", "INSERT INTO t VALUES(\(value))"] as [String]
        }
        try compare(store("zeroblob(100000)"), store("zeroblob(100001)")) { comparison in
            let table = try #require(try comparison.tables().first)
            try comparison.forEachRowChange(in: table, valueLimit: 10) { change in
                let cell = try #require(change.cells.first)
                #expect(cell.old?.content == .blob([UInt8](repeating: 0, count: 10)))
                #expect(cell.old?.byteCount == 100_000)
                #expect(cell.new?.byteCount == 100_001)
                #expect(cell.new?.isCut == true)
            }
        }
    }

    @Test func rowsBeyondALimitAreCounted() throws {
        let store = { (condition: String) in
            [
                "CREATE TABLE t(k INTEGER PRIMARY KEY, a)",
                "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000) "
                    + "INSERT INTO t SELECT i, i % \(condition == "i % 2" ? 2 : 3) FROM c WHERE \(condition)",
            ]
        }
        try compare(store("i % 2"), store("i % 3")) { comparison in
            let table = try #require(try comparison.tables().first)
            let whole = try comparison.forEachRowChange(in: table) { _ in }
            #expect(whole == RowCounts(inserted: 334, updated: 166, deleted: 167))
            for limit: Int64 in [0, 1, 332, 334, 400, 10_000] {
                var visited: Int64 = 0
                #expect(
                    try comparison.forEachRowChange(in: table, limit: limit) { _ in visited += 1 }
                        == whole)
                #expect(visited == min(limit, whole.total))
            }
        }
    }

    @Test func generatedColumnsAreCompared() throws {
        let store = { (value: String) in
            [
                "CREATE TABLE t(k INTEGER PRIMARY KEY, a, s AS (a * 2) STORED, v AS (a * 3))",
                "INSERT INTO t(a) VALUES(\(value))",
            ]
        }
        #expect(try rows(store("1"), store("2")) == ["~k=1 a:1→2 s:2→4 v:3→6"])
    }

    @Test func collationsAndFunctionsOfApplicationsAreNotNeeded() throws {
        // A collation and a function that SQLite does not know, as in the file of another program.
        func foreign(_ definition: String) -> [String] {
            [
                "CREATE TABLE t(k INTEGER, a)", "INSERT INTO t VALUES(1, 'x'), (2, 'y')",
                "PRAGMA writable_schema = 1",
                "UPDATE sqlite_master SET sql = 'CREATE TABLE t\(definition)'",
            ]
        }
        #expect(
            try rows(
                foreign("(k, a COLLATE foreign_order)"),
                foreign("(k, a COLLATE foreign_order)")
                    + [
                        "PRAGMA writable_schema = RESET",
                        "UPDATE t SET a = ''z'' WHERE k = 1".replacingOccurrences(of: "''", with: "'"),
                    ])
                == ["~rowid=1 a:'x'→'z'"])
        #expect(
            try rows(
                foreign("(k, a, v AS (foreign_function(a)))"),
                foreign("(k, a, v AS (foreign_function(a)))")
            ).isEmpty)
    }

    @Test(.timeLimit(.minutes(2))) func viewsAreNotCompiled() throws {
        // Compiling the last one would take 2^60 steps.
        let views =
            ["CREATE TABLE t(a)", "CREATE VIEW v0 AS SELECT a FROM t"]
            + (1...60).map {
                "CREATE VIEW v\($0) AS SELECT a FROM v\($0 - 1) UNION ALL SELECT a FROM v\($0 - 1)"
            }
        #expect(try rows(views, views + ["INSERT INTO t VALUES(1)"]) == ["+rowid=1 "])
    }

    @Test func wideTablesAreComparedUpToALimit() throws {
        func store(columns: Int, _ value: String) -> [String] {
            let names = (1...columns).map { "c\($0)" }
            let values = names.map { $0 == "c\(columns)" ? value : "1" }
            return [
                "CREATE TABLE t(\(names.joined(separator: ",")))",
                "INSERT INTO t VALUES(\(values.joined(separator: ",")))",
            ]
        }
        #expect(try rows(store(columns: 300, "2"), store(columns: 300, "3")) == ["~rowid=1 c300:2→3"])
        // Three results per column exceed SQLite's maximum for a query.
        #expect(
            try rows(store(columns: 900, "2"), store(columns: 900, "3"))
                == ["t: too many columns in result set"])
    }

    @Test(arguments: 0..<4) func damageIsAnErrorOrADifference(_ part: UInt64) throws {
        for seed in (part * 50)..<(part * 50 + 50) {
            try withTemporaryDirectory { directory in
                let (a, b) = (directory + "/a.sqlite", directory + "/b.sqlite")
                var stores = RandomStores(seed: seed)
                try makeStore(a, stores.creation() + stores.creation())
                var bytes = try Data(contentsOf: URL(filePath: a))
                for _ in 0..<stores.numbers.number(1...40) {
                    bytes[stores.numbers.number(0...bytes.count - 1)] = UInt8(
                        stores.numbers.number(0...255))
                }
                if stores.numbers.chance(20) {
                    bytes = bytes.prefix(stores.numbers.number(0...bytes.count))
                }
                try bytes.write(to: URL(filePath: b))
                for (first, second) in [(a, b), (b, a), (b, b)] {
                    do {
                        let comparison = try StoreComparison(
                            a: StoreComparison.Side(path: first, isPrivate: true),
                            b: StoreComparison.Side(path: second, isPrivate: true),
                            deadline: Instant.now.advanced(bySeconds: 30))
                        _ = comparison.schemaChanges()
                        for table in try comparison.tables() {
                            try comparison.forEachRowChange(in: table) { _ in }
                        }
                    } catch let error as SQLiteError {
                        #expect(!error.isInterrupted, "seed \(seed)")
                    }
                }
            }
        }
    }

    @Test func deadlineEndsTheComparison() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try makeStore(
                path,
                [
                    "CREATE TABLE t(a)",
                    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000) "
                        + "INSERT INTO t SELECT i FROM c",
                ])
            let side = StoreComparison.Side(path: path, isPrivate: true)
            let error = #expect(throws: SQLiteError.self) {
                let comparison = try StoreComparison(a: side, b: side, deadline: Instant(nanoseconds: 1))
                for table in try comparison.tables() { _ = try comparison.countRowChanges(in: table) }
            }
            #expect(error?.isInterrupted == true)
        }
    }

    @Test func storeInUseIsReadWithItsWAL() throws {
        try withTemporaryDirectory { directory in
            let (a, b) = (directory + "/a.sqlite", directory + "/b.sqlite")
            try makeStore(a, ["CREATE TABLE t(a)"])
            let writer = try ApplicationHandle(b)
            try writer.run("PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES(1)")
            let side = try #require(try StoreComparison.Side(ofFile: b))
            #expect(!side.isPrivate)
            let comparison = try StoreComparison(
                a: StoreComparison.Side(path: a, isPrivate: true), b: side)
            let table = try #require(try comparison.tables().first)
            #expect(try comparison.countRowChanges(in: table) == RowCounts(inserted: 1))
            // The comparison sees one state, regardless of later writes.
            try writer.run("INSERT INTO t VALUES(2)")
            #expect(try comparison.countRowChanges(in: table) == RowCounts(inserted: 1))
        }
    }

    @Test func closedStoreInWALModeStaysUnchanged() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            let store = try ApplicationHandle(path)
            try store.run("PRAGMA journal_mode = wal; CREATE TABLE t(a)")
            store.close()
            let side = try #require(try StoreComparison.Side(ofFile: path))
            #expect(try StoreComparison(a: side, b: side).schemaChanges().isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["a.sqlite"])
            try Data("no database, but twenty bytes and more".utf8).write(to: URL(filePath: path))
            #expect(try StoreComparison.Side(ofFile: path) == nil)
        }
    }
}
