import Foundation
import Testing

@testable import FailureArtifactsSQLite

@Suite struct ScriptTests {
    /// The script for A and B as SQLite's own shell reads it, and what it says of itself.
    static func script(_ a: String, _ b: String) throws -> (sql: String, summary: ScriptSummary) {
        let comparison = try StoreComparison(
            a: StoreComparison.Side(path: a, isPrivate: true),
            b: StoreComparison.Side(path: b, isPrivate: true))
        var sql = ""
        let summary = try comparison.writeScript { sql += $0 }
        return (sql, summary)
    }

    /// Applies the script to A, by another program, and returns what it says.
    static func apply(_ sql: String, to store: String) throws -> String {
        let file = store + ".sql"
        try Data(sql.utf8).write(to: URL(filePath: file))
        return try sqlite3Program(store, ".read '\(file)'")
    }

    @Test(arguments: 0..<8) func aScriptTurnsOneIntoTheOther(_ part: UInt64) throws {
        for seed in (part * 50)..<(part * 50 + 50) {
            try withTemporaryDirectory { directory in
                let (a, b) = (directory + "/a.sqlite", directory + "/b.sqlite")
                var stores = RandomStores(seed: seed)
                let creation = stores.creation()
                try makeStore(a, creation)
                // Mostly with a common past, sometimes two strangers.
                try makeStore(
                    b, (stores.numbers.chance(85) ? creation : stores.creation()) + stores.changes())
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
}
