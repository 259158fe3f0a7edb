import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// The statements that can have changed a row without naming its table.
@Suite struct BlamedStatementTests {
    /// Returns the output for account 1, after a transaction that begins with an INSERT into another table.
    private func output(_ statements: [(sql: String, changes: Int)], preparing setUp: [String] = [])
        throws
        -> String
    {
        let fixture = try Fixture()
        let first =
            ["CREATE TABLE applied(id TEXT)", "CREATE TABLE other(id INTEGER PRIMARY KEY, balance)"]
            + setUp
        let path = try fixture.walBundle(
            [first.joined(separator: "; "), statements.map(\.sql).joined(separator: "; ")],
            log: [("BEGIN", nil)] + first.map { ($0, 0) } + [("COMMIT", nil), ("BEGIN", nil)]
                + statements.map { ($0.sql, $0.changes) } + [("COMMIT", nil)])
        return run("blame", path, "account", "1").output
    }

    /// A migration records its name in a table that nothing refers to.
    @Test func aRebuiltTable() throws {
        let output = try output([
            ("CREATE TABLE fresh(id INTEGER PRIMARY KEY, name, balance)", 0),
            ("INSERT INTO fresh SELECT id, name, balance + 1 FROM account", 2),
            ("DROP TABLE account", 0),
            ("ALTER TABLE fresh RENAME TO account", 0), ("INSERT INTO applied VALUES ('v2')", 1),
        ])
        #expect(
            output.contains("2  id = 1 updated: balance 10 → 11\n     INSERT INTO fresh SELECT"),
            "\(output)")
        #expect(!output.contains("INSERT INTO applied"))
    }

    /// A table that existed before gets the name.
    @Test func aRenamedTable() throws {
        let output = try output([
            ("INSERT INTO other SELECT id, balance + 1 FROM account", 2), ("DROP TABLE account", 0),
            ("ALTER TABLE other RENAME TO account", 0), ("INSERT INTO applied VALUES ('v2')", 1),
        ])
        #expect(output.contains("INSERT INTO other"), "\(output)")
        #expect(!output.contains("INSERT INTO applied"))
    }

    @Test func aTrigger() throws {
        let output = try output(
            [("INSERT INTO other VALUES (1, 2)", 2), ("INSERT INTO applied VALUES ('v2')", 1)],
            preparing: [
                "CREATE TRIGGER t AFTER INSERT ON other BEGIN UPDATE account SET balance = NEW.balance WHERE id = NEW.id; END"
            ]
        )
        #expect(
            output.contains("2  id = 1 updated: balance 10 → 2\n     INSERT INTO other"), "\(output)")
        #expect(!output.contains("INSERT INTO applied"))
    }
}
