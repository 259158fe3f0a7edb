import FailureArtifactsBundle
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The means by which a statement changes rows that it doesn't name: triggers, foreign keys and replacements.
extension ExperimentTests {
    private static let enforce = Step(
        sql: "PRAGMA foreign_keys = ON", changes: 0, isTransaction: false)

    /// Returns the first finding with a changed row of the query's table, in a store that enforces foreign keys.
    private func finding(_ steps: [Step], _ message: String) throws -> Finding {
        let fixture = try Fixture()
        let base = Fixture.base + "; PRAGMA foreign_keys = ON"
        let found = try explanation([Self.enforce] + steps, message, in: fixture, base: base).findings
        return try #require(found.first { $0.transaction != nil })
    }

    @Test func aTriggerChangedTheRow() throws {
        let sale = "INSERT INTO sale VALUES (1, 2)"
        let schema = [
            "CREATE TABLE sale(id INTEGER PRIMARY KEY, task INTEGER)",
            "CREATE TRIGGER other AFTER INSERT ON sale BEGIN UPDATE task SET done = 1 WHERE id = 3; END",
            "CREATE TRIGGER sold AFTER INSERT ON sale BEGIN UPDATE task SET minutes = 0 WHERE id = NEW.task; END",
        ].map { Step(sql: $0, changes: 0) }
        let first = try finding(
            schema + [Step(sql: sale), query(Self.sum)], equal("140", "160"))
        #expect(first.rows.map(\.text) == ["task id = 2 updated: minutes 20 → 0"])
        #expect(first.statement?.sql == sale)
        #expect(first.means.map(\.kind) == [.trigger] && first.means.map(\.name) == ["sold"])
        #expect(
            first.explanation.hasSuffix(
                " The trigger 'sold' of the INSERT updated task id = 2. That trigger was created at Sources/Tasks.swift:10."
            ),
            "\(first.explanation)")
    }

    @Test func aTriggerChangedAColumnOfTheStatementsRow() throws {
        let trigger =
            "CREATE TRIGGER halve AFTER INSERT ON task BEGIN UPDATE task SET minutes = NEW.minutes / 2 WHERE id = NEW.id; END"
        let first = try finding(
            [
                Step(sql: trigger, changes: 0),
                Step(sql: "INSERT INTO task VALUES (5, 'dan', 'Read', 94, 0)"), query(Self.sum),
            ], equal("207", "254"))
        #expect(
            first.explanation.hasSuffix(
                " The trigger 'halve' of the INSERT changed minutes of task id = 5. That trigger was created at Sources/Tasks.swift:10."
            ),
            "\(first.explanation)")
    }

    private static let tags = [
        Step(
            sql:
                "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT, taskID INTEGER REFERENCES task(id) ON DELETE CASCADE)",
            changes: 0),
        Step(sql: "INSERT INTO tag VALUES (1, 'red', 2), (2, 'blue', 3)", changes: 2),
    ]

    /// Another statement of the transaction deletes rows of the same table itself.
    @Test func aForeignKeyDeletedTheRow() throws {
        func part(_ sql: String, _ changes: Int = 0) -> Step {
            Step(sql: sql, changes: changes, isTransaction: false)
        }
        let (own, delete) = ("DELETE FROM tag WHERE id = 2", "DELETE FROM task WHERE id = 2")
        let first = try finding(
            Self.tags + [
                Step(sql: "\(own); \(delete)", isLogged: false), part("BEGIN"), part(own, 1),
                part(delete, 1), part("COMMIT"),
                query("SELECT name FROM tag WHERE taskID = 2"),
            ], equal("[]", #"["red"]"#))
        #expect(first.code == .unexpectedDelete && first.statement?.sql == delete)
        #expect(first.rows.first?.title == "tag id = 1")
        #expect(first.means.map(\.kind) == [.foreignKey] && first.means.map(\.name) == ["tag.taskID"])
        #expect(
            first.explanation.hasSuffix(
                " The foreign key tag.taskID deleted tag id = 1 with task id = 2."),
            "\(first.explanation)")
    }

    @Test func aReplacementDeletedTheParent() throws {
        let first = try finding(
            Self.tags + [
                Step(sql: "REPLACE INTO task VALUES (2, 'ben', 'Pay rent', 25, 0)"),
                query("SELECT name FROM tag ORDER BY id"),
            ], equal(#"["blue"]"#, #"["red", "blue"]"#))
        #expect(first.means.map(\.kind) == [.foreignKey, .replace])
        #expect(
            first.explanation.hasSuffix(
                " The foreign key tag.taskID deleted tag id = 1 with task id = 2. "
                    + "REPLACE deleted task id = 2, which had the same id."), "\(first.explanation)")
    }

    @Test(arguments: [
        "INSERT OR REPLACE INTO user VALUES (7, 'a', 'x')",
        "UPDATE OR REPLACE user SET email = 'a' WHERE id = 2",
    ])
    func aReplacementDeletedTheRow(_ sql: String) throws {
        let first = try finding(
            [
                Step(
                    sql: "CREATE TABLE user(id INTEGER PRIMARY KEY, email TEXT UNIQUE, name TEXT)",
                    changes: 0),
                Step(sql: "INSERT INTO user VALUES (1, 'a', 'ann'), (2, 'b', 'ben')", changes: 2),
                Step(sql: sql), query("SELECT name FROM user WHERE id = 1"),
            ], "XCTUnwrap failed: expected non-nil value of type \"String\"")
        let row = try #require(first.rows.first)
        #expect(row.title == "user id = 1" && row.change == .deleted)
        #expect(
            first.explanation.hasSuffix(" REPLACE deleted user id = 1, which had the same email."),
            "\(first.explanation)")
    }

    /// An `UPDATE OR REPLACE` that changes a key replaces another row than its own.
    @Test func aChangedKeyIsNoReplacement() throws {
        let first = try finding(
            Self.tags + [
                Step(sql: "UPDATE OR REPLACE tag SET id = 2 WHERE id = 1"),
                query("SELECT name FROM tag WHERE id = 1"),
            ], equal("[]", #"["red"]"#))
        #expect(first.rows.first?.title == "tag id = 1" && first.means.isEmpty, "\(first)")
    }
}
