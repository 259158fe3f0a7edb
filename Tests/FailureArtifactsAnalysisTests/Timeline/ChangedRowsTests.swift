import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsAnalysis

/// Counting only the rows of changed pages has the same result as comparing all rows.
@Suite struct ChangedRowsTests {
    private static let tables = ["t", "u", "w", "o"]

    private func statement(_ generator: inout SplitMix) -> String {
        let table = generator.pick(Self.tables)
        let (low, count) = (
            Int.random(in: 0..<900, using: &generator), Int.random(in: 1...30, using: &generator)
        )
        let range = "k BETWEEN \(low) AND \(low + count)"
        switch Int.random(in: 0..<12, using: &generator) {
        case 0..<5: return "UPDATE \(table) SET v = \(low) || 'x' WHERE \(range)"
        case 5..<8: return "DELETE FROM \(table) WHERE \(range)"
        case 8:
            // Only the end of the value changes, on its last overflow page.
            return "UPDATE o SET v = CAST(substr(v, 1, 1480) || hex(randomblob(10)) AS BLOB) "
                + "WHERE length(v) = 1500 AND k > \(low)"
        case 9: return "DELETE FROM \(table)"
        case 10: return "VACUUM"
        default: return "INSERT INTO \(table) SELECT k + 1000, v FROM t WHERE \(range)"
        }
    }

    /// Fills a store with random statements and compares both ways of counting for each transaction.
    private func check(seed: UInt64) throws {
        let fixture = try Fixture()
        var generator = SplitMix(seed: seed)
        let live = fixture.path("live.sqlite")
        let connection = try Connection(path: live, mode: .create)
        try connection.execute(
            """
            PRAGMA page_size = \(generator.pick([512, 1024, 4096]));
            PRAGMA auto_vacuum = \(generator.pick([0, 1])); PRAGMA secure_delete = \(generator.pick([0, 1]));
            PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = off;
            CREATE TABLE t(k INTEGER PRIMARY KEY, v); CREATE TABLE u(k PRIMARY KEY, v);
            CREATE TABLE w(k PRIMARY KEY, v) WITHOUT ROWID; CREATE TABLE o(k, v); CREATE INDEX i ON t(v);
            WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c LIMIT 1000)
            INSERT INTO t SELECT n, hex(randomblob(20)) FROM c;
            INSERT INTO u SELECT * FROM t ORDER BY v; INSERT INTO w SELECT * FROM t;
            INSERT INTO o SELECT k, iif(k % 50, v, randomblob(1500)) FROM t; PRAGMA wal_checkpoint(TRUNCATE);
            """)
        for _ in 0..<12 {
            let sql = statement(&generator)
            // A statement that violates a key constraint changes nothing.
            try? connection.execute(sql)
        }
        let pages = try connection.integer(of: "PRAGMA page_count")
        _ = try WALHistory(maximumBytes: 1 << 30).record(
            database: File(sharing: live), wal: File(sharing: live + "-wal"),
            index: WriteAheadLogIndex(ofFile: live + "-shm"), committedPages: UInt64(pages),
            to: fixture.path("history"))
        try connection.execute("PRAGMA wal_checkpoint")
        try FileSystem.copy(live, toNewFile: fixture.path("copy"))

        let reader = try HistoryReader(path: fixture.path("history"))
        let (old, new) = (fixture.path("old"), fixture.path("new"))
        try reader.rebuild(at: 0, from: fixture.path("copy"), to: old)
        try reader.rebuild(at: 0, from: fixture.path("copy"), to: new)
        for (index, transaction) in reader.transactions.enumerated() {
            try reader.advance(new, from: index)
            let narrow = try StateChanges.count(from: old, to: new, pages: Set(transaction.pages))
            let full = try StateChanges.count(from: old, to: new)
            #expect(narrow == full, "seed \(seed), transaction \(index + 1)")
            try reader.advance(old, from: index)
        }
    }

    @Test func bothWaysOfCountingAgree() throws {
        for seed in 0..<25 { try check(seed: UInt64(seed)) }
    }
}
