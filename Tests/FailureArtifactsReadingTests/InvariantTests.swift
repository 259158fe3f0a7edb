import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsReading
import FailureArtifactsSQLite

@Suite struct InvariantTests {
    private static let store =
        "CREATE TABLE posting (id INTEGER PRIMARY KEY, cents); INSERT INTO posting VALUES (1, 5), (2, -5)"

    /// Runs a query on a store with two postings, for at most `seconds`.
    private func result(
        _ sql: String, seconds: Double = 20, limit: Int = 100
    ) throws -> (result: Invariant.Result, elapsed: Double) {
        let directory = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "invariants-")
        defer { try? FileSystem.remove(directory) }
        let path = directory + "/store.sqlite"
        try Connection(path: path, mode: .create).execute(Self.store)
        let before = try FileSystem.contents(ofFile: path)
        let connection = try Connection.untrusted(path)
        let start = Instant.now
        let result = Invariant(name: "a.sql", sql: sql).check(
            connection, deadline: start.advanced(bySeconds: seconds), limit: limit)
        let elapsed = Double(Instant.now.nanoseconds - start.nanoseconds) / 1e9
        #expect(try FileSystem.contents(ofFile: path) == before)
        #expect(try FileSystem.contents(ofDirectory: directory) == ["store.sqlite"])
        return (result, elapsed)
    }

    @Test func titlesAreTheLeadingComment() {
        func title(_ sql: String) -> String { Invariant(name: "every-posting.sql", sql: sql).title }
        #expect(
            title("-- Every posting\n--   has a transfer\nSELECT 1 -- not this")
                == "Every posting has a transfer")
        #expect(
            title("\n/* Every posting\n has a transfer */ SELECT 1") == "Every posting has a transfer")
        #expect(title("SELECT 1 -- not this") == "every-posting")
        #expect(title("/* no end") == "no end")
        #expect(title("--\nSELECT 1") == "every-posting")
    }

    @Test func rowsBreakAnInvariant() throws {
        #expect(try result("SELECT * FROM posting WHERE cents = 0").result == .holds)
        #expect(try result("-- a\nselect id FROM posting").result == .broken(rows: 2))
        #expect(
            try result("WITH p AS (SELECT * FROM posting) SELECT * FROM p;\n-- b").result
                == .broken(rows: 2))
        #expect(try result("SELECT id FROM posting", limit: 1).result == .broken(rows: 1))
    }

    @Test func absentTablesAndColumns() throws {
        #expect(try result("SELECT * FROM transfer").result == .notApplicable("no such table: transfer"))
        #expect(try result("SELECT note FROM posting").result == .notApplicable("no such column: note"))
    }

    @Test(arguments: [
        "DELETE FROM posting", "WITH p AS (SELECT 1) DELETE FROM posting RETURNING id",
        "PRAGMA user_version", "PRAGMA user_version = 3", "ATTACH '/tmp/other.sqlite' AS other",
        "EXPLAIN SELECT 1",
        "BEGIN", "VACUUM INTO '/tmp/other.sqlite'", "",
    ])
    func otherStatementsAreNotRun(sql: String) throws {
        #expect(try result(sql).result == .failed("it is not a SELECT"))
    }

    @Test func secondStatementsAreRefused() throws {
        #expect(
            try result("SELECT id FROM posting; DELETE FROM posting").result
                == .failed("more than one statement"))
    }

    @Test func endlessQueriesAreInterrupted() throws {
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        let (result, elapsed) = try result(endless + "SELECT i FROM n WHERE i < 0", seconds: 0.2)
        #expect(result == .failed("it ran out of time"))
        #expect(elapsed > 0.15 && elapsed < 5)
        // Endless output is cut at the limit.
        #expect(try self.result(endless + "SELECT i FROM n", limit: 7).result == .broken(rows: 7))
    }

    @Test func filesAreReadInOrder() throws {
        let directory = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "invariants-")
        defer { try? FileSystem.remove(directory) }
        for name in ["b.sql", "a.sql", "notes.txt"] {
            try FileSystem.write(Array("SELECT 1".utf8), toNewFile: directory + "/" + name)
        }
        #expect(try Invariant.all(inDirectory: directory).map(\.name) == ["a.sql", "b.sql"])
        #expect(throws: SystemError.self) { try Invariant.all(inDirectory: directory + "/absent") }
        #expect(throws: SystemError.self) { try Invariant.all(inDirectory: directory + "/a.sql") }
    }
}
