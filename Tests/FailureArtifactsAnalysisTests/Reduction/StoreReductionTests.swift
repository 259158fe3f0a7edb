@testable import FailureArtifactsAnalysis
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@Suite struct StoreReductionTests {
    /// A private directory with a store, and the reduction of that store.
    private struct Shop: ~Copyable {
        let directory: Fixture
        let reduction: StoreReduction

        init(
            _ sql: String, check: String, options: StoreReduction.Options = .init(),
            limits: UntrustedLimits = .standard, isInterrupted: @escaping () -> Bool = { false },
            beforeCheck: @escaping () -> Void = {}
        ) throws {
            let directory = try Fixture()
            let path = directory.path("store.sqlite")
            try ApplicationHandle(path).run(sql)
            let query = QueryCheck(check, limits: limits)
            reduction = StoreReduction(
                of: path, scratch: directory.directory, limits: limits, options: options,
                check: { path in
                    beforeCheck()
                    return try query.holds(for: path)
                })
            reduction.isInterrupted = isInterrupted
            self.directory = directory
        }

        func result() throws -> ApplicationHandle { try ApplicationHandle(reduction.best) }

        func rows() throws -> [String: Int] {
            try StoreReduction.size(of: reduction.best, limits: .standard).rows
        }
    }

    private static let ledger = """
        CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT);
        CREATE TABLE transfer(id INTEGER PRIMARY KEY, day TEXT NOT NULL CHECK (day LIKE '____-__-__'), memo TEXT);
        CREATE TABLE posting(id INTEGER PRIMARY KEY, transferID INTEGER NOT NULL REFERENCES transfer(id),
            accountID INTEGER NOT NULL REFERENCES account, cents INTEGER NOT NULL);
        CREATE TABLE tag(name TEXT PRIMARY KEY, color TEXT) WITHOUT ROWID;
        CREATE TABLE log(at TEXT, text TEXT);
        CREATE INDEX posting_transfer ON posting(transferID); CREATE INDEX transfer_day ON transfer(day);
        CREATE VIEW balance AS SELECT accountID, sum(cents) cents FROM posting GROUP BY accountID;
        CREATE TRIGGER note AFTER DELETE ON transfer BEGIN INSERT INTO log VALUES ('now', 'deleted'); END;
        WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 2000)
        INSERT INTO transfer SELECT x, printf('2026-%02d-%02d', x % 12 + 1, x % 28 + 1), 'Memo of ' || x FROM i;
        WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 20)
        INSERT INTO account SELECT x, 'Account ' || x, 'Owner ' || x FROM i;
        INSERT INTO posting SELECT NULL, id, id % 20 + 1, id FROM transfer UNION ALL SELECT NULL, id, 1, -id FROM transfer;
        WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 1000)
        INSERT INTO tag SELECT 'tag' || x, 'red' FROM i;
        WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 2980)
        INSERT INTO log SELECT x, hex(zeroblob(20)) FROM i;
        UPDATE posting SET cents = cents + 1 WHERE transferID = 1234 AND cents > 0;
        """
    private static let unbalanced =
        "SELECT transferID FROM posting GROUP BY transferID HAVING sum(cents) > 0 AND count(*) > 1"

    private func expectSound(_ store: ApplicationHandle) throws {
        #expect(try store.texts("PRAGMA integrity_check") == ["ok"])
        #expect(try store.texts("PRAGMA foreign_key_check") == [])
    }

    @Test func tenThousandRowsBecomeThoseThatMatter() throws {
        let shop = try Shop(Self.ledger, check: Self.unbalanced)
        #expect(try shop.rows().values.reduce(0, +) == 10_000)
        #expect(try shop.reduction.run() == .complete)
        let store = try shop.result()
        try expectSound(store)
        // The transfer, its two postings, and their accounts, of which there can be one or two.
        #expect(try store.texts(Self.unbalanced).count == 1)
        #expect(try store.value("SELECT count(*) FROM posting") == "2")
        #expect(try store.texts("SELECT id || ifnull(memo, '-') FROM transfer") == ["1234-"])
        #expect(try shop.rows().values.reduce(0, +) <= 5)
        #expect(
            try store.texts("SELECT name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
                == ["account", "posting", "transfer"])
        // Nothing of the removed rows is in the file.
        #expect(try store.value("PRAGMA freelist_count") == "0")
        #expect(try FileSystem.contents(ofFile: shop.reduction.best).count < 20_000)
    }

    @Test func aSlowCheckNeedsAtMostSixtyRuns() throws {
        var options = StoreReduction.Options()
        options.maximumRuns = 60
        let shop = try Shop(Self.ledger, check: Self.unbalanced, options: options)
        _ = try shop.reduction.run()
        #expect(shop.reduction.runs < 60)
        #expect(try shop.rows().values.reduce(0, +) <= 10)
        try expectSound(try shop.result())
    }

    @Test func schemaIsKeptOnRequest() throws {
        var options = StoreReduction.Options()
        options.keepsSchema = true
        let shop = try Shop(Self.ledger, check: Self.unbalanced, options: options)
        #expect(try shop.reduction.run() == .complete)
        let store = try shop.result()
        #expect(try store.value("SELECT count(*) FROM sqlite_master WHERE sql IS NOT NULL") == "9")
        #expect(try shop.rows().values.reduce(0, +) <= 5)
        #expect(try store.texts("SELECT * FROM log") == [], "The trigger of the application didn't run.")
    }

    @Test func viewsKeepWhatTheyUse() throws {
        let shop = try Shop(
            Self.ledger, check: "SELECT 1 FROM balance WHERE cents = -2000 + 1999 + 1 OR cents > 100")
        #expect(try shop.reduction.run() == .complete)
        let store = try shop.result()
        try expectSound(store)
        #expect(
            try store.texts("SELECT name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
                == ["account", "balance", "posting", "transfer"])
        #expect(try store.texts("SELECT cents > 100 FROM balance") == ["1"])
    }

    @Test func suggestedReferencesAreKept() throws {
        let shop = try Shop(
            """
            CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE book(id INTEGER PRIMARY KEY, authorID INTEGER NOT NULL, title TEXT NOT NULL UNIQUE);
            INSERT INTO author VALUES (1, 'A'), (2, 'B'), (3, 'C');
            INSERT INTO book VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 2, 'a long title'), (4, 3, 'z'),
                (5, 9, 'without an author');
            """, check: "SELECT 1 FROM book WHERE title LIKE 'a lo%'")
        #expect(try shop.reduction.run() == .complete)
        let store = try shop.result()
        #expect(try store.texts("SELECT id || ifnull(name, '') FROM author") == ["2"])
        #expect(try store.texts("SELECT title FROM book") == ["a long title"])
    }

    @Test func rowsThatWereDanglingMayStaySo() throws {
        let shop = try Shop(
            Self.ledger + "; DELETE FROM transfer WHERE id = 77",
            check: "SELECT 1 FROM posting WHERE transferID NOT IN (SELECT id FROM transfer)")
        #expect(try shop.reduction.run() == .complete)
        let store = try shop.result()
        #expect(try store.texts("SELECT transferID FROM posting") == ["77"])
        #expect(try store.texts("PRAGMA foreign_key_check") == ["posting"])
        #expect(try store.texts("SELECT id FROM account").count == 1)
    }

    @Test func constraintsHoldInTheResult() throws {
        let shop = try Shop(
            """
            CREATE TABLE item(id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, price INTEGER CHECK (price > 0 OR note IS NULL),
                note TEXT, json TEXT CHECK (json IS NULL OR json_valid(json)), twice AS (price * 2));
            INSERT INTO item(id, name, price, note, json) VALUES ('a', 'one', 3, 'n', '{"k":[1,2,3,4,5,6,7,8]}'),
                ('b', 'two', 4, 'm', '{}'), ('c', 'three', 5, NULL, '{"a":1}'), ('d', 'four', 6, 'x', NULL);
            """, check: "SELECT 1 FROM item a JOIN item b ON a.price < b.price WHERE b.json LIKE '{%'")
        #expect(try shop.reduction.run() == .complete)
        let store = try shop.result()
        try expectSound(store)
        #expect(try shop.rows() == ["item": 2])
        #expect(try store.value("SELECT count(*) FROM item WHERE name = ''") == "1")
        #expect(try store.value("SELECT count(*) FROM item WHERE note IS NOT NULL") == "0")
    }

    @Test func fullTextIndexesFollowTheirTables() throws {
        let shop = try Shop(
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
            CREATE VIRTUAL TABLE search USING fts5(body, content='note', content_rowid='id');
            WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 300)
            INSERT INTO note SELECT x, 'word' || x FROM i;
            INSERT INTO search(search) VALUES ('rebuild');
            """, check: "SELECT 1 FROM search WHERE search MATCH 'word250'")
        #expect(try shop.reduction.run() == .complete)
        let store = try shop.result()
        #expect(try store.texts("SELECT body FROM note") == ["word250"])
        #expect(
            store.failure(of: "INSERT INTO search(search, rank) VALUES ('integrity-check', 1)") == nil)
    }

    /// A check can need a text, and a row keeps its text.
    @Test(arguments: [
        "SELECT 1 FROM search WHERE search MATCH 'word250'", "SELECT 1 FROM note WHERE id = 250",
    ])
    func fullTextTablesLoseTheirRows(_ check: String) throws {
        let shop = try Shop(
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT);
            CREATE VIRTUAL TABLE search USING fts5(body);
            WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 300)
            INSERT INTO note SELECT x, 'title' FROM i;
            INSERT INTO search(rowid, body) SELECT id, 'word' || id FROM note;
            """, check: check)
        #expect(try shop.reduction.run() == .complete)
        let store = try shop.result()
        let needsText = check.contains("MATCH")
        #expect(try shop.rows() == [needsText ? "search" : "note": 1])
        if needsText {
            #expect(try store.texts("SELECT body FROM search") == ["word250"])
            #expect(store.failure(of: "INSERT INTO search(search) VALUES ('integrity-check')") == nil)
        }
    }

    @Test func tablesOfLibrariesKeepTheirRows() throws {
        let shop = try Shop(
            """
            CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations VALUES ('v1'), ('v2');
            CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);
            """, check: "SELECT 1 FROM t WHERE a = 2")
        #expect(try shop.reduction.run() == .complete)
        #expect(try shop.rows() == ["t": 1])
        #expect(try shop.result().texts("SELECT identifier FROM grdb_migrations") == ["v1", "v2"])
    }

    @Test func anInterruptedReductionKeepsItsBestStore() throws {
        let calls = Lock(0)
        let shop = try Shop(
            Self.ledger, check: Self.unbalanced,
            isInterrupted: {
                calls.withLock {
                    $0 += 1; return $0 > 20
                }
            })
        #expect(try shop.reduction.run() == .interrupted)
        let store = try shop.result()
        try expectSound(store)
        #expect(try store.texts(Self.unbalanced).count == 1)
        let left = try shop.rows().values.reduce(0, +)
        #expect(left < 10_000 && left > 5)
    }

    @Test func theTimeLimitKeepsTheBestStore() throws {
        let (calls, seconds) = (Lock(0), 2.0)
        let shop = try Shop(
            Self.ledger, check: Self.unbalanced,
            limits: UntrustedLimits(valueBytes: 1 << 20, seconds: seconds),
            beforeCheck: {
                // One of the first checks takes all of the processor time.
                let isFifth = calls.withLock { calls in
                    calls += 1
                    return calls == 5
                }
                guard isFifth else { return }
                let end = Instant.processorTime.advanced(bySeconds: seconds)
                while Instant.processorTime < end {}
            })
        #expect(try shop.reduction.run() == .timeLimit)
        #expect(try shop.result().texts(Self.unbalanced).count == 1)
    }

    @Test func checksThatChangeTheirStoreDoNoHarm() throws {
        let directory = try Fixture()
        let path = directory.path("store.sqlite")
        try ApplicationHandle(path).run("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3)")
        let reduction = StoreReduction(
            of: path, scratch: directory.directory, limits: .standard,
            check: { path in
                let store = try ApplicationHandle(path)
                let holds = try store.value("SELECT count(*) FROM t WHERE a = 2") == "1"
                try store.run("PRAGMA journal_mode = wal; DELETE FROM t")
                return holds
            })
        #expect(try reduction.confirm(times: 3) == 3)
        #expect(try reduction.run() == .complete)
        #expect(try ApplicationHandle(reduction.best).texts("SELECT a FROM t") == ["2"])
    }

    @Test func unreliableChecksAreCounted() throws {
        let shop = try Shop("CREATE TABLE t(a)", check: "SELECT 1 WHERE random() % 2 = 0")
        let count = try shop.reduction.confirm(times: 40)
        #expect(count > 0 && count < 40)
    }
}

@Suite struct MinimizationTests {
    @Test func findsExactlyTheNeededItems() {
        var numbers = SplitMix(seed: 7)
        for size in [1, 2, 3, 10, 1000, 10_000] {
            let needed = Set((0..<min(3, size)).map { _ in Int(numbers.next(below: UInt64(size))) })
            var calls = 0
            let found = minimized(Array(0..<size)) { items in
                calls += 1
                return needed.isSubset(of: items)
            }
            #expect(Set(found) == needed)
            #expect(calls <= needed.count * 15 + 1)
        }
    }

    @Test func needsNothingIfNothingIsEnough() {
        #expect(minimized([1, 2, 3]) { _ in true }.isEmpty)
        #expect(minimized([Int]()) { _ in false }.isEmpty)
    }

    /// The result was tried, even if more items can be too much.
    @Test func resultIsEnoughWhateverThePredicate() {
        for seed in 0..<200 {
            var numbers = SplitMix(seed: UInt64(seed))
            let items = Array(0..<12)
            var last = items
            _ = minimized(items) { part in
                #expect(Set(part).isSubset(of: last))
                let isEnough = numbers.next(below: 3) == 0
                if isEnough { last = part }
                return isEnough
            }
        }
    }
}
