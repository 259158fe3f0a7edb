import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// Small updates that change fewer rows than SQLite counts.
@Suite struct ReplaySmallTests {
    @Test(arguments: [
        ["UPDATE account SET balance = 10 WHERE id = 1"],
        ["UPDATE account SET id = 9 WHERE id = 1"],
        ["UPDATE account SET id = 9, name = 'x' WHERE id = 1"],
        ["UPDATE account SET name = name"],
        [
            "UPDATE account SET balance = 11 WHERE id = 1",
            "UPDATE account SET balance = 10 WHERE id = 1",
        ],
        ["UPDATE account SET balance = CASE id WHEN 1 THEN 10 ELSE 5 END"],
        ["REPLACE INTO account VALUES (1, 'a', 10)"],
        ["REPLACE INTO account VALUES (1, 'a', 11)"],
        ["INSERT INTO account VALUES (1, 'x', 2) ON CONFLICT(id) DO UPDATE SET balance = 10"],
        ["DELETE FROM account WHERE id = 1", "INSERT INTO account VALUES (1, 'a', 10)"],
    ])
    func theStatementsAloneAreEnough(_ statements: [String]) throws {
        let fixture = try Fixture()
        let changes: [String: Int] = [
            "UPDATE account SET name = name": 2,
            "UPDATE account SET balance = CASE id WHEN 1 THEN 10 ELSE 5 END": 2,
        ]
        let all = [
            ["INSERT INTO account VALUES (3, 'c', 30)"], statements,
            ["DELETE FROM account WHERE id = 3"],
        ]
        let log: [(sql: String, changes: Int?)] = all.flatMap { statements in
            [("BEGIN", nil)] + statements.map { ($0, changes[$0] ?? 1) } + [("COMMIT", nil)]
        }
        // The table has one page, which SQLite doesn't write if an update leaves it as it is.
        let unchanged = [
            "UPDATE account SET balance = 10 WHERE id = 1", "UPDATE account SET name = name",
            "INSERT INTO account VALUES (1, 'x', 2) ON CONFLICT(id) DO UPDATE SET balance = 10",
        ]
        let isUnchanged = statements.count == 1 && unchanged.contains(statements[0])
        let middle = 3 + statements.count + 1
        let pages = log.enumerated().map { index, statement in
            let isWritten = statement.sql == "COMMIT" && !(index == middle && isUnchanged)
            return (index, "\"pages\":\(isWritten ? 1 : 0)")
        }
        let path = try fixture.walBundle(
            all.map { $0.joined(separator: "; ") }, log: log,
            facts: Dictionary(uniqueKeysWithValues: pages))
        let outcome = run("replay", path)
        #expect(outcome.status == 0, "\(outcome.output)")
    }
}
