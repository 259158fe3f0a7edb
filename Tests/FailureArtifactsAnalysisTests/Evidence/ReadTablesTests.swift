import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The last queries before a failure, which tell the tables that the assertion is about.
@Suite struct ReadTablesTests {
    private static let rich = "SELECT name FROM account WHERE balance > 15"
    private static let withClause =
        "WITH rich AS (SELECT * FROM account WHERE balance > 15) SELECT name FROM rich"

    /// Returns the tables that the last queries read, and the last query.
    private func activity(_ queries: String...) throws -> (tables: Set<String>, query: String?) {
        let fixture = try Fixture()
        let insert = "INSERT INTO account VALUES (3, 'c', 30)"
        let path = try fixture.walBundle(
            [insert], log: [(insert, 1)] + queries.map { ($0, $0.contains("UPDATE") ? 1 : 0) })
        let failure = FailureEvidence(
            try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory),
            scratch: fixture.directory)
        let store = try #require(failure.stores.first)
        return (store.relevance(to: failure.message).readTables, LastActivity(failure)?.query?.sql)
    }

    @Test(arguments: [
        rich, withClause, "-- rich\\n" + rich, "/* rich */ " + withClause,
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION SELECT i + 1 FROM n), b AS MATERIALIZED (SELECT id FROM account) "
            + "SELECT * FROM b",
        "WITH replace AS (SELECT * FROM account) SELECT name FROM replace",
    ])
    func queriesReadTables(sql: String) throws {
        let found = try activity(sql)
        #expect(found.tables == ["account"])
        #expect(found.query == sql.replacing("\\n", with: "\n"))
    }

    @Test(arguments: [
        "EXPLAIN QUERY PLAN " + rich, "EXPLAIN " + withClause, "SELECT 1 FROM pragma_table_list",
        "WITH old AS (SELECT id FROM account) UPDATE account SET balance = 0 WHERE id IN old",
        "WITH old AS (SELECT id FROM account) DELETE FROM account WHERE id IN old",
        "PRAGMA table_info(account)",
    ])
    func otherStatementsAreNoReads(sql: String) throws {
        let found = try activity(sql)
        #expect(found.tables.isEmpty && found.query == nil)
    }

    /// A query before the last write is about something else.
    @Test func aWriteEndsTheLastQueries() throws {
        let update = "WITH old AS (SELECT 9 AS id) UPDATE account SET balance = 0 WHERE id IN old"
        let fixture = try Fixture()
        let transactions = ["CREATE TABLE item(id)", "INSERT INTO item VALUES (1)", update]
        let log: [(sql: String, changes: Int?)] = [
            (transactions[0], 0), (transactions[1], 1), ("SELECT id FROM item", 0), (update, 1),
            ("SELECT name FROM account", 0),
        ]
        let path = try fixture.walBundle(transactions, log: log)
        let failure = FailureEvidence(
            try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory),
            scratch: fixture.directory)
        #expect(failure.stores.first?.relevance(to: failure.message).readTables == ["account"])
    }
}
