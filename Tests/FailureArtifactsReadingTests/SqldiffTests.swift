import FailureArtifactsSQLite
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsReading

/// Compares the rows that differ with the output of SQLite's own `sqldiff`.
@Suite struct SqldiffTests {
    /// The tables that both can compare.
    ///
    /// `sqldiff` distinguishes neither 1 from 1.0 nor texts that are equal by a collation.
    private static let definitions = [
        "(k INTEGER PRIMARY KEY, l, a, b)",
        "(k TEXT PRIMARY KEY, l, a, b)",
        "(k, l, a, b, PRIMARY KEY (k, l)) WITHOUT ROWID",
        "(a, b, l INTEGER NOT NULL, k TEXT NOT NULL, PRIMARY KEY (l, k))",
        "(k INTEGER PRIMARY KEY DESC, l, a, b)",
    ]

    @Test(arguments: 0..<6) func differingRowsAreThoseOfSqldiff(_ part: UInt64) throws {
        for seed in (part * 30)..<(part * 30 + UInt64(rounds(10, of: 30))) {
            var numbers = SplitMix(seed: seed)
            func value() -> String {
                switch numbers.number(0...5) {
                case 0: "NULL"
                case 1: "X'\(numbers.number(10...99))'"
                case 2: "'\(numbers.pick(["x", "y", "it''s", ""]))'"
                case 3: "\(numbers.number(0...3)).5"
                default: String(numbers.number(0...9))
                }
            }
            func insert(_ table: Int) -> String {
                "INSERT OR IGNORE INTO t\(table)(k, l, a, b) "
                    + "VALUES(\(numbers.number(1...60)), \(numbers.number(1...3)), \(value()), \(value()))"
            }
            var creation: [String] = []
            for (table, definition) in Self.definitions.enumerated() {
                creation.append("CREATE TABLE t\(table)\(definition)")
                for _ in 0..<numbers.number(0...40) { creation.append(insert(table)) }
            }
            var changes: [String] = []
            for _ in 0..<numbers.number(0...30) {
                let table = numbers.number(0...Self.definitions.count - 1)
                let rows = "k + 0 BETWEEN \(numbers.number(1...60)) AND \(numbers.number(1...60))"
                switch numbers.number(0...4) {
                case 0: changes.append("DELETE FROM t\(table) WHERE \(rows) AND l = 1")
                case 1, 2: changes.append("UPDATE t\(table) SET a = \(value()) WHERE \(rows)")
                case 3: changes.append("UPDATE t\(table) SET b = \(value()), a = 7 WHERE \(rows)")
                default: changes.append(insert(table))
                }
            }
            try withTemporaryDirectory { directory in
                let (a, b) = (directory + "/a.sqlite", directory + "/b.sqlite")
                try makeStore(a, creation)
                // A store that was filled differently has other rowids.
                try makeStore(
                    b, (numbers.chance(50) ? creation : creation.reversed().sorted()) + changes)
                let found = try Self.statements(a, b)
                let expected = try run("sqldiff", "--primarykey", a, b)
                    .split(separator: "\n").map(String.init).sorted()
                #expect(found.sorted() == expected, "seed \(seed)")
                let counts = try Self.summary(a, b)
                #expect(
                    counts == (try run("sqldiff", "--primarykey", "--summary", a, b)),
                    "seed \(seed)")
            }
        }
    }

    private static func comparison(_ a: String, _ b: String) throws -> StoreComparison {
        try StoreComparison(
            a: StoreComparison.Side(path: a, isPrivate: true),
            b: StoreComparison.Side(path: b, isPrivate: true))
    }

    /// Returns statements for the rows that differ, as `sqldiff` writes them.
    private static func statements(_ a: String, _ b: String) throws -> [String] {
        let comparison = try comparison(a, b)
        var result: [String] = []
        for table in try comparison.tables() {
            try comparison.forEachRowChange(in: table) { change in
                let condition = zip(table.keyColumns, change.key)
                    .map { "\($0)=\(literal($1))" }.joined(separator: " AND ")
                switch change.kind {
                case .deleted: result.append("DELETE FROM \(table.name) WHERE \(condition);")
                case .updated:
                    let values = change.cells.map { "\($0.column)=\(literal($0.new))" }
                    result.append(
                        "UPDATE \(table.name) SET \(values.joined(separator: ", ")) WHERE \(condition);")
                case .inserted:
                    // sqldiff writes the key first.
                    let cells =
                        table.keyColumns.compactMap { key in change.cells.first { $0.column == key } }
                        + change.cells.filter { !table.keyColumns.contains($0.column) }
                    let names = cells.map(\.column).joined(separator: ",")
                    let values = cells.map { literal($0.new) }.joined(separator: ",")
                    result.append("INSERT INTO \(table.name)(\(names)) VALUES(\(values));")
                }
            }
        }
        return result
    }

    /// Returns the output of `sqldiff --summary`.
    private static func summary(_ a: String, _ b: String) throws -> String {
        let comparison = try comparison(a, b)
        return try comparison.tables().map { table in
            let counts = try comparison.countRowChanges(in: table)
            let rows = try comparison.connection.integer(of: "SELECT count(*) FROM main.\(table.name)")
            let same = rows - counts.deleted - counts.updated
            return "\(table.name): \(counts.updated) changes, \(counts.inserted) inserts, "
                + "\(counts.deleted) deletes, \(same) unchanged"
        }.joined(separator: "\n")
    }

    private static func literal(_ value: StoredValue?) -> String {
        switch value?.content {
        case .null, nil: "NULL"
        case .integer(let number): String(number)
        case .real(let number): "\(number)"
        case .text(let bytes):
            "'\(String(decoding: bytes, as: UTF8.self).replacingOccurrences(of: "'", with: "''"))'"
        case .blob(let bytes): "x'\(bytes.map { String(format: "%02x", $0) }.joined())'"
        }
    }
}
