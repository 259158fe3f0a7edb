@testable import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@Suite struct BisectionTests {
    private func states(
        of path: String, in fixture: borrowing Fixture
    ) throws -> Timeline {
        let bundle = try BundleReader(
            try BundleLocator.single(at: path), scratchDirectory: fixture.directory, limits: .standard)
        return try Timeline(
            bundle.store(named: nil), of: bundle, scratch: fixture.directory, limits: .standard)
    }

    private static let tables = """
        CREATE TABLE small(id INTEGER PRIMARY KEY, v); INSERT INTO small VALUES (1, 0), (2, 0);
        CREATE TABLE large(id INTEGER PRIMARY KEY, n INTEGER, text TEXT); CREATE INDEX large_n ON large(n);
        CREATE TABLE keyed(a TEXT, b, PRIMARY KEY (a)) WITHOUT ROWID;
        WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i WHERE x < 300)
        INSERT INTO large SELECT x, x % 50, hex(zeroblob(x % 7 * 900)) FROM i;
        INSERT INTO keyed SELECT id, n FROM large
        """

    private static func transaction(_ numbers: inout SplitMix) -> String {
        let id = numbers.next(below: 310)
        let n = numbers.next(below: 50)
        return switch numbers.next(below: 9) {
        case 0: "UPDATE small SET v = \(n) WHERE id = \(1 + id % 2)"
        case 1: "UPDATE large SET n = \(n) WHERE id = \(id)"
        // Overflow pages, in place and moved.
        case 2: "UPDATE large SET text = hex(zeroblob(\(n * 100))) WHERE id = \(id)"
        case 3: "UPDATE large SET text = replace(text, '0', '\(n % 10)') WHERE id = \(id)"
        case 4: "DELETE FROM large WHERE id BETWEEN \(id) AND \(id + n / 10)"
        case 5: "INSERT OR REPLACE INTO large VALUES (\(id), \(n), hex(zeroblob(\(n * 60))))"
        case 6: "UPDATE keyed SET b = \(n) WHERE a = '\(id)'"
        case 7: "DELETE FROM keyed WHERE b = \(n)"
        default:
            "CREATE TABLE IF NOT EXISTS t\(n % 4)(a); DROP TABLE IF EXISTS t\(id % 4); INSERT INTO keyed VALUES ('x\(numbers.next(below: 1 << 30))', 1)"
        }
    }

    /// A query that isn't run again would have had the same result.
    @Test(arguments: 0..<6) func answersAreThoseOfEachState(seed: Int) throws {
        let fixture = try Fixture()
        var numbers = SplitMix(seed: UInt64(seed))
        let transactions = (0..<60).map { _ in Self.transaction(&numbers) }
        let path = try fixture.walBundle([Self.tables] + transactions)
        let states = try states(of: path, in: fixture)
        for sql in [
            "SELECT * FROM small", "SELECT sum(length(text)) FROM large", "SELECT count(*) FROM keyed",
            "SELECT text FROM large WHERE n = 7 ORDER BY id", "SELECT b FROM keyed WHERE a = '33'",
            "SELECT max(n) FROM large", "SELECT name FROM sqlite_master WHERE name LIKE 't_'",
            "SELECT s.v, l.n FROM small s JOIN large l ON l.id = s.v",
            "SELECT * FROM pragma_freelist_count",
            "SELECT 1 FROM large WHERE substr(text, -1) = '9'", "SELECT text FROM large WHERE id = 6",
        ] {
            var results: [[[StoredValue]]?] = []
            try states.forEachState { _, path in
                let connection = try Connection.untrusted(path)
                guard let statement = try? connection.prepare(sql) else {
                    results.append(nil)
                    return true
                }
                var rows: [[StoredValue]] = []
                while try statement.step() {
                    rows.append(
                        (0..<statement.columnCount).map { statement.storedValue(at: $0, limit: .max) })
                }
                results.append(rows)
                return true
            }
            let found = results.indices.filter { !(results[$0] ?? []).isEmpty }
            #expect(
                try states.bisect(sql, onChange: false).states.flatMap(Array.init) == found, "\(sql)")
            let first = results.compactMap(\.self).first
            let changed = try states.bisect(sql, onChange: true)
            let different = results.indices.filter { results[$0] != nil && results[$0] != first }
            #expect(changed.states.flatMap(Array.init) == different, "\(sql)")
            let steps = results.indices.dropFirst().filter {
                results[$0 - 1] != nil && results[$0] != results[$0 - 1]
            }
            #expect(changed.changes == Array(steps), "\(sql)")
        }
    }
}

@Suite struct RowAddressTests {
    @Test(
        arguments: [
            (["t", "1"], "t", ["1"], nil), (["t", "1", "x y"], "t", ["1", "x y"], nil),
            (["t", "WHERE a = 1"], "t", [], "a = 1"), (["t", "where", "a", "=", "1"], "t", [], "a = 1"),
            (["t where(a)"], "t", [], "(a)"), (["a b", "1"], "a b", ["1"], nil),
            (["t", "where"], "t", ["where"], nil), (["t", "whereabouts"], "t", ["whereabouts"], nil),
        ] as [([String], String, [String], String?)])
    func keysAndConditions(
        _ words: [String], _ table: String, _ key: [String], _ condition: String?
    ) throws {
        let address = try #require(RowAddress(words))
        #expect(address.table == table)
        #expect(address.key == key)
        #expect(address.condition == condition)
    }

    @Test(arguments: [[], ["t"], ["t where"], ["two words"]]) func nothing(_ words: [String]) {
        #expect(RowAddress(words) == nil)
    }

    @Test(arguments: [
        ("transferId", "transferID"), ("tranferID", "transferID"), ("accounts", "account"), ("x", nil),
        ("id", "id"), ("zzzzzz", nil),
    ])
    func nearestNames(_ name: String, _ nearest: String?) {
        let names = ["account", "transferID", "id", "v"]
        #expect(Spelling.nearest(to: name, among: names) == nearest)
    }
}
