import FailureArtifactsBundle
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Findings that say no more than is known.
extension ExperimentTests {
    private func onLine(_ sql: String, isWrite: Bool = false) -> Step {
        Step(
            sql: sql, changes: isWrite ? 1 : 0,
            lines: ["Sources/Tasks.swift:90", "Tests/ATests.swift:8"],
            isTransaction: isWrite)
    }

    private func explained(_ steps: [Step], _ expression: String) throws -> Explanation {
        try explanation(
            steps, "Expectation failed: try \(expression)", in: Fixture(), file: "Tests/ATests.swift")
    }

    /// A call that goes on and writes returns something else than its query.
    @Test(arguments: [true, false]) func aQueryBeforeAWriteOfTheLine(isWriting: Bool) throws {
        let write = onLine("UPDATE task SET minutes = 21 WHERE id = 2", isWrite: true)
        let found = try explained(
            [onLine("SELECT minutes FROM task WHERE id = 2")] + (isWriting ? [write] : []),
            "tasks.extend(2) == 777")
        #expect(found.question?.isFailing == !isWriting)
        #expect(
            found.findings.contains {
                $0.explanation.contains("has the result that the assertion compared")
            }
                == !isWriting, "\(found.findings.map(\.explanation))")
    }

    /// The value may be made of the results of several queries.
    @Test(arguments: [1, 2]) func oneOfSeveralQueriesHasTheSecondValue(count: Int) throws {
        let queries = ["sum(minutes)", "count(*)"].prefix(count).map { onLine("SELECT \($0) FROM task") }
        let found = try explanation(
            Array(queries), equal("157", "160"), in: Fixture(), file: "Tests/ATests.swift")
        let verdict = try #require(found.verdict)
        #expect(verdict.contains("there is no cause in the database") == (count == 1), "\(verdict)")
        #expect(!verdict.contains("expected 157"), "\(verdict)")
        #expect(found.question?.isFailing == (count == 1))
    }

    /// Both values are the same, so none of them is the second one.
    @Test func twoEqualValues() throws {
        let found = try explanation(
            [onLine("SELECT minutes FROM task WHERE id = 9")],
            #"XCTAssertNotEqual failed: ("nil") is equal to ("nil")"#, in: Fixture(),
            file: "Tests/ATests.swift")
        #expect(found.verdict?.contains("the second value") == false, "\(found.verdict ?? "")")
    }

    /// The columns of the result have only one of the two properties.
    @Test func aStructureWithAPropertyThatTheQueryDoesNotHave() throws {
        let query = onLine("SELECT owner, sum(minutes) AS total FROM task WHERE id < 3 GROUP BY owner")
        func values(_ hours: Int, _ owner: String = "ben") -> String {
            #"[Use(owner: "ann", hours: 1), Use(owner: "\#(owner)", hours: \#(hours))]"#
        }
        // All properties that are known are as expected.
        let found = try explanation(
            [query], equal(values(1), values(2)), in: Fixture(), file: "Tests/ATests.swift")
        let texts = found.findings.map { $0.title + $0.explanation } + [found.verdict ?? ""]
        #expect(
            !texts.contains {
                $0.contains("the elements of the expected") || $0.contains("has the expected")
            },
            "\(texts)")
        let fixed = try findings(
            [Step(sql: "UPDATE task SET owner = 'zoe' WHERE id = 2"), query],
            equal(values(1, "zoe"), values(2)))
        let first = try #require(fixed.first)
        #expect(
            first.title
                == "Without transaction 3, the query returns ('ann', 35), ('ben', 20), with owner as expected"
        )
        #expect(first.confidence == .possible)
    }

    /// One of many variants returns two small numbers by chance.
    @Test(arguments: [("[2, 1]", "[1, 1]", false), ("[55, 80]", "[55, 60]", true)])
    func aShortListOfSmallNumbers(result: String, expected: String, isLikely: Bool) throws {
        let column = isLikely ? "sum(minutes)" : "count(*)"
        let found = try findings(
            [
                Step(sql: "UPDATE task SET owner = 'x', minutes = 20 WHERE id < 4"),
                query(
                    "SELECT \(column) FROM task WHERE id > 1 AND minutes >= 20 GROUP BY owner ORDER BY 1 DESC"
                ),
            ], equal(result, expected))
        #expect(found.allSatisfy { $0.confidence == .possible } || isLikely, "\(found.map(\.title))")
    }

    /// A row with another value in a part of its key is another one.
    @Test(arguments: [("[1,\"b\"]", false), ("[1,\"a\"]", true)])
    func aRowWithAKeyOfTwoColumns(values: String, isNamed: Bool) throws {
        let found = try findings(
            [
                Step(
                    sql: "CREATE TABLE price(list, sku, cents, PRIMARY KEY (list, sku)) WITHOUT ROWID",
                    changes: 0),
                Step(sql: "INSERT INTO price VALUES (1, 'b', 5), (1, 'a', 9)", changes: 2),
                Step(sql: "UPDATE price SET cents = 7 WHERE list = 1 AND sku = 'a'"),
                query("SELECT list FROM price WHERE list = ? AND sku = ? AND cents > 0", values: values),
            ], "XCTAssertTrue failed")
        #expect(
            found.contains { $0.title == "Transaction 5 changed a row that the query names" } == isNamed,
            "\(found.map(\.title))")
    }

    /// A transaction that changed none of a query's tables has the result of the one before it; a full-text table has its
    /// rows in others.
    @Test(arguments: ["task WHERE title = 'Rest'", "note WHERE note MATCH 'Rest'"])
    func statesWithAnotherResult(source: String) throws {
        let steps = [
            Step(sql: "CREATE VIRTUAL TABLE note USING fts5(title)", changes: 0),
            Step(sql: "INSERT INTO note VALUES ('Rest')"),
            Step(sql: "INSERT INTO task VALUES (7, 'dan', 'Rest', 1, 0)"),
            Step(sql: "INSERT INTO note VALUES ('Rest')"),
            Step(sql: "UPDATE task SET title = 'Rest' WHERE id = 1"),
        ]
        let found = try explanation(
            steps + [query("SELECT count(*) FROM " + source)], equal("2", "1"), in: Fixture())
        let results = found.question?.results.map(\.result) ?? []
        #expect(results.suffix(3) == ["0", "1", "2"], "\(results)")
        #expect(found.question?.results.last?.transaction == (source.hasPrefix("task") ? 7 : 6))
    }

    @Test func aColumnWithoutAName() throws {
        let found = try findings(
            [
                query(
                    "SELECT title,         (SELECT max(minutes)    FROM task AS other WHERE other.owner = task.owner) FROM task WHERE id = 2"
                )
            ],
            equal("45", "777"))
        let query = try #require(found.first { $0.code.isOfQuery })
        #expect(query.title.utf8.count < 90 && !query.title.contains("  "), "\(query.title)")
    }

    /// The last change of what a term compares leaves the row out.
    @Test func whatLaterTransactionsChangedLeavesOutARow() throws {
        let found = try findings(
            [
                Step(sql: "INSERT INTO task VALUES (5, 'ann', 'Iron', 70, 0)"),
                Step(sql: "UPDATE task SET done = 1 WHERE id = 5"),
                query("SELECT title FROM task WHERE minutes > 40 AND done = 0 ORDER BY id"),
            ], equal(#"["Book dentist", "Call"]"#, #"["Sweep"]"#))
        #expect(found.contains { $0.transaction == 4 })
        #expect(
            !found.contains { $0.title.contains("leaves out") },
            "\(found.map { $0.title + $0.explanation })")
    }

    /// A migration of an empty table has changed no row.
    @Test(arguments: [false, true]) func aMigrationOfATable(isEmpty: Bool) throws {
        let migration = [
            "CREATE TABLE new_plan(id INTEGER PRIMARY KEY, half INTEGER)",
            "INSERT INTO new_plan SELECT id, minutes / 2 FROM plan", "DROP TABLE plan",
            "ALTER TABLE new_plan RENAME TO plan",
        ]
        let parts = (["BEGIN"] + migration + ["COMMIT"]).map { sql in
            Step(
                sql: sql, changes: sql.hasPrefix("INSERT") && !isEmpty ? 1 : 0,
                lines: ["Sources/Migrations.swift:7"], isTransaction: false)
        }
        let found = try findings(
            [
                Step(sql: "CREATE TABLE plan(id INTEGER PRIMARY KEY, minutes INTEGER)", changes: 0),
                Step(sql: "INSERT INTO plan VALUES (1, 70)"),
            ] + (isEmpty ? [Step(sql: "DELETE FROM plan")] : [])
                + [Step(sql: migration.joined(separator: "; "), isLogged: false)] + parts
                + (isEmpty ? [Step(sql: "INSERT INTO plan VALUES (1, 35)")] : [])
                + [query("SELECT half FROM plan WHERE id = 1")], equal("35", "80"))
        #expect(
            found.contains { $0.title.contains("changed the schema, and rows") } != isEmpty,
            "\(found.map(\.title))")
    }

    /// The term of a subquery leaves out rows of its own tables.
    @Test func theTermsOfASubquery() throws {
        let limit = "(SELECT value FROM setting WHERE name = 'least')"
        let found = try findings(
            [
                Step(sql: "CREATE TABLE setting(name TEXT, value INTEGER)", changes: 0),
                Step(sql: "INSERT INTO setting VALUES ('low', 50), ('least', 70)", changes: 2),
                Step(sql: "INSERT INTO task VALUES (5, 'ann', 'Iron', 20, 0)"),
                query("SELECT owner FROM task GROUP BY owner HAVING sum(minutes) > \(limit)"),
            ], equal("[]", #"["eve"]"#))
        #expect(
            !found.contains { $0.transaction == 5 && $0.title.contains("leaves out") },
            "\(found.map { $0.title + $0.explanation })")
    }

    /// Without the title's change, the value would be the right one.
    @Test func oneColumnOfARowIsTheWrongOne() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 50, title = 'Dentist' WHERE id = 3"),
                query("SELECT title || ':' || minutes FROM task WHERE id = 3"),
            ], equal("Dentist:50", "Dentist:45"))
        #expect(
            found.first?.title
                == "Without the change of minutes of task id = 3 in transaction 3, the query returns the expected Dentist:45",
            "\(found.map(\.title))")
    }

    /// A query of the failing one's line is told from that by its parameters.
    @Test func anotherQueryOfTheSameLine() throws {
        let sql = "SELECT minutes FROM task WHERE title = ?"
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 50 WHERE id = 3"),
                query(sql, values: #"["Book dentist"]"#), query(sql, values: #"["Sweep"]"#),
            ], "XCTAssertTrue failed")
        #expect(
            found.contains {
                $0.title
                    == "Without transaction 3, the query at Tasks.swift:90 (parameters: 'Book dentist') returns 45"
            }, "\(found.map(\.title))")
    }

    /// Several statements may have started the trigger that changed a row.
    @Test(arguments: [1, 2]) func aRowThatATriggerChanged(count: Int) throws {
        let trigger =
            "CREATE TRIGGER spend AFTER INSERT ON posting BEGIN UPDATE task SET minutes = minutes - NEW.minutes; END"
        let insert = "INSERT INTO posting VALUES (5)"
        let inserts = Array(repeating: Step(sql: insert, isTransaction: false), count: count)
        let found = try findings(
            [
                Step(sql: "CREATE TABLE posting(minutes)", changes: 0), Step(sql: trigger, changes: 0),
                Step(sql: "BEGIN", changes: 0, isTransaction: false),
            ] + inserts + [
                Step(sql: "COMMIT", changes: 0, isTransaction: false),
                Step(
                    sql: Array(repeating: insert, count: count).joined(separator: "; "), isLogged: false),
                query("SELECT minutes FROM task WHERE id = 4"),
            ], equal("\(60 - 5 * count)", "60"))
        let row = try #require(found.first { $0.transaction == 5 }?.rows.first, "\(found)")
        #expect(row.text.contains("by the whole transaction") == (count > 1), "\(row.text)")
    }

    /// A transaction's changes of a row are one change.
    @Test func rowsThatSeveralStatementsChanged() throws {
        let update = "UPDATE task SET minutes = 50 WHERE id = 3"
        let found = try findings(
            [
                Step(sql: "BEGIN", changes: 0, isTransaction: false),
                Step(sql: "UPDATE task SET minutes = 40 WHERE id = 3", isTransaction: false),
                Step(sql: update, isTransaction: false),
                Step(sql: "COMMIT", changes: 0, isTransaction: false),
                Step(sql: update, isLogged: false), query(Self.sum),
            ], equal("165", "160"))
        let finding = try #require(found.first { $0.transaction == 3 })
        #expect(
            finding.rows.map(\.text) == [
                "task id = 3 updated by the whole transaction: minutes 45 → 50"
            ],
            "\(found)")
    }
}
