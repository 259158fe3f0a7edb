import CFailureArtifactsSQLite
import FailureArtifactsTestStores
import Foundation
import Testing

extension SplitMix {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}

/// Makes pairs of stores: the second is the first after some changes to its rows and schema.
struct RandomStores {
    var numbers: SplitMix

    init(seed: UInt64) { numbers = SplitMix(seed: seed) }

    /// The definitions of tables with the same writable columns, `k`, `a` and `b`, but different keys.
    static let definitions = [
        "(k INTEGER PRIMARY KEY, a, b TEXT)",
        "(k INTEGER PRIMARY KEY AUTOINCREMENT, a, b TEXT)",
        "(k INTEGER PRIMARY KEY, a UNIQUE, b TEXT COLLATE NOCASE)",
        "(k INTEGER PRIMARY KEY DESC, a, b)",
        "(k TEXT PRIMARY KEY, a, b)",
        "(k PRIMARY KEY, a REAL, b NUMERIC)",
        "(k TEXT PRIMARY KEY COLLATE NOCASE, a INTEGER, b) WITHOUT ROWID",
        "(k COLLATE NOCASE, a, b, PRIMARY KEY (k COLLATE BINARY))",
        "(k NOT NULL, a, b, PRIMARY KEY (b, k)) WITHOUT ROWID",
        "(k, a INT, b, UNIQUE (k, a))",
        "(k, a, b)",
        "(rowid, k, a, b)",
        "(k, a, b, PRIMARY KEY (k, a))",
        "(k INTEGER PRIMARY KEY, a, b, c GENERATED ALWAYS AS (a || b) STORED, d AS (k + 1))",
        "(k ANY PRIMARY KEY, a INTEGER, b TEXT) STRICT",
    ]

    mutating func value() -> String {
        switch numbers.number(0...15) {
        case 0: "NULL"
        case 1...3: String(numbers.number(-3...12))
        case 4: "\(numbers.number(-3...3)).0"
        case 5:
            numbers.pick([
                "9223372036854775807", "-9223372036854775808", "9e999", "-9e999", "4.9e-324", "1e300",
                "9223372036854775808.0", "-9223372036854775808.0", "0.1", "-0.0", "123456789012345680.0",
            ])
        case 6: "\(Double.random(in: -1e18...1e18, using: &numbers))"
        case 7: "\(Double(bitPattern: UInt64.random(in: 1...0x7FE0_0000_0000_0000, using: &numbers)))"
        case 8: "X'\(String(numbers.number(0x1000...0xFFFF), radix: 16))'"
        case 9: "X''"
        case 10: "''"
        case 11:
            numbers.pick([
                "'it''s'", "'a' || char(0) || 'b'", "'two' || char(10) || '.quit'", "char(13, 10)",
                "CAST(X'FF41FE' AS TEXT)", "'1'", "'1.0'", "'''' || char(769)", "char(27) || '[31m'",
                "'果物'",
            ])
        default: "'\(numbers.pick(["a", "A", "b", "B", "c", "Ab", "aB", "d", "e"]))'"
        }
    }

    mutating func row() -> String { "\(value()), \(value()), \(value())" }

    /// Returns statements that fill a table; rows that violate a constraint are ignored.
    mutating func inserts(into table: String, count: Int) -> [String] {
        (0..<count).map { _ in "INSERT OR IGNORE INTO \(table)(k, a, b) VALUES(\(row()))" }
    }

    /// Returns statements that make a store with 1 to 4 tables.
    mutating func creation() -> [String] {
        var statements: [String] = []
        for index in 0..<numbers.number(1...4) {
            statements.append("CREATE TABLE t\(index)\(numbers.pick(Self.definitions))")
            statements += inserts(into: "t\(index)", count: numbers.number(0...25))
            if numbers.chance(30) { statements.append("CREATE INDEX i\(index) ON t\(index)(b, a)") }
            if numbers.chance(20) {
                statements.append("CREATE UNIQUE INDEX u\(index) ON t\(index)(k, a, b)")
            }
        }
        if numbers.chance(30) {
            statements.append("CREATE TABLE log(k, a, b)")
            for event in ["INSERT", "UPDATE", "DELETE"] {
                statements.append(
                    "CREATE TRIGGER on_\(event) AFTER \(event) ON t0 BEGIN "
                        + "INSERT INTO log VALUES('\(event); END;', 1, 2); END")
            }
        }
        if numbers.chance(30) { statements.append("CREATE VIEW v AS SELECT k, a FROM t0 -- a view") }
        return statements
    }

    /// Returns statements that change a store of ``creation()``; some may fail, because a table may not exist.
    mutating func changes() -> [String] {
        var statements: [String] = []
        for _ in 0..<numbers.number(0...12) {
            let table = "t\(numbers.number(0...3))"
            let random = "k IN (SELECT k FROM \(table) LIMIT 3 OFFSET \(numbers.number(0...20)))"
            switch numbers.number(0...19) {
            case 0...4:
                statements.append(
                    "UPDATE OR IGNORE \(table) SET \(numbers.pick(["a", "b", "k"])) = \(value()) WHERE \(random)"
                )
            case 5...7: statements.append("DELETE FROM \(table) WHERE \(random)")
            case 8...11: statements += inserts(into: table, count: 3)
            case 12:
                // Two rows swap values that may have to be unique.
                statements += [
                    "UPDATE OR IGNORE \(table) SET a = 'swap' WHERE a = 1",
                    "UPDATE OR IGNORE \(table) SET a = 1 WHERE a = 2",
                    "UPDATE OR IGNORE \(table) SET a = 2 WHERE a = 'swap'",
                ]
            case 13:
                statements.append("ALTER TABLE \(table) ADD COLUMN e DEFAULT \(numbers.number(0...9))")
            case 14:
                statements += [
                    "DROP TABLE \(table)", "CREATE TABLE \(table)\(numbers.pick(Self.definitions))",
                ]
                statements += inserts(into: table, count: 5)
            case 15: statements.append(numbers.pick(["DROP INDEX i0", "CREATE INDEX j ON t0(a)"]))
            case 16:
                statements.append(
                    numbers.pick([
                        "DROP TRIGGER on_UPDATE",
                        "CREATE TRIGGER late AFTER DELETE ON t0 BEGIN SELECT 1; END",
                    ]))
            case 17: statements.append(numbers.pick(["DROP VIEW v", "CREATE VIEW v2 AS SELECT 1"]))
            case 18: statements.append("PRAGMA user_version = \(numbers.number(0...9))")
            default: statements.append("DROP TABLE \(table)")
            }
        }
        return statements
    }
}

/// Makes a database with statements, some of which may fail.
func makeStore(_ path: String, _ statements: [String]) throws {
    let database = try ApplicationHandle(path)
    try database.run("PRAGMA synchronous = 0; PRAGMA journal_mode = memory")
    for statement in statements { _ = database.failure(of: statement) }
}

/// Returns all content of a store that a change can affect, in an order that does not depend on its history.
func contents(ofStore path: String) throws -> [String] {
    let store = try ApplicationHandle(path)
    func rows(_ sql: String) throws -> [String] {
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(store.handle, sql, -1, &statement, nil) == SQLITE_OK, "\(sql)")
        defer { sqlite3_finalize(statement) }
        var rows: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            let cells = (0..<sqlite3_column_count(statement)).map { column -> String in
                switch sqlite3_column_type(statement, column) {
                case SQLITE_NULL: return "null"
                case SQLITE_INTEGER: return "i\(sqlite3_column_int64(statement, column))"
                case SQLITE_FLOAT:
                    // The sign of zero is left out, because comparisons in SQL ignore it.
                    return "r\((sqlite3_column_double(statement, column) + 0).bitPattern)"
                case let type:
                    let bytes = sqlite3_column_blob(statement, column)
                    let count = Int(sqlite3_column_bytes(statement, column))
                    let buffer = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
                    return "\(type)\(Array(buffer))"
                }
            }
            rows.append(cells.joined(separator: ","))
        }
        return rows
    }
    var result = try rows("PRAGMA user_version") + rows("PRAGMA application_id")
    result += try rows(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql NOT NULL "
            + "AND name <> 'sqlite_sequence' ORDER BY 1, 2")
    let names = try store.texts(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    )
    for name in names {
        // In a table with another key, rowids are visible only to queries that name them, so they are not
        // compared.
        let keys = try store.texts(
            "SELECT name FROM pragma_table_info('\(name)') WHERE pk OR name = 'rowid'")
        let columns = keys.isEmpty ? "rowid, *" : "*"
        result += try rows("SELECT '\(name)', \(name == "sqlite_sequence" ? "*" : columns) FROM \(name)")
            .sorted()
    }
    return result
}
