@testable import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Testing

/// Plans of statements on a copy.
@Suite struct QueryPlanTests {
    private func plans(_ statements: String..., schema: String = "") throws -> [String: [String]] {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try Connection(path: path, mode: .create).execute(
                "CREATE TABLE posting (id INTEGER PRIMARY KEY, cents); " + schema)
            let before = try FileSystem.contents(ofFile: path)
            var records = statements.map { sql in
                var record = StatementRecord(
                    at: "", changes: nil, connection: 1, order: 1, phase: .test, sql: sql, thread: "1")
                record.fullScanSteps = 1001
                return record
            }
            let connection = try Connection.untrusted(path)
            QueryPlan.add(to: &records, from: connection)
            #expect(try FileSystem.contents(ofFile: path) == before)
            #expect(try FileSystem.contents(ofDirectory: directory) == ["a.sqlite"])
            return Dictionary(
                records.compactMap { record in record.queryPlan.map { (record.sql, $0) } },
                uniquingKeysWith: { first, _ in first })
        }
    }

    private func plan(_ sql: String, schema: String = "") throws -> [String]? {
        try plans(sql, schema: schema)[sql]
    }

    @Test func linesAreIndentedByLevel() throws {
        #expect(
            try plan("SELECT * FROM posting ORDER BY cents")
                == ["SCAN posting", "USE TEMP B-TREE FOR ORDER BY"])
        #expect(
            try plan("SELECT cents FROM posting UNION ALL SELECT 1") == [
                "COMPOUND QUERY", "  LEFT-MOST SUBQUERY", "    SCAN posting", "  UNION ALL",
                "    SCAN CONSTANT ROW",
            ])
    }

    @Test(arguments: [
        "UPDATE posting SET cents = ? WHERE cents = :a", "DELETE FROM posting WHERE cents > 1",
        "REPLACE INTO posting SELECT * FROM posting", "INSERT INTO posting SELECT * FROM posting; -- x",
        "/* a */ WITH p AS MATERIALIZED (SELECT * FROM posting) SELECT * FROM p",
    ])
    func changesOfRowsHavePlans(_ sql: String) throws {
        #expect(try plan(sql)?.contains { $0.contains("SCAN posting") } == true)
    }

    @Test(arguments: [
        "SELECT * FROM posting; SELECT * FROM posting", "SELECT * FROM posting; PRAGMA user_version = 1",
        "EXPLAIN SELECT * FROM posting", "EXPLAIN QUERY PLAN SELECT * FROM posting",
        "QUERY PLAN SELECT * FROM posting", "PRAGMA table_info(posting)", "PRAGMA user_version = 1",
        "ATTACH 'b.sqlite' AS b", "VACUUM", "VACUUM INTO 'b.sqlite'", "BEGIN", "ANALYZE", "REINDEX",
        "CREATE TABLE copy AS SELECT * FROM posting", "CREATE INDEX i ON posting (cents)", "",
        "SELECT mine(cents) FROM posting", "SELECT * FROM posting ORDER BY cents COLLATE mine",
        "SELECT * FROM other.posting", "SELECT * FROM missing", "SELECT * FROM posting WHERE (",
    ])
    func otherStatementsHaveNone(_ sql: String) throws {
        #expect(try plan(sql) == nil)
    }

    @Test func aMissingModuleGivesNoPlan() throws {
        let schema =
            "PRAGMA writable_schema = 1; INSERT INTO sqlite_master VALUES "
            + "('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING mine(a)')"
        #expect(try plan("SELECT * FROM v", schema: schema) == nil)
    }

    @Test func plansAreBounded() throws {
        let union = Array(repeating: "SELECT cents FROM posting", count: 30).joined(
            separator: " UNION ALL ")
        let many = try #require(try plan(union))
        #expect(many.count == 20 && many.first == "COMPOUND QUERY" && many.last == "…")
    }

    @Test func cheapStatementsHaveNone() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try Connection(path: path, mode: .create).execute("CREATE TABLE posting (id)")
            var records = [
                StatementRecord(
                    at: "", changes: nil, connection: 1, order: 1, phase: .test,
                    sql: "SELECT * FROM posting", thread: "1")
            ]
            records[0].fullScanSteps = 1000
            let connection = try Connection.untrusted(path)
            QueryPlan.add(to: &records, from: connection)
            #expect(records[0].queryPlan == nil)
        }
    }

    // MARK: Untrusted schemas

    @Test func aViewThatReadsItselfGivesNoPlan() throws {
        let schema = "CREATE VIEW a AS SELECT * FROM b; CREATE VIEW b AS SELECT * FROM a"
        #expect(try plan("SELECT * FROM a", schema: schema) == nil)
    }

    @Test func anEndlessViewIsNotRun() throws {
        let schema =
            "CREATE VIEW a AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
        #expect(try plan("SELECT count(*) FROM a", schema: schema)?.isEmpty == false)
    }

    /// Without the limit, each statement takes some 20 seconds.
    @Test func compilingIsLimited() throws {
        let views = (1...15).map {
            "CREATE VIEW v\($0) AS SELECT a.cents FROM v\($0 - 1) a, v\($0 - 1) b"
        }
        let plans = try plans(
            "SELECT * FROM v15", "SELECT 1 FROM v15",
            schema: "CREATE VIEW v0 AS SELECT cents FROM posting; " + views.joined(separator: ";"))
        #expect(plans == [:])
    }
}
