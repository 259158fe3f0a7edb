import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// The effects of other tests.
extension ExperimentTests {
    private func otherFindings(_ steps: [Step], _ message: String) throws -> [Finding] {
        let fixture = try Fixture()
        let tests = """
            [{"id": 1, "framework": "XCTest", "suite": "PlainTests", "name": "testStore"},
            {"id": 2, "framework": "XCTest", "suite": "BTests", "name": "testOther"},
            {"id": 3, "framework": "XCTest", "suite": "CTests", "name": "testReader"}]
            """
        return try explanation(steps, message, in: fixture, tests: tests).findings
    }

    private func insert(_ id: Int, _ minutes: Int, test: Int, isEarlier: Bool = true) -> Step {
        Step(
            sql: "INSERT INTO task VALUES (\(id), 'dan', 'Read', \(minutes), 0)", isEarlier: isEarlier,
            test: test, connection: test + 2)
    }

    @Test func allThatOtherTestsWroteIsUndoneTogether() throws {
        let update = Step(
            sql: "UPDATE task SET minutes = 99 WHERE id = 5", isEarlier: true, test: 3, connection: 5)
        let found = try otherFindings(
            [
                insert(5, 101, test: 2), update,
                Step(sql: "DELETE FROM task WHERE id = 5", isEarlier: true, test: 3, connection: 5),
                insert(6, 57, test: 3), insert(7, 31, test: 2),
                Step(sql: "UPDATE task SET minutes = 21 WHERE id = 2", test: 1), query(Self.sum),
            ], equal("249", "161"))
        let first = try #require(found.first)
        #expect(
            first.title
                == "Without the 5 transactions of other tests, the query returns the expected 161")
        #expect(first.confidence == .likely)
        #expect(first.undone?.transactions == [3, 4, 5, 6, 7] && first.undone?.isExpected == true)
        #expect(
            first.explanation.hasSuffix(
                " They are of other tests: BTests.testOther, CTests.testReader."),
            "\(first.explanation)")
        // One transaction isn't enough, so the test's own ones come first.
        let ranks = found.compactMap { finding in finding.transaction.map { ($0, finding) } }
        #expect(ranks.first?.0 == 8, "\(ranks.map(\.0))")
    }

    @Test(arguments: [true, false]) func oneTransactionOfAnotherTest(isEarlier: Bool) throws {
        let found = try otherFindings(
            [
                insert(5, 101, test: 2, isEarlier: isEarlier),
                Step(sql: "UPDATE task SET minutes = 21 WHERE id = 2", test: 1), query(Self.sum),
            ], equal("262", "161"))
        let first = try #require(found.first)
        #expect(first.title == "Without transaction 3, the query returns the expected 161")
        #expect(first.confidence == .likely && first.statement?.connection == 4)
        let time = isEarlier ? "before this one began" : "at the same time"
        #expect(
            first.explanation.hasSuffix(
                " The transaction is of another test, BTests.testOther, and ran \(time) (connection 4)."),
            "\(first.explanation)")
        let json = try #require(
            JSONSerialization.jsonObject(with: Data(JSONText.line(first).utf8)) as? [String: Any])
        let other = try #require((json["otherTests"] as? [[String: Any]])?.first)
        #expect(other["suite"] as? String == "BTests" && other["name"] as? String == "testOther")
        #expect(other["time"] as? String == (isEarlier ? "before" : "meanwhile"))
    }

    /// A change of a row by another test that has ended.
    private func update(_ minutes: Int, test: Int = 2) -> Step {
        Step(
            sql: "UPDATE task SET minutes = \(minutes) WHERE title = 'Pay rent'", isEarlier: true,
            test: test, connection: test + 2)
    }

    /// The steps of a test that reads a row by its title, and fails because of what it writes then.
    private func reading(_ title: String) -> [Step] {
        [
            Step(
                sql: "SELECT minutes FROM task WHERE title = '\(title)'", changes: 0,
                isTransaction: false, test: 1),
            Step(sql: "INSERT INTO task VALUES (9, 'dan', 'Total', 90, 0)", test: 1),
            query("SELECT minutes FROM task WHERE id = 9"),
        ]
    }

    /// A setting that another test has changed, and one that it has restored.
    @Test(arguments: [false, true]) func aRowThatAnotherTestChanged(isRestored: Bool) throws {
        let found = try otherFindings(
            [update(90)] + (isRestored ? [update(20)] : []) + reading("Pay rent"),
            equal("90", "20"))
        let other = found.first { $0.code == .otherTest }
        #expect(
            other?.title == (isRestored ? nil : "BTests.testOther changed task, which this test read"))
        #expect(
            other.map {
                $0.explanation.hasPrefix(
                    "The query at Sources/Tasks.swift:10 returned 90, and would have returned 20 before that test's changes."
                ) && $0.otherTests.map(\.name) == ["testOther"]
            } ?? isRestored, "\(other?.explanation ?? "")")
    }

    /// The failing query read the row, and returns the expected value without the change.
    @Test(arguments: ["95", "80"]) func aRowThatAnotherTestChangedToTheWrongValue(expected: String)
        throws
    {
        let found = try otherFindings(
            [
                update(95, test: 3), update(60),
                query("SELECT minutes FROM task WHERE title = 'Pay rent'"),
            ], equal("60", expected))
        let first = try #require(found.first { $0.code == .otherTest })
        #expect(first.title == "BTests.testOther changed task, which this test read")
        #expect(first.confidence == (expected == "95" ? .likely : .possible), "\(found.map(\.title))")
    }

    /// A row that was there before, changed with all others, is told from a new one, which the preparation of a store makes.
    @Test(arguments: [false, true]) func aRowThatAnotherTestChangedWithOthers(isChanged: Bool) throws {
        let upsert =
            "INSERT INTO task VALUES (7, 'all', 'Limit', 80, 0) ON CONFLICT DO UPDATE SET minutes = 80"
        let change = Step(
            sql: "UPDATE task SET minutes = minutes + 1", changes: 5, isEarlier: true, test: 3,
            connection: 5)
        let found = try otherFindings(
            [Step(sql: upsert, isEarlier: true, test: 2, connection: 4)] + (isChanged ? [change] : [])
                + reading("Limit"), equal("90", "20"))
        let other = found.first { $0.code == .otherTest }
        #expect(
            other?.title == (isChanged ? "CTests.testReader changed task, which this test read" : nil))
        #expect(
            other?.explanation.contains("returned 81, and would have returned 80") ?? !isChanged,
            "\(other?.explanation ?? "")")
    }

    /// The test itself reads only what the trigger wrote.
    @Test func aRowThatATriggerRead() throws {
        let trigger =
            "CREATE TRIGGER plan AFTER INSERT ON task BEGIN UPDATE task SET minutes = "
            + "(SELECT minutes FROM task WHERE title = 'Pay rent') WHERE id = NEW.id; END"
        let found = try otherFindings(
            [
                Step(sql: trigger, changes: 0, isEarlier: true, test: 2),
                update(90),
                Step(sql: "INSERT INTO task VALUES (9, 'dan', 'Total', 0, 0)", test: 1),
                query("SELECT minutes FROM task WHERE id = 9"),
            ], equal("90", "20"))
        let other = try #require(found.first { $0.code == .otherTest })
        #expect(
            other.explanation.hasPrefix(
                "The trigger 'plan' of the statement at Sources/Tasks.swift:10 has a query that returned 90, "
                    + "and would have returned 20 before that test's changes."), "\(other.explanation)")
    }

    /// Unlike the preparation of a store, which the first of several tests runs.
    @Test(arguments: ["testOther", "fill"]) func whatAnotherTestLeftBehind(function: String) throws {
        let lines = ["Sources/Tasks.swift:10", "Tests/BTests/B.swift:5:\(function)"]
        var (first, second) = (insert(5, 101, test: 2), insert(6, 57, test: 2))
        (first.lines, second.lines) = (["Sources/Tasks.swift:10", "Tests/BTests/B.swift:3:fill"], lines)
        let found = try otherFindings([first, second, query(Self.sum)], equal("318", "261"))
        let other = try #require(found.first { $0.transaction == 4 })
        #expect(other.undone?.isExpected == true)
        #expect(other.confidence == (function == "fill" ? .possible : .likely))
        #expect((found.first == other) == (function != "fill"))
    }

    /// Other tests may do what the failing one expects.
    @Test func aPartOfWhatOtherTestsWroteIsNoCause() throws {
        let found = try otherFindings(
            [
                insert(5, 101, test: 2), insert(6, 57, test: 3),
                Step(sql: "UPDATE task SET minutes = 21 WHERE id = 2", test: 1), query(Self.sum),
            ], equal("319", "218"))
        #expect(found.first?.transaction != 3)
        let other = try #require(found.first { $0.transaction == 3 })
        #expect(other.undone?.isExpected == true && other.confidence == .possible)
    }

    @Test func numbersThatAnotherTestHasUsed() throws {
        let found = try otherFindings(
            [
                Step(sql: "CREATE TABLE tag(id INTEGER PRIMARY KEY AUTOINCREMENT, name)", changes: 0),
                Step(sql: "INSERT INTO tag(name) VALUES ('red')", test: 1),
                Step(
                    sql: "INSERT INTO tag(name) VALUES ('a'), ('b'), ('c'), ('d')", changes: 4, test: 2,
                    connection: 4),
                Step(sql: "DELETE FROM tag WHERE id > 1", changes: 4, test: 2, connection: 4),
                Step(sql: "INSERT INTO tag(name) VALUES ('blue')", test: 1),
                query("SELECT max(id) FROM tag"),
            ], equal("6", "2"))
        let first = try #require(found.first)
        #expect(
            first.title
                == "Without the 2 transactions of other tests and their numbers, the query returns the expected 2",
            "\(found.map(\.title))")
        #expect(first.otherTests.map(\.time) == [.meanwhile] && first.confidence == .possible)
    }

    @Test func theTriggerOfAnotherTest() throws {
        let trigger =
            "CREATE TRIGGER halve AFTER INSERT ON task BEGIN UPDATE task SET minutes = NEW.minutes / 2 WHERE id = NEW.id; END"
        let found = try otherFindings(
            [
                Step(sql: trigger, changes: 0, isEarlier: true, test: 2),
                Step(sql: "INSERT INTO task VALUES (5, 'dan', 'Read', 94, 0)", test: 1), query(Self.sum),
            ], equal("207", "254"))
        let finding = try #require(found.first { $0.transaction == 4 })
        #expect(
            finding.explanation.hasSuffix(
                " The trigger is of another test, BTests.testOther, and ran before this one began (connection 1)."
            ), "\(finding.explanation)")
    }

    /// Connections that were closed long before the test leave transactions, and no statements.
    @Test(arguments: [true, false], [true, false])
    func transactionsFromBeforeTheLog(isWhole: Bool, isBeforeOthers: Bool) throws {
        let fixture = try Fixture()
        let limit = isWhole ? "" : #", "limit": 100"#
        let path = try fixture.walBundle(
            ["UPDATE account SET balance = 55 WHERE id = 1", "INSERT INTO account VALUES (3, 'c', 30)"],
            log: [
                ("INSERT INTO account VALUES (3, 'c', 30)", 1), ("SELECT sum(balance) FROM account", 0),
            ], facts: [0: #""commits":2"# + (isBeforeOthers ? #","phase":"earlier""# : "")],
            message: equal("105", "60"),
            historyFacts: #", "source": "pages""#, statementFacts: limit)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
            .findings
        let first = try #require(found.first)
        #expect(first.transaction == 1 && first.undone?.isExpected == true)
        #expect(
            first.explanation.hasSuffix("The transaction is from before the test opened the store.")
                == (isWhole || isBeforeOthers),
            "\(first.explanation)")
    }

    @Test func theLockOfAnotherTest() throws {
        let found = try otherFindings(
            [
                Step(
                    sql: "BEGIN IMMEDIATE", changes: 0, isTransaction: false, isEarlier: true, test: 2,
                    connection: 4),
                Step(
                    sql: "UPDATE task SET done = 1", changes: 4, isTransaction: false, isEarlier: true,
                    test: 2, connection: 4),
                Step(
                    sql: "SELECT 1 FROM task", changes: 0, isTransaction: false, isEarlier: true,
                    test: 2, connection: 4),
                Step(
                    sql: "DELETE FROM task", changes: 0, isTransaction: false, test: 1,
                    facts: #""error":{"code":5,"message":"database is locked"}"#),
            ], "threw error \"SQLite error 5: database is locked\"")
        let first = try #require(found.first)
        #expect(first.code == .busy && first.confidence == .certain)
        #expect(
            first.explanation.hasSuffix(
                " The statement is of another test, BTests.testOther, and ran before this one began (connection 4)."
            ), "\(first.explanation)")
    }

    @Test func theSchemaOfAnotherTest() throws {
        func found(_ sql: String, _ error: String) throws -> String {
            let failed = Step(
                sql: "INSERT INTO tag VALUES (1)", changes: 0, isTransaction: false, test: 1,
                facts: #""error":{"code":1,"message":"\#(error)"}"#)
            let found = try otherFindings(
                [
                    Step(sql: sql, changes: 0, isEarlier: true, test: 2, connection: 4), failed,
                ], "threw error \"SQLite error 1: \(error)\"")
            let first = try #require(found.first)
            #expect(first.code == .schemaError && first.otherTests.map(\.name) == ["testOther"])
            return first.explanation
        }
        let end =
            " The transaction is of another test, BTests.testOther, and ran before this one began (connection 4)."
        let missing = "no such table: tag"
        #expect(
            try found("PRAGMA user_version = 7", missing).hasSuffix(
                " Transaction 3 set the user_version to 7." + end))
        #expect(
            try found("CREATE TABLE tag(label)", "table tag has no column named id").hasSuffix(
                " Transaction 3 created table tag." + end))
        let dropped = try otherFindings(
            [
                Step(sql: "CREATE TABLE tag(id)", changes: 0, test: 1),
                Step(sql: "DROP TABLE tag", changes: 0, test: 1),
                Step(
                    sql: "INSERT INTO tag VALUES (1)", changes: 0, isTransaction: false, test: 1,
                    facts: #""error":{"code":1,"message":"\#(missing)"}"#),
            ], "threw error \"SQLite error 1: \(missing)\"")
        #expect(dropped.first?.explanation.hasSuffix(" Transaction 4 dropped table tag.") == true)
    }

    @Test func theRowOfAnotherTestIsInTheWay() throws {
        let error = "UNIQUE constraint failed: task.id"
        let found = try otherFindings(
            [
                insert(5, 101, test: 2),
                Step(
                    sql: "INSERT INTO task VALUES (5, 'x', 'y', 1, 0)", changes: 0, isTransaction: false,
                    test: 1, facts: #""error":{"code":1555,"message":"\#(error)"}"#),
            ], "threw error \"SQLite error 1555: \(error)\"")
        #expect(found.first?.code == .constraintFailed)
        #expect(
            found.first?.explanation.hasSuffix(
                " Transaction 3 inserted the row in its way. The transaction is of another test, "
                    + "BTests.testOther, and ran before this one began (connection 4).") == true,
            "\(found)")
    }

    @Test func aSettingOfAnotherTest() throws {
        let setting = "PRAGMA case_sensitive_like = ON"
        let found = try otherFindings(
            [
                Step(sql: setting, changes: 0, isTransaction: false, isEarlier: true, test: 2),
                query("SELECT title FROM task WHERE title LIKE 'pay%' OR id = 4"),
            ], equal(#"["Call"]"#, #"["Pay rent", "Call"]"#))
        let first = try #require(found.first)
        #expect(
            first.title
                == #"Without PRAGMA case_sensitive_like, the query returns the expected ["Pay rent", "Call"]"#
        )
        #expect(first.statement?.sql == setting && first.confidence == .likely)
        #expect(first.otherTests.map(\.name) == ["testOther"])
    }

    @Test func foreignKeysThatAnotherTestSwitchedOff() throws {
        let found = try otherFindings(
            [
                Step(
                    sql:
                        "CREATE TABLE tag(name TEXT, taskID INTEGER REFERENCES task(id) ON DELETE CASCADE)",
                    changes: 0, test: 1),
                Step(sql: "INSERT INTO tag VALUES ('red', 2)", test: 1),
                Step(
                    sql: "PRAGMA foreign_keys = OFF", changes: 0, isTransaction: false, isEarlier: true,
                    test: 2),
                Step(sql: "DELETE FROM task WHERE id = 2", test: 1),
                query("SELECT name FROM tag"),
            ], equal(#"["red"]"#, "[]"))
        let finding = try #require(found.first { $0.code == .foreignKeyViolation })
        #expect(
            finding.explanation.hasSuffix(
                " A PRAGMA at Sources/Tasks.swift:10 had switched foreign keys off. It is of another test, "
                    + "BTests.testOther, and ran before this one began (connection 1)."),
            "\(finding.explanation)")
    }
}
