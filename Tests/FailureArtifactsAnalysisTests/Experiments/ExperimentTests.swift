import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// Explanations by undoing transactions and by asking other queries.
@Suite struct ExperimentTests {
    private static let create =
        "CREATE TABLE task(id INTEGER PRIMARY KEY, owner TEXT, title TEXT, minutes INTEGER, done INTEGER)"
    private static let fill =
        "INSERT INTO task VALUES (1, 'ann', 'Sweep', 35, 0), (2, 'ben', 'Pay rent', 20, 0), "
        + "(3, 'ben', 'Book dentist', 45, 0), (4, 'cleo', 'Call', 60, 0)"

    /// A statement of the log, in a transaction of its own if it changed the store.
    struct Step {
        var sql: String
        var changes = 1
        var values: String?
        /// The lines that ran it, the innermost first.
        var lines = ["Sources/Tasks.swift:10"]
        /// False for a statement that only the log has.
        var isTransaction = true
        /// False for a transaction whose statements are logged one by one.
        var isLogged = true
        /// True for a statement from before the test.
        var isEarlier = false
        /// The number of the test that ran it; nil if unknown.
        var test: Int?
        var connection = 1
        /// More keys of the statement, as JSON.
        var facts: String?
    }

    @Test(arguments: [1, 3]) func wideRowsAreBounded(count: Int) throws {
        let fixture = try Fixture()
        let columns = (1...80).map { "c\($0)" }.joined(separator: ", ")
        let row = (1...80).map { "'the value of the column \($0)'" }.joined(separator: ", ")
        let rows = (1...count).map { "(\($0), \(row))" }.joined(separator: ", ")
        let explanation = try explanation(
            [
                Step(sql: "CREATE TABLE wide(id INTEGER PRIMARY KEY, \(columns))", changes: 0),
                Step(sql: "INSERT INTO wide VALUES \(rows)", changes: count),
                Step(sql: "UPDATE wide SET c7 = 'other', c9 = NULL WHERE id = \(count)"),
                Step(
                    sql: "SELECT * FROM wide", changes: 0, lines: ["Tests/ATests.swift:42"],
                    isTransaction: false),
            ], "XCTAssertTrue failed", in: fixture)
        let titles = explanation.findings.map(\.title)
        let cells = "c7 'the value of the column 7', c9 'the value of the column 9'"
        let place = count > 1 ? "row \(count): " : ""
        #expect(
            titles.contains("Without transaction 5, the query returns \(place)\(cells)"), "\(titles)")
        for finding in explanation.findings {
            #expect(finding.title.utf8.count < 300 && finding.explanation.utf8.count < 400, "\(finding)")
        }
        #expect(explanation.question?.results.allSatisfy { $0.result.utf8.count < 300 } == true)
    }

    /// A part of a result reads like a whole one.
    @Test func shortRowsAreWhole() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 5 WHERE id = 2"),
                query("SELECT owner, sum(minutes) FROM task GROUP BY owner"),
            ], equal(#"["ben": 50]"#, #"["ben": 65]"#))
        #expect(
            found.contains {
                $0.title
                    == "Without transaction 3, the query returns ('ann', 35), ('ben', 65), ('cleo', 60)"
            }, "\(found.map(\.title))")
    }

    func explanation(
        _ steps: [Step], _ message: String, in fixture: borrowing Fixture, file: String? = nil,
        base: String = Fixture.base, tests: String? = nil
    ) throws -> Explanation {
        let all = [Step(sql: Self.create, changes: 0), Step(sql: Self.fill, changes: 4)] + steps
        var facts: [Int: String] = [:]
        var commits = 0
        for (index, step) in all.filter(\.isLogged).enumerated() {
            let sources = step.lines.map { place -> String in
                let parts = place.split(separator: ":")
                let name = parts.count > 2 ? String(parts[2]) : "testStore"
                let function =
                    place.hasPrefix("Tests") || parts.count > 2
                    ? ",\"function\":\"ATests.\(name)()\"" : ""
                return "{\"file\":\"\(parts[0])\",\"line\":\(parts[1])\(function)}"
            }
            var fact = "\"source\":\(sources[0])"
            if sources.count > 1 {
                fact += ",\"callers\":[\(sources.dropFirst().joined(separator: ","))]"
            }
            if let values = step.values { fact += ",\"values\":\(values)" }
            if step.isTransaction || step.sql == "COMMIT" {
                commits += 1
                fact += ",\"commits\":\(commits)"
            }
            if step.isEarlier { fact += ",\"phase\":\"earlier\"" }
            if let test = step.test { fact += ",\"test\":\(test),\"connection\":\(step.connection)" }
            if let facts = step.facts { fact += "," + facts }
            facts[index] = fact
        }
        let path = try fixture.walBundle(
            all.filter(\.isTransaction).map(\.sql), base: base,
            log: all.filter(\.isLogged).map { ($0.sql, $0.changes) }, facts: facts,
            message: message, file: file, tests: tests)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
    }

    func findings(_ steps: [Step], _ message: String) throws -> [Finding] {
        let fixture = try Fixture()
        return try explanation(steps, message, in: fixture).findings
    }

    func equal(_ first: String, _ second: String) -> String {
        "XCTAssertEqual failed: (\"\(first)\") is not equal to (\"\(second)\")"
    }

    func query(_ sql: String, values: String? = nil) -> Step {
        Step(
            sql: sql, changes: 0, values: values, lines: ["Sources/Tasks.swift:90"], isTransaction: false
        )
    }

    static let sum = "SELECT sum(minutes) FROM task"

    // MARK: - Undoing

    @Test(arguments: [1, 2, 4]) func findingsOfOneStatementAreCounted(count: Int) throws {
        let insert = "INSERT INTO task(title, minutes) VALUES ('Stretch', 1)"
        let found = try findings(
            Array(repeating: Step(sql: insert), count: count) + [query(Self.sum)],
            equal("\(160 + count)", "20"))
        let alike = found.filter { $0.statement?.sql == insert }
        #expect(alike.count == 1)
        let explanation = try #require(alike.first?.explanation)
        let sentence =
            count == 2
            ? "1 more transaction with the same statement is left out."
            : "3 more transactions with the same statement are left out."
        #expect(explanation.contains("more transaction") == (count > 1))
        #expect(explanation.contains(sentence) == (count > 1), "\(explanation)")
    }

    @Test func anExpectationMayBeOutdated() throws {
        let update = "UPDATE task SET minutes = 5 WHERE title = 'Pay rent'"
        let found = try findings([Step(sql: update), query(Self.sum)], equal("145", "160"))
        let first = try #require(found.first)
        #expect(first.title == "Without transaction 3, the query returns the expected 160")
        #expect(first.confidence == .possible)
    }

    @Test func undoingATransactionGivesTheExpectedResult() throws {
        let update = "UPDATE task SET minutes = 5 WHERE title = 'Pay rent'"
        let found = try findings(
            [
                Step(sql: update), Step(sql: "INSERT INTO task VALUES (5, 'dan', 'Read', 30, 0)"),
                query(Self.sum),
            ], equal("175", "190"))
        let first = try #require(found.first)
        #expect(first.title == "Without transaction 3, the query returns the expected 190")
        #expect(
            first.explanation
                == "The failing query at Sources/Tasks.swift:90 returned 175 at the failure.")
        #expect(first.transaction == 3 && first.statement?.sql == update)
        #expect(first.rows.map(\.text) == ["task id = 2 updated: minutes 20 → 5"])
        #expect(
            first.undone
                == .init(transactions: [3], rows: [], result: "190", isExpected: true))
        // The query has never returned 190, so it is no outdated expectation.
        #expect(first.confidence == .likely)
        // Without the new row, the sum is even smaller.
        #expect(found.map(\.evidence) == [.fix, .query, .recession, .recession])
        #expect(found[2].title == "Without transaction 4, the query returns 145")
    }

    /// A later write of the same value isn't undone as well.
    @Test func aColumnIsRestoredOnlyIfItStillHasTheTransactionsValue() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 25 WHERE id = 2"),
                Step(sql: "UPDATE task SET minutes = minutes + 10 WHERE id = 2"), query(Self.sum),
            ], equal("175", "160"))
        #expect(found.first?.title == "Before transaction 3, the query returned the expected 160")
        #expect(found.contains { $0.title == "Without transaction 4, the query returns 165" })
        let other = try #require(found.first { $0.transaction == 3 })
        #expect(other.undone == nil)
        #expect(
            other.explanation.hasSuffix(
                "It can't be undone alone: transaction 4 changed task.minutes again.")
        )
    }

    /// Undoing the first transaction would say nothing, or would undo the second one.
    @Test(arguments: [
        (
            "DELETE FROM task WHERE id = 4", "INSERT INTO task VALUES (4, 'dan', 'Read', 60, 0)",
            "reused id 4"
        ),
        ("UPDATE task SET done = 1 WHERE id = 4", "DELETE FROM task WHERE done = 1", "deleted id 4"),
        (
            "INSERT INTO task VALUES (5, 'dan', 'Read', 0, 2)",
            "UPDATE task SET minutes = minutes - (SELECT sum(done) FROM task) WHERE id = 1", "read task"
        ),
    ])
    func aTransactionThatCannotBeUndoneAlone(first: String, second: String, obstacle: String) throws {
        let found = try findings(
            [Step(sql: first), Step(sql: second), query(Self.sum)], equal("100", "999"))
        let finding = try #require(found.first { $0.transaction == 3 })
        #expect(finding.undone == nil)
        #expect(
            finding.explanation.hasSuffix("It can't be undone alone: transaction 4 \(obstacle)."),
            "\(finding.explanation)")
    }

    /// The trigger changes only the other row.
    @Test func aTriggerThatWritesATableNeedNotReadItsRows() throws {
        let found = try findings(
            [
                Step(sql: "CREATE TABLE total(owner TEXT PRIMARY KEY, n)", changes: 0),
                Step(
                    sql: "CREATE TRIGGER sum AFTER UPDATE ON task BEGIN "
                        + "UPDATE total SET n = n + new.minutes WHERE owner = new.owner; END", changes: 0
                ),
                Step(sql: "INSERT INTO total VALUES ('ann', 35)"),
                Step(sql: "INSERT INTO total VALUES ('cleo', 60)"),
                Step(sql: "UPDATE task SET minutes = 40 WHERE id = 1", changes: 2),
                query("SELECT n FROM total WHERE owner = ?", values: "[\"ann\"]"),
            ], equal("75", "40"))
        let finding = try #require(found.first { $0.transaction == 6 })
        #expect(
            finding.explanation.hasSuffix("Its result is the same without the transaction."),
            "\(finding.explanation)")
    }

    /// The updated row gives back the value that the deleted one had.
    @Test func aReplacedRowComesBack() throws {
        let found = try findings(
            [
                Step(sql: "CREATE UNIQUE INDEX times ON task(minutes)", changes: 0),
                Step(sql: "INSERT OR REPLACE INTO task VALUES (2, 'ben', 'Pay rent', 35, 0)"),
                query("SELECT count(*) FROM task"),
            ], equal("3", "4"))
        let finding = try #require(found.first { $0.transaction == 4 })
        #expect(finding.title == "Without transaction 4, the query returns the expected 4")
    }

    @Test func theRestOfATransactionThatIsUndoneInPart() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = minutes + 1", changes: 4),
                Step(sql: "UPDATE task SET minutes = 50 WHERE id = 3"), query(Self.sum),
            ], equal("168", "999"))
        let finding = try #require(found.first { $0.transaction == 3 })
        #expect(finding.title == "Without a part of transaction 3, the query returns 165")
        #expect(
            finding.explanation.hasSuffix(
                "The rest of it can't be undone alone: transaction 4 changed task.minutes again."))
    }

    @Test func oneOfTheRowsOfATransactionIsTheWrongOne() throws {
        let update = "UPDATE task SET done = 1 WHERE owner = 'ben'"
        let found = try findings(
            [Step(sql: update, changes: 2), query("SELECT title FROM task WHERE done = 1 ORDER BY id")],
            equal(#"["Pay rent", "Book dentist"]"#, #"["Pay rent"]"#))
        let first = try #require(found.first)
        #expect(
            first.title
                == #"Without the change of task id = 3 in transaction 3, the query returns the expected ["Pay rent"]"#
        )
        #expect(first.rows.first?.text == "task id = 3 updated: done 0 → 1")
        #expect(first.undone?.rows.count == 1)
    }

    @Test(arguments: [(4, 2), (12, 7)])
    func someOfTheRowsOfATransactionAreWrong(rows: Int, wrong: Int) throws {
        let others = (5..<13).map { "(\($0), 'zoe', 'Swim', 70, 0)" }.joined(separator: ", ")
        let found = try findings(
            [
                Step(sql: "INSERT INTO task VALUES \(others)", changes: 8),
                Step(sql: "UPDATE task SET done = 1 WHERE id < \(rows)", changes: rows - 1),
                query("SELECT count(*) FROM task WHERE done = 0"),
            ], equal("\(13 - rows)", "\(13 - rows + wrong)"))
        let first = try #require(
            found.first { $0.transaction == 4 && $0.evidence == .fix }, "\(found.map(\.title))")
        #expect(
            first.title
                == "Without \(wrong) changes of transaction 4, the query returns the expected \(13 - rows + wrong)"
        )
        #expect(first.undone?.rows.count == wrong)
    }

    /// Either of two transactions suffices, so undoing one of them has no effect.
    @Test func theTransactionWithWhichTheExpectedResultEnded() throws {
        let fixture = try Fixture()
        let found = try explanation(
            [
                Step(sql: "INSERT INTO task VALUES (5, 'zoe', 'Swim', 70, 0)"),
                Step(sql: "UPDATE task SET done = 1 WHERE id = 5"),
                Step(sql: "UPDATE task SET owner = 'yan' WHERE id = 5"),
                Step(
                    sql: "SELECT title FROM task WHERE owner = 'zoe' AND done = 0", changes: 0,
                    lines: ["Sources/Tasks.swift:90", "Tests/ATests.swift:8"], isTransaction: false),
            ], #"Expectation failed: try tasks.open("zoe") == ["Swim"]"#, in: fixture,
            file: "Tests/ATests.swift"
        ).findings
        let end = try #require(
            found.prefix(2).first {
                $0.title == #"Before transaction 4, the query returned the expected ["Swim"]"#
            }, "\(found.map(\.title))")
        #expect(end.statement?.sql == "UPDATE task SET done = 1 WHERE id = 5")
    }

    @Test func rowsThatWereDeletedComeBack() throws {
        let found = try findings(
            [Step(sql: "DELETE FROM task WHERE minutes < 30"), query("SELECT count(*) FROM task")],
            equal("3", "4"))
        #expect(found.first?.code == .unexpectedDelete && found.first?.undone?.isExpected == true)
        #expect(found.first?.rows.map(\.title) == ["task id = 2"])
    }

    @Test func aChangeThatBringsTheResultCloserComesFirst() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 1 WHERE id = 1", lines: ["Sources/Tasks.swift:11"]),
                Step(
                    sql: "UPDATE task SET minutes = 22 WHERE id = 2", lines: ["Sources/Tasks.swift:12"]),
                query(Self.sum),
            ], equal("128", "170"))
        #expect(found.prefix(3).map(\.transaction) == [3, nil, 4])
        #expect(found.prefix(3).map(\.evidence) == [.approach, .query, .recession])
    }

    @Test func theTermThatLeavesOutARow() throws {
        let insert = "INSERT INTO task VALUES (5, 'Ann', 'Read', 30, 2)"
        let found = try findings(
            [Step(sql: insert), query("SELECT count(*) FROM task WHERE minutes > 0 AND done < 2")],
            equal("4", "5"))
        let first = try #require(
            found.first { $0.evidence == .exclusion || $0.evidence == .expectedExclusion })
        #expect(
            first.transaction == 3
                && first.explanation.hasSuffix("It leaves them out because of done < 2."))
    }

    /// Without the transaction, the query without the term would have another result, but now it has the same one.
    @Test func aTermThatLeavesOutNothingIsNotNamed() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET done = 1, minutes = 100 WHERE id = 1"),
                Step(sql: "UPDATE task SET minutes = 50 WHERE id = 1"),
                query("SELECT max(minutes) FROM task WHERE done = 0"),
            ], equal("60", "70"))
        let finding = try #require(found.first { $0.transaction == 4 })
        #expect(finding.title == "Transaction 4 changed a table that the query reads")
        #expect(!found.contains { $0.explanation.contains("leaves them out") })
    }

    /// Only the elements that the result lacks tell which rows of a list matter.
    @Test func elementsOfBothListsSayNothing() throws {
        let found = try findings(
            [
                Step(sql: "INSERT INTO task VALUES (5, 'ann', 'Mow the lawn', 90, 1)"),
                Step(sql: "UPDATE task SET title = 'Iron' WHERE id = 1"),
                Step(sql: "UPDATE task SET title = 'Mow the lawn' WHERE id = 2"),
                query("SELECT title FROM task WHERE done = 1 AND minutes > 80"),
            ], equal(#"["Mow the lawn"]"#, #"["Mow the lawn", "Iron"]"#))
        let titles = found.map(\.title)
        #expect(
            titles.contains("Transaction 4 changed a row with an expected value that the result lacks"),
            "\(titles)")
        #expect(!titles.contains { $0.hasPrefix("Transaction 5 changed a row") }, "\(titles)")
    }

    /// A query never leaves out a row that is gone.
    @Test func aDeletedRowIsNotLeftOut() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET done = 1 WHERE id = 2"),
                Step(sql: "DELETE FROM task WHERE done = 1"),
                query("SELECT title FROM task WHERE done = 0 ORDER BY id"),
            ], equal(#"["Sweep", "Book dentist", "Call"]"#, #"["Sweep", "Call"]"#))
        let finding = try #require(found.first { $0.transaction == 4 })
        #expect(finding.title == "Transaction 4 changed a table that the query reads")
    }

    /// A transaction after the query has no effect on it.
    @Test func theQueryIsAskedInTheStateInWhichItRan() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 5 WHERE id = 2"), query(Self.sum),
                Step(sql: "UPDATE task SET minutes = 99 WHERE id = 3"),
            ], equal("145", "160"))
        #expect(found.first?.title == "Without transaction 3, the query returns the expected 160")
        #expect(!found.contains { $0.transaction == 4 })
    }

    @Test func theTestsPreparationComesLast() throws {
        let lines = ["Sources/Tasks.swift:10", "Tests/ATests/Helper.swift:3:fill"]
        let found = try findings(
            [
                Step(
                    sql: "UPDATE task SET minutes = 5 WHERE id = 2",
                    lines: ["Sources/Tasks.swift:11", "Tests/ATests/A.swift:5"]),
                Step(sql: "INSERT INTO task VALUES (5, 'dan', 'Read', 30, 0)", lines: lines),
                query(Self.sum),
            ], equal("175", "999"))
        #expect(found.first?.transaction == 3)
        #expect(found.last?.isArranged == true)
    }

    /// A migration can't be undone, since its columns are gone from the state before it.
    @Test func rowsThatAMigrationChanged() throws {
        let (add, fill) = (
            "ALTER TABLE task ADD COLUMN hours REAL", "UPDATE task SET hours = minutes / 60"
        )
        func part(_ sql: String, _ changes: Int = 0) -> Step {
            Step(sql: sql, changes: changes, lines: ["Sources/Migrations.swift:7"], isTransaction: false)
        }
        let found = try findings(
            [
                Step(sql: "\(add); \(fill)", isLogged: false), part("BEGIN"), part(add), part(fill, 4),
                part("COMMIT"),
                Step(sql: "UPDATE task SET owner = 'x' WHERE id = 4"),
                query("SELECT sum(hours) FROM task"),
            ], equal("1.0", "2.6666666666666665"))
        #expect(found.first?.transaction == 3 && found.first?.evidence == .migration)
        #expect(found.first?.title == "Transaction 3 changed the schema, and rows that the query reads")
        #expect(found.first?.statement?.sql == fill)
    }

    @Test func aDeletedRowIsMissedByAQueryWithoutRows() throws {
        let delete = "DELETE FROM task WHERE owner = 'cleo'"
        let found = try findings(
            [
                Step(sql: delete),
                query("SELECT * FROM task WHERE owner = ? ORDER BY id LIMIT 1", values: "[\"zoe\"]"),
            ],
            #"XCTUnwrap failed: expected non-nil value of type "Task""#)
        let first = try #require(found.first { $0.transaction == 3 })
        #expect(
            first.title == "Transaction 3 deleted rows of a table that the query reads"
                && first.evidence == .exclusion)
    }

    /// The copy lost the rows, not the statement that drops the table.
    @Test(arguments: [1, 0])
    func rowsThatAMigrationDidNotCopy(copied: Int) throws {
        let parts = [
            "CREATE TABLE newTask(id INTEGER PRIMARY KEY, title TEXT)",
            "INSERT INTO newTask SELECT id, title FROM task WHERE minutes > \(copied == 1 ? 50 : 90)",
            "DROP TABLE task", "ALTER TABLE newTask RENAME TO task",
        ]
        let logged = (["BEGIN"] + parts + ["COMMIT"]).map {
            Step(sql: $0, changes: $0 == parts[1] ? copied : 0, isTransaction: false)
        }
        let found = try findings(
            [Step(sql: parts.joined(separator: "; "), isLogged: false)] + logged
                + [query("SELECT title FROM task ORDER BY id")],
            equal(copied == 1 ? #"["Call"]"# : "[]", #"["Sweep", "Pay rent", "Book dentist", "Call"]"#))
        let finding = try #require(found.first { $0.transaction == 3 })
        #expect(finding.code == .resultChanged && finding.statement?.sql == parts[1])
        // The statement that creates the table has no effect on its rows.
        #expect(!found.contains { $0.transaction == 1 })
    }

    /// Code that brings old stores up to date has nothing to do in a new one.
    @Test func aStatementBeforeTheFirstRowOrOfAMigrationIsNotWithoutEffect() throws {
        let (delete, update) = (
            "DELETE FROM tag WHERE name = 'x'", "UPDATE tag SET name = 'y' WHERE name = ''"
        )
        func part(_ sql: String) -> Step { Step(sql: sql, changes: 0, isTransaction: false) }
        func found(_ statements: [Step]) throws -> [String?] {
            try findings(
                [
                    Step(sql: "CREATE TABLE tag(name TEXT)", changes: 0), part(delete),
                    Step(sql: "INSERT INTO tag VALUES ('a')"),
                ] + statements + [query("SELECT name FROM tag")], equal("a", "b")
            ).filter { $0.code == .noEffect }.map(\.statement?.sql)
        }
        let migration = [part("BEGIN"), part(update), part("PRAGMA user_version = 2"), part("COMMIT")]
        #expect(try found([Step(sql: "PRAGMA user_version = 2", isLogged: false)] + migration).isEmpty)
        #expect(try found([part(update)]) == [update])
    }
}
