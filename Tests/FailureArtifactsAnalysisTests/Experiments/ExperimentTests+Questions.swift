import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

extension ExperimentTests {
    // MARK: - The question

    /// The code may have computed the truth value from any of them.
    @Test func aTruthValueAfterSeveralQueries() throws {
        func asked(_ sql: String) -> Step {
            Step(
                sql: sql, changes: 0, lines: ["Sources/Tasks.swift:90", "Tests/ATests.swift:42"],
                isTransaction: false)
        }
        let fixture = try Fixture()
        let explanation = try explanation(
            [
                Step(sql: "INSERT INTO task VALUES (5, 'dan', 'Read', 30, 0)"),
                asked("SELECT title FROM task WHERE id > 3"),
                asked("SELECT title FROM task WHERE id = 1"),
            ], "Expectation failed: !(try store.isFull(1))", in: fixture)
        #expect(explanation.question?.isFailing == false)
        #expect(
            explanation.findings.first?.title
                == "Without transaction 3, the query at Tasks.swift:90 returns 'Call'")
    }

    /// Most assertions about a store have `try` or `await`, and then the message has no values.
    @Test(arguments: [
        ("try tasks.titles() == expected", ["title"], "title", "'Book dentist'"),
        (
            "try tasks.titles() == [\"Sweep\"]", ["title", "count(*)"], "title",
            "'Pay rent', 'Book dentist'"
        ),
        ("try tasks.count() == 3", ["title", "count(*)"], "count(*)", "2"),
        ("try tasks.titles().count == 3", ["title"], "title", "2 rows"),
        ("try tasks.all().map(\\.title) == [\"Sweep\"]", ["*", "count(*)"], "*", "'Pay rent'"),
        ("try tasks.first()?.title == \"Sweep\"", ["*", "count(*)"], "*", "'Pay rent' in column title"),
    ])
    func theQueryOnTheAssertionsLine(
        _ expression: String, columns: [String], failing: String, result: String
    ) throws {
        for lines in [["Sources/Tasks.swift:90", "Tests/ATests.swift:8"], Self.await(expression)] {
            let fixture = try Fixture()
            let queries = columns.map {
                Step(
                    sql: "SELECT \($0) FROM task WHERE owner = 'ben'", changes: 0, lines: lines,
                    isTransaction: false)
            }
            let explanation = try explanation(
                [query("SELECT minutes FROM task")] + queries + [query("SELECT id FROM task")],
                "Expectation failed: \(expression)", in: fixture, file: "Tests/ATests.swift")
            let question = try #require(explanation.question)
            #expect(question.isFailing)
            #expect(question.query.sql == "SELECT \(failing) FROM task WHERE owner = 'ben'")
            #expect(
                explanation.findings.first { $0.code.isOfQuery }?.title.contains(result) == true,
                "\(explanation.findings.map(\.title))")
        }
    }

    /// Without values in the message, the expected rows are a dictionary, structures with or without labels, or texts.
    @Test(arguments: [
        #"["ann": 35, "ben": 65, "cleo": 60]"#,
        #"[Sum("ann", 35), Sum("ben", 65), Sum("cleo", 60)]"#,
        #"[Sum(owner: "ann", minutes: 35), Sum(owner: "ben", minutes: 65), Sum(owner: "cleo", minutes: 60)]"#,
        #"[Report.Sum("ann", minutes: 35), Report.Sum("ben", minutes: 65), Report.Sum("cleo", minutes: 60)]"#,
        #"["ann: 35", "ben: 65", "cleo: 60"]"#,
    ])
    func theExpectedRows(_ literal: String) throws {
        let fixture = try Fixture()
        let explanation = try explanation(
            [
                Step(sql: "UPDATE task SET minutes = 50 WHERE id = 2"),
                Step(
                    sql: "SELECT owner, sum(minutes) AS minutes FROM task GROUP BY owner ORDER BY owner",
                    changes: 0, lines: ["Sources/Tasks.swift:90", "Tests/ATests.swift:8"],
                    isTransaction: false),
            ], "Expectation failed: try tasks.sums() == \(literal)", in: fixture,
            file: "Tests/ATests.swift")
        let first = try #require(explanation.findings.first)
        #expect(first.title.hasPrefix("Without transaction 3, the query returns the expected ["))
        #expect(explanation.question?.isFailing == true)
    }

    /// A store may have an amount of money in cents.
    @Test func anAmountInACall() throws {
        let fixture = try Fixture()
        let explanation = try explanation(
            [
                Step(sql: "UPDATE task SET minutes = 1236 WHERE id = 2"),
                Step(sql: "UPDATE task SET minutes = 1235 WHERE id = 2"),
                Step(
                    sql: "SELECT minutes FROM task WHERE id = 2", changes: 0,
                    lines: ["Sources/Tasks.swift:90", "Tests/ATests.swift:8"], isTransaction: false),
            ], #"Expectation failed: try tasks.price(of: 2) == euros("12.36") // 3 at 4.12"#,
            in: fixture,
            file: "Tests/ATests.swift")
        #expect(
            explanation.findings.first?.title
                == "Without transaction 4, the query returns the expected 12.36")
    }

    /// The lines of a query that the function in an expression runs on another thread.
    private static func await(_ expression: String) -> [String] {
        let name = expression.split(separator: ".")[1].prefix { $0 != "(" }
        return ["Sources/Tasks.swift:90:\(name)"]
    }

    /// A later transaction computed with the value that an earlier one wrote.
    @Test(arguments: [(title: "title", isLogged: true), ("hex(randomblob(8))", true), ("title", false)])
    func laterTransactionsRunAgain(title: String, isLogged: Bool) throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = minutes + 100 WHERE id = 1"),
                Step(
                    sql: "UPDATE task SET minutes = minutes * 2, title = \(title) WHERE id = 1",
                    isLogged: isLogged),
                query("SELECT minutes FROM task WHERE id = 1"),
            ], equal("270", "70"))
        let replayed =
            "Without transaction 3, and with everything after it run again, the query returns the expected 70"
        // Only if the recorded content is the result of the same statements.
        let isTrusted = title == "title" && isLogged
        #expect(found.contains { $0.title == replayed } == isTrusted, "\(found.map(\.title))")
        if isTrusted { #expect(found[0].title == replayed) }
    }

    /// A statement wrote what a query of the same call returned.
    @Test(arguments: [8, 7]) func theQueryOfAWrittenValue(line: Int) throws {
        let found = try findings(
            [
                Step(
                    sql: "SELECT sum(minutes) FROM task WHERE owner = 'ben'", changes: 0,
                    lines: ["Sources/Tasks.swift:30:plan", "Tests/ATests.swift:\(line)"],
                    isTransaction: false),
                Step(
                    // The fixture binds nothing.
                    sql: "INSERT INTO task VALUES (9, 'ben', 'Total', coalesce(?, 65), 0)",
                    values: "[65]",
                    lines: ["Sources/Tasks.swift:31:plan", "Tests/ATests.swift:8"]),
                query("SELECT title || ':' || minutes FROM task WHERE id = 9"),
            ], equal("Total:65", "Total:45"))
        let sentence = "The query at Sources/Tasks.swift:30 had returned what was written."
        let write = found.firstIndex { $0.explanation.contains(sentence) }
        let source = found.firstIndex { $0.source?.line == 30 }
        #expect((write != nil) == (line == 8), "\(found.map(\.explanation))")
        #expect((source != nil) == (line == 8), "\(found.map(\.title))")
        #expect(write.map { found[$0].source?.line } == (line == 8 ? 31 : nil))
        if let write, let source { #expect(write < source) }
    }

    /// Returns the findings of a test in which a call returns 65, and then writes with a statement.
    private func findings(
        writing sql: String, values: String? = nil, asking question: String, _ message: String
    ) throws -> [Finding] {
        let call = "Tests/ATests.swift:8"
        return try findings(
            [
                Step(
                    sql: "SELECT sum(minutes) FROM task WHERE owner = 'ben'", changes: 0,
                    lines: ["Sources/Tasks.swift:30:plan", call], isTransaction: false),
                Step(sql: sql, values: values, lines: ["Sources/Tasks.swift:31:plan", call]),
                query(question),
            ], message)
    }

    /// A statement that reads for itself writes nothing that a query had returned.
    @Test func theQueryOfAValueThatTheStatementReads() throws {
        let found = try findings(
            writing:
                "INSERT INTO task SELECT 9, 'ben', 'Total', sum(minutes), 0 FROM task WHERE owner = 'ben'",
            asking: "SELECT title || ':' || minutes FROM task WHERE id = 9",
            equal("Total:65", "Total:45"))
        #expect(found.contains { $0.source?.line == 31 })
        #expect(!found.contains { $0.source?.line == 30 }, "\(found.map(\.title))")
    }

    /// A value in another column has no effect on the question.
    @Test func theQueryOfAValueThatTheQuestionDoesNotRead() throws {
        let found = try findings(
            writing: "INSERT INTO task VALUES (9, 'ben', 'Total', coalesce(?, 65), 0)", values: "[65]",
            asking: "SELECT title FROM task WHERE id = 9", equal("Total", "Sum"))
        #expect(found.contains { $0.source?.line == 31 })
        #expect(!found.contains { $0.source?.line == 30 }, "\(found.map(\.title))")
    }

    /// The state after a transaction has what it wrote after the query, too.
    @Test func aQueryBetweenWritesOfItsTransaction() throws {
        let write = "UPDATE task SET minutes = minutes + 5 WHERE id = 4"
        func step(_ sql: String, changes: Int = 0) -> Step {
            Step(
                sql: sql, changes: changes,
                lines: ["Sources/Tasks.swift:30:plan", "Tests/ATests.swift:8"], isTransaction: false)
        }
        let found = try findings(
            [
                Step(sql: "\(write); \(write)", isLogged: false), step("BEGIN"),
                step(write, changes: 1), step("SELECT max(minutes) FROM task"),
                step(write, changes: 1), step("COMMIT"),
                query("SELECT minutes FROM task WHERE id = 4"),
            ], equal("70", "60"))
        #expect(
            !found.contains { $0.explanation.contains("had returned what was written") },
            "\(found.map(\.explanation))")
    }

    /// Code has made texts of the rows, so no part of a result is the list; but only one result has all of its words.
    @Test func theQueryWithTheValuesOfAComposedText() throws {
        let fixture = try Fixture()
        let lines = ["Sources/Tasks.swift:90", "Tests/ATests.swift:8"]
        let queries = ["title, minutes FROM task", "count(*) FROM task WHERE done = 1"].map {
            Step(sql: "SELECT \($0)", changes: 0, lines: lines, isTransaction: false)
        }
        let explanation = try explanation(
            queries, equal(#"["Sweep: 35 min", "Call: 60 min"]"#, #"["Sweep: 35 min"]"#), in: fixture,
            file: "Tests/ATests.swift")
        #expect(explanation.question?.query.sql == queries[0].sql)
        #expect(explanation.question?.isFailing == true)
    }

    @Test func textsThatAreComposedOfRows() throws {
        let query = query(
            "SELECT owner, sum(minutes) FROM task WHERE minutes > 20 GROUP BY owner ORDER BY owner")
        let found = try findings(
            [query],
            equal(
                #"["ann has 0.35 h", "ben has 0.45 h", "cleo has 0.60 h"]"#,
                #"["ann has 0.35 h", "ben has 0.65 h", "cleo has 0.60 h"]"#))
        let first = try #require(found.first)
        #expect(first.code == .wrongQuery && first.confidence == .likely)
        #expect(first.title.hasSuffix("with >= in place of >"))
    }

    @Test func aListInAnotherOrderIsShownAsItIs() throws {
        let fixture = try Fixture()
        let (right, wrong) = (
            #"["Pay rent", "Sweep", "Book dentist", "Call"]"#,
            #"["Call", "Book dentist", "Sweep", "Pay rent"]"#
        )
        let explanation = try explanation(
            [query("SELECT title FROM task ORDER BY minutes")], equal(wrong, right), in: fixture)
        #expect(explanation.findings.first?.title == "The query returns the expected \(right)")
        #expect(
            explanation.question?.results.last?.result
                == "'Pay rent', 'Sweep', 'Book dentist', 'Call'")
    }

    /// A cell is no result, and neither is a sum.
    @Test func theResultOfAQueryIsNotACell() throws {
        let update = Step(sql: "UPDATE task SET owner = 'zoe' WHERE id = 1")
        func titles(_ sql: String, _ message: String) throws -> [String] {
            try findings([update, query(sql)], message).filter {
                $0.transaction == 3 || $0.code.isOfQuery
            }.map(\.title)
        }
        #expect(
            try titles("SELECT * FROM task ORDER BY id", equal("zoe", "ann")) == [
                "Without transaction 3, the query returns the expected ann in column owner of the first of 4 rows",
                "The query returned 'zoe' in column owner of the first of 4 rows",
            ])
        let sums = try titles("SELECT owner, minutes FROM task", equal("160", "161"))
        #expect(sums.contains("The query returned rows whose minutes add up to 160"))
    }

    /// A small number is the result of many queries; only the assertion's line tells which one it compared.
    @Test func aQueryWithASmallNumberIsNotCertainlyTheFailingOne() throws {
        let count = query("SELECT count(*) FROM task WHERE owner = 'ben'")
        let found = try findings([count], equal("2", "3"))
        #expect(found.first?.title == "The query returned 2")
        #expect(
            found.first?.explanation
                == "A query of this test at Sources/Tasks.swift:90 may have the result that the assertion compared."
        )
        #expect(found.first?.code == .query)
        let failing = try findings([query(Self.sum)], equal("160", "3"))
        #expect(failing.first?.explanation.hasPrefix("The failing") == true)
        #expect(failing.filter(\.code.isOfQuery).map(\.code) == [.failingQuery])
        // The code may have divided the sum by the number of owners, for example.
        #expect(
            try findings([query(Self.sum)], equal("53", "54")).first { $0.code.isOfQuery }?
                .explanation
                == "A query of this test at Sources/Tasks.swift:90 has another result than the assertion compared, "
                + "which may be computed from it.")
    }

    @Test func elementsInAnotherOrderAreNotTheExpectedResult() throws {
        let list = query("SELECT title FROM task WHERE owner = 'ben' ORDER BY title")
        let (right, wrong) = (#"["Book dentist", "Pay rent"]"#, #"["Pay rent", "Book dentist"]"#)
        func first(_ message: String) throws -> Finding? {
            try findings([list], message).first { $0.code.isOfQuery }
        }
        // The query has neither the order of the test nor another one that is expected.
        let reversed = try #require(try first(equal(right, wrong)))
        #expect(reversed.title == "The query returned 'Book dentist', 'Pay rent'")
        let unknown = try #require(try first("Expectation failed: try tasks.titles() == \(wrong)"))
        #expect(unknown.title.hasPrefix("The query returned"))
        // The test sorts what it reads.
        let sorted = try #require(try first(equal(wrong, #"["Pay rent", "Swim"]"#)))
        #expect(
            sorted.explanation.contains("has the elements that the assertion compared in another order"))
        #expect(try first(equal(wrong, right))?.title == "The query returns the expected \(right)")
    }

    /// A dictionary has no order.
    @Test(arguments: [
        (#"["ann": 35, "ben": 65]"#, "owner, sum(minutes) FROM task WHERE id < 4 GROUP BY owner"),
        (#"["ben": 65, "ann": 35]"#, "owner, sum(minutes) FROM task WHERE id < 4 GROUP BY owner"),
        (#"["Sweep"]"#, "title FROM task WHERE id = 1 ORDER BY minutes"),
    ]) func noOrderOfADictionaryOrASingleRow(expected: String, sql: String) throws {
        let found = try findings([query("SELECT " + sql)], equal(#"["x": 1]"#, expected))
        let right = try #require(found.first { $0.code.isOfQuery })
        #expect(
            !found.contains { ($0.title + $0.explanation).contains("another order") },
            "\(right.title) \(right.explanation)")
    }

    /// A row is named by a value of a column, not by the limit of a page or a value of another column.
    @Test(arguments: [
        ("SELECT title FROM task WHERE id = ?", "[3]", true),
        ("SELECT t.title FROM task AS t JOIN task AS u ON u.id = t.id WHERE u.id = ?", "[3]", true),
        ("SELECT title FROM (SELECT * FROM task) WHERE id IN (?, ?)", "[9,3]", true),
        ("SELECT title FROM task WHERE owner = 'ben' LIMIT ?", "[3]", false),
        ("SELECT title FROM task WHERE minutes = ?", "[3]", false),
        ("SELECT title FROM task WHERE id < ?", "[3]", false),
    ]) func theRowThatAQueryNames(sql: String, values: String, isNamed: Bool) throws {
        let found = try findings(
            [Step(sql: "UPDATE task SET done = 1 WHERE id = 3"), query(sql, values: values)],
            "XCTAssertTrue failed")
        #expect(
            found.contains { $0.title == "Transaction 3 changed a row that the query names" } == isNamed,
            "\(found.map(\.title))")
    }

    @Test func anyOtherValueIsNotAnExpectedOne() throws {
        let found = try findings(
            [
                Step(sql: "INSERT INTO task VALUES (5, 'zoe', 'Swim', 70, 0)"),
                query("SELECT title FROM task WHERE owner = 'zoe'"),
            ], #"XCTAssertNotEqual failed: ("Swim") is equal to ("Swim")"#)
        #expect(found.allSatisfy { $0.evidence != .fix && !$0.title.contains("expected") })
        #expect(found.contains { $0.title == "Without transaction 3, the query returns no row" })
    }

    /// Without the condition, the query would return all pairs of rows.
    @Test(arguments: ["JOIN star ON star.task = task.id WHERE", ", star WHERE star.task = task.id AND"])
    func theConditionOfAJoinLeavesOutNoRows(join: String) throws {
        let found = try findings(
            [
                Step(sql: "CREATE TABLE star(task INTEGER, day TEXT)", changes: 0),
                Step(sql: "INSERT INTO star VALUES (1, 'mon')"),
                Step(sql: "INSERT INTO task VALUES (5, 'dan', 'Read', 30, 0)"),
                query("SELECT title FROM task \(join) star.day = 'mon'"),
            ], equal(#"["Sweep"]"#, #"["Sweep", "Read"]"#))
        #expect(!found.contains { $0.explanation.contains("task.id.") || $0.title.contains("task.id") })
    }

    @Test func aListWithoutAnElement() throws {
        let update = "UPDATE task SET owner = 'cleo' WHERE id = 2"
        let list = query("SELECT title FROM task WHERE owner = 'ben' ORDER BY title")
        let found = try findings(
            [Step(sql: update), list], "Expectation failed: tasks.contains { $0.title == \"Pay rent\" }")
        #expect(
            found.first?.title
                == "Without transaction 3, the query returns the expected list with Pay rent")
        #expect(found.first?.transaction == 3 && found.first?.confidence == .possible)
        let others = try findings(
            [Step(sql: "UPDATE task SET owner = 'ben' WHERE id = 4"), list],
            "Expectation failed: !tasks.contains { $0.title == \"Call\" }")
        #expect(
            others.first?.title
                == "Without transaction 3, the query returns the expected list without Call")
    }

    /// If two queries have results in the text, the one in the part that differs is asked.
    @Test func aNumberInALongerText() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 1000 WHERE id = 3"),
                query("SELECT sum(minutes) FROM task"),
                query("SELECT sum(minutes) FROM task WHERE owner = 'ben'"),
            ], equal("1020 of 11.15 minutes", "1020 of 1.60 minutes"))
        #expect(found.first?.undone?.isExpected == true && found.first?.transaction == 3)
        #expect(
            found.first?.explanation
                == "A query of this test at Sources/Tasks.swift:90 returned 1115 when it ran.")
    }

    /// The row that is found under another row's key was chosen elsewhere.
    @Test func theQueryThatFoundAParameter() throws {
        let found = try findings(
            [
                Step(sql: "CREATE TABLE star(task INTEGER, day TEXT)", changes: 0),
                Step(sql: "INSERT INTO star VALUES (3, 'mon')", lines: ["Sources/Stars.swift:4"]),
                query("SELECT task FROM star WHERE day = ?", values: "[\"mon\"]"),
                query("SELECT title FROM task WHERE id = ?", values: "[3]"),
            ], equal("Book dentist", "Call"))
        let star = try #require(found.first { $0.source?.file == "Sources/Stars.swift" })
        #expect(
            star.evidence == .source
                && star.title
                    == "Without transaction 4, the query at Tasks.swift:90 (parameters: 'mon') returns no row"
        )
        // A transaction that only made the row is no cause.
        #expect(!found.prefix(2).contains { $0.transaction == 2 })
    }

    @Test func valuesOfParameters() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 5 WHERE id = 2"),
                query("SELECT sum(minutes) FROM task WHERE owner = ?", values: "[\"ben\"]"),
            ], equal("50", "65"))
        #expect(
            found.first?.explanation
                == "The failing query at Sources/Tasks.swift:90 returned 50 at the failure (parameters: 'ben')."
        )
    }

    @Test func theFailingQueryIsAlwaysAmongTheFirstThree() throws {
        let updates = (1...4).map {
            Step(
                sql: "UPDATE task SET minutes = minutes + \($0) WHERE id = \($0)",
                lines: ["Sources/Tasks.swift:\($0)"])
        }
        let found = try findings(updates + [query(Self.sum)], equal("170", "100"))
        let query = try #require(found.firstIndex { $0.code.isOfQuery })
        #expect(query == 2 && found[2].source?.line == 90)
    }

    /// The application's function is unknown here.
    @Test func aQueryThatCannotRunIsNamedAsWell() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 5 WHERE id = 2"),
                query("SELECT shorten(title) FROM task"),
            ],
            equal("a", "b"))
        let query = try #require(found.first { $0.code.isOfQuery })
        #expect(query.source?.line == 90 && query.title == "The result of the query is unknown")
        let change = try #require(found.first { $0.transaction == 3 })
        #expect(change.explanation.hasSuffix("can't run outside of the test, so its result is unknown."))
        #expect(found.allSatisfy { $0.undone == nil })
    }

    /// An empty result would be the expected one.
    @Test func anUnknownResultIsNotTheExpectedOne() throws {
        let found = try findings(
            [
                Step(sql: "UPDATE task SET minutes = 5 WHERE id = 2"),
                query("SELECT shorten(title) FROM task"),
            ],
            "XCTAssertNil failed: \"Pay\"")
        let query = try #require(found.first { $0.code.isOfQuery })
        #expect(query.evidence == .query && query.title == "The result of the query is unknown")
    }

    @Test func theResultsInAllStates() throws {
        let fixture = try Fixture()
        let found = try explanation(
            [Step(sql: "UPDATE task SET minutes = 5 WHERE id = 2"), query(Self.sum)],
            equal("145", "160"), in: fixture)
        let question = try #require(found.question)
        #expect(
            question.sentence
                == "It returns NULL after transaction 1, 160 after transaction 2, 145 after transaction 3."
        )
        #expect(question.results.map(\.isExpected) == [nil, true, nil])
        let json = try #require(
            JSONSerialization.jsonObject(with: Data(JSONText.line(found).utf8)) as? [String: Any])
        let object = try #require(json["question"] as? [String: Any])
        #expect(object["sql"] as? String == Self.sum && (object["results"] as? [Any])?.count == 3)
    }

    @Test func theSameBundleGivesTheSameFindings() throws {
        let steps = (1...9).map {
            Step(sql: "UPDATE task SET minutes = minutes * 2, owner = 'x' WHERE id < \($0)", changes: 2)
        }
        let texts = try (0..<3).map { _ in
            let fixture = try Fixture()
            return try JSONText.line(
                explanation(steps + [query(Self.sum)], equal("1", "160"), in: fixture))
        }
        #expect(Set(texts).count == 1)
    }
}
