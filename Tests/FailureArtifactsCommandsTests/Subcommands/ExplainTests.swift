import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsCommands

/// `explain` and `explain --markdown`.
@Suite struct ExplainTests {
    /// Runs each command that `explain --markdown` suggests, and returns the subcommands.
    private func suggestions(for bundle: String) throws -> [Substring] {
        let markdown = run("explain", bundle, "--markdown")
        #expect(markdown.status == 0 && markdown.error.isEmpty, "\(markdown.error)")
        let commands = markdown.output.split(separator: "\n").filter {
            $0.hasPrefix("failure-artifacts ")
        }
        for command in commands {
            let outcome = try Program.run(
                "/usr/bin/env",
                ["bash", "-c", "failure-artifacts() { \"$TOOL\" \"$@\"; }; \(command)"],
                environment: ["TOOL": Program.tool])
            #expect(outcome.status == 0, "\(command): \(outcome.error)")
        }
        return commands.map { $0.split(separator: " ")[1] }
    }

    @Test func suggestedCommandsWorkWithAHistory() throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(["INSERT INTO account VALUES (3, NULL, 30)"])
        #expect(try suggestions(for: bundle) == ["explain", "show", "history", "query"])
    }

    @Test func suggestedCommandsWorkWithoutAHistory() throws {
        let fixture = try Fixture()
        #expect(try suggestions(for: fixture.ledger()) == ["explain", "show", "query"])
        #expect(try suggestions(for: fixture.plain("Plain.zip")) == ["explain", "show"])
    }

    @Test func aPassingRunIsChosenByAPartOfItsName() throws {
        let fixture = try Fixture()
        try fixture.walBundle(["INSERT INTO account VALUES (3, 'c', 30)"], passed: true)
        let bundle = try fixture.walBundle(["INSERT INTO account VALUES (3, 'c', 31)"])
        let outcome = run("explain", fixture.path("Tests.test"), "--against", fixture.path("Tests.test"))
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(outcome.output.contains("difference-from-pass"), "\(outcome.output)")
        #expect(run("show", fixture.path("Tests.test")).output.contains(bundle))
    }

    /// A query layer's line says little about the statement that it ran.
    @Test func theCallerOfAStatementIsShownOnDemand() throws {
        let fixture = try Fixture()
        let transactions = [
            "INSERT INTO account VALUES (3, 'c', 30)", "INSERT INTO account VALUES (4, 'd', 40)",
            "UPDATE account SET balance = NULL WHERE id = 2",
            "UPDATE account SET name = 'e' WHERE id = 4",
        ]
        let bundle = try fixture.walBundle(
            transactions,
            log: transactions.map { ($0, 1) } + [("SELECT balance FROM account WHERE id = 2", 0)],
            facts: [
                2: """
                "source":{"file":"Sources/Layer/Update.swift","function":"Update.run()","line":15},\
                "callers":[{"file":"Tests/BankTests.swift","function":"BankTests.testB()","line":8}]
                """
            ], message: "XCTAssertEqual failed: (\"nil\") is not equal to (\"Optional(20)\")")
        let place = "Update.run() Sources/Layer/Update.swift:15"
        let caller = "\n     called from BankTests.testB() Tests/BankTests.swift:8\n"
        let explained = run("explain", bundle).output
        #expect(explained.contains(place) && explained.contains(caller), "\(explained)")
        let shown = run("show", bundle).output
        #expect(shown.contains(place) && !shown.contains("called from"), "\(shown)")
        let all = run("show", bundle, "--statements").output
        #expect(all.contains(caller.replacing("     ", with: "    ")), "\(all)")
    }

    @Test func findingsNameTheirStoreIfThereAreSeveral() throws {
        let insert = "INSERT INTO account VALUES (3, 'c', 45)"
        func text(copies: [String]) throws -> String {
            let fixture = try Fixture()
            let bundle = try fixture.walBundle(
                [insert], log: [("PRAGMA journal_mode = wal", 0), (insert, 1)],
                message: "XCTAssertEqual failed: (\"45\") is not equal to (\"46\")", copies: copies)
            return run("explain", bundle).output
        }
        #expect(try text(copies: []).contains("result-changed\n"))
        let found = try text(copies: ["mirror"])
        #expect(
            found.contains("result-changed, store ledger\n")
                && found.contains("result-changed, store mirror\n"), "\(found)")
    }

    @Test func severalStatementsOfATransactionAreListed() throws {
        let inserts = (3...4).map { "INSERT INTO account VALUES (\($0), 'c', \(40 + $0))" }
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(
            [inserts.joined(separator: ";")],
            log: [("PRAGMA journal_mode = wal", 0), ("BEGIN", 0)]
                + inserts.map { _ in ("INSERT INTO account VALUES (?, 'c', ?)", 1) }
                + [("COMMIT", 0), ("SELECT balance FROM account WHERE id = 3", 0)],
            facts: [
                2: "\"source\":{\"file\":\"Sources/Bank.swift\",\"line\":14}",
                3: "\"source\":{\"file\":\"Sources/Bank.swift\",\"line\":15}",
            ],
            message: "XCTAssertEqual failed: (\"43\") is not equal to (\"46\")")
        let text = run("explain", bundle, "--all").output
        #expect(
            text.contains(
                """
                   transaction 1, by one or more of these 2 statements:
                     INSERT INTO account VALUES (?, 'c', ?)  (1 row)  Sources/Bank.swift:14
                     INSERT INTO account VALUES (?, 'c', ?)  (1 row)  Sources/Bank.swift:15

                """), "\(text)")
        #expect(
            run("explain", bundle, "--markdown", "--all").output.contains(
                "\nperhaps by: INSERT INTO account VALUES (?, 'c', ?) at Sources/Bank.swift:14\n"))
    }

    @Test func noFinding() throws {
        let fixture = try Fixture()
        let bundle = try fixture.plain("Plain.zip", message: "m")
        #expect(
            run("explain", bundle).output == """
                PlainTests.testPlain failed
                m

                The test used no store.

                """)
        #expect(
            run("explain", bundle, "--markdown").output.contains("\nThe test used no store.\n")
        )
        #expect(!run("explain", bundle, "--json").output.contains("\"question\""))
    }

    @Test(
        arguments: [
            (
                "SELECT balance FROM account WHERE id = 2", "balance(of: 2) == 8121",
                "it has the expected value"
            ),
            // Two values without expressions: the second one is the expected one by convention.
            (
                "SELECT balance FROM account WHERE id = 2", #"("21") is not equal to ("8121")"#,
                "The database has 8121, the second value of the assertion."
            ),
            ("PRAGMA user_version", "balance(of: 2) == 7", "the test ran no query near the assertion"),
            ("SELECT balance FROM account WHERE id = 2", "balance(of: 2) == 20", "No cause is sure"),
            (
                "SELECT balance FROM account WHERE id = 2", "balance(of: 2) == 777",
                "Nothing that was tried gives the expected 777: a statement, the code around it"
            ),
        ]) func anAnswerSaysThatNothingIsSure(query: String, expression: String, verdict: String) throws
    {
        let fixture = try Fixture()
        let update = "UPDATE account SET balance = 8121 WHERE id = 2"
        let bundle = try fixture.walBundle(
            [update], log: [(update, 1), (query, 0)],
            facts: [1: "\"source\":{\"file\":\"Tests/BankTests.swift\",\"line\":8}"],
            message: expression.hasPrefix("(")
                ? "XCTAssertEqual failed: \(expression)" : "Expectation failed: try \(expression)",
            file: "/home/ci/bank/Tests/BankTests.swift",
            root: "/home/ci/bank")
        for output in [run("explain", bundle).output, run("explain", bundle, "--json").output] {
            #expect(output.contains(verdict), "\(output)")
        }
    }

    /// If the message has no value, the last query is the question.
    @Test(arguments: [[], ["mirror"]]) func theLastQueryIsAskedOfAnUnknownMessage(copies: [String])
        throws
    {
        let fixture = try Fixture()
        let (update, query) = (
            "UPDATE account SET balance = 21 WHERE id = 2", "SELECT balance FROM account WHERE id = 2"
        )
        let bundle = try fixture.walBundle(
            [update, "CREATE TABLE other(id); INSERT INTO other VALUES (1)"],
            log: [
                ("PRAGMA journal_mode = wal", 0), (update, 1), ("BEGIN", 0),
                ("CREATE TABLE other(id)", 0), ("INSERT INTO other VALUES (1)", 1), ("COMMIT", 0),
                (query, 0), ("SELECT 1", 0),
            ],
            facts: [
                1: "\"source\":{\"file\":\"Sources/Bank.swift\",\"function\":\"f()\",\"line\":15}",
                6: "\"source\":{\"file\":\"Sources/Bank.swift\",\"line\":20}",
            ], copies: copies)
        let store = copies.isEmpty ? "" : ", store ledger"
        let output = run("explain", bundle, "--all").output
        let results = "It returns 20 before transaction 1, 21 after transaction 1."
        #expect(
            output.hasPrefix(
                """
                PlainTests.testStore failed
                m

                No cause is sure: a statement, the code around it, or the expectation may be wrong.

                1. Without transaction 1, the query returns 20  possible, result-changed\(store)
                   A query of this test at Sources/Bank.swift:20 returned 21 when it ran.
                   account id = 2 updated: balance 20 → 21
                   transaction 1  \(update)  (1 row)  f() Sources/Bank.swift:15

                """), "\(output)")
        #expect(
            output.contains(
                "2. Without transaction 1, the query at Bank.swift:20 returns 20  possible, result-changed, store mirror\n"
            ) == !copies.isEmpty)
        #expect(
            output.contains(
                """
                . The query returned 21  possible, query\(store)
                   A query of this test at Sources/Bank.swift:20 may have run for the assertion.
                   \(query)  Sources/Bank.swift:20

                """), "\(output)")
        #expect(
            output.hasSuffix(
                """

                query of this test: \(query)  Sources/Bank.swift:20
                  \(results)

                """), "\(output)")
        // Without --all, possible findings after the first are short.
        let short = run("explain", bundle).output
        #expect(
            short.contains(
                "The query returned 21, \(copies.isEmpty ? "" : "store ledger, ")Sources/Bank.swift:20  possible, query\(store)\n"
            ), "\(short)")
        #expect(!short.contains("may have run for the assertion"))
        let markdown = run("explain", bundle, "--markdown").output
        #expect(markdown.contains("\nNo cause is sure: a statement,"))
        #expect(
            markdown.contains(
                """
                Without transaction 1, the query returns 20
                A query of this test at Sources/Bank.swift:20 returned 21 when it ran.
                row: account id = 2 updated: balance 20 → 21
                store: ledger
                transaction: 1
                statement: \(update)
                source: Sources/Bank.swift:15 f()
                ```

                """), "\(markdown)")
        #expect(
            markdown.contains(
                "\nquery of this test: \(query) at Sources/Bank.swift:20\nresults: \(results)\n"),
            "\(markdown)")
        let facts = try Program.python(
            """
            import json, sys
            document = json.load(open(sys.argv[1]))
            question = document["question"]
            print(question["store"], question["sql"] == "\(query)", question["source"]["line"], "values" in question)
            print([(result["transaction"], result["result"]) for result in question["results"]])
            print(document["findings"][0]["undone"])
            """, run("explain", bundle, "--json").output)
        #expect(
            facts == """
                ledger True 20 False
                [(0, '20'), (1, '21')]
                {'isExpected': False, 'result': '20', 'transactions': [1]}

                """)
    }

    @Test func theResultsOfTheFailingQuery() throws {
        let first = try Fixture()
        let second = try Fixture()
        let updates = (
            "UPDATE account SET balance = balance + 21 WHERE id = 2",
            "UPDATE account SET balance = 9 WHERE id = 1"
        )
        func bundle(
            _ query: String, values: String? = nil, actual: Int, expected: Int,
            in fixture: borrowing Fixture
        ) throws -> String {
            try fixture.walBundle(
                [updates.0, updates.1],
                log: [("PRAGMA journal_mode = wal", 0), (updates.0, 1), (updates.1, 1), (query, 0)],
                facts: values.map { [3: "\"values\":\($0)"] } ?? [:],
                message: "XCTAssertEqual failed: (\"\(actual)\") is not equal to (\"\(expected)\")")
        }
        let sum = "SELECT sum(balance) FROM account"
        var path = try bundle(sum, actual: 50, expected: 51, in: first)
        var results =
            "It returns 30 before transaction 1, 51 after transaction 1, 50 after transaction 2."
        #expect(run("explain", path).output.hasSuffix("\n\nfailing query: \(sum)\n  \(results)\n"))
        #expect(
            run("explain", path, "--markdown").output.contains(
                "\nfailing query: \(sum)\nresults: \(results)\n"))
        let program = """
            import json, sys
            question = json.load(open(sys.argv[1]))['question']
            print(question.get('values'), [tuple(result.values()) for result in question['results']])
            """
        func facts(_ path: String) throws -> String {
            try Program.python(program, run("explain", path, "--json").output)
        }
        #expect(try facts(path) == "None [('30', 0), (True, '51', 1), ('50', 2)]\n")

        let one = "SELECT balance FROM account WHERE id = ?"
        path = try bundle(one, values: "[2]", actual: 41, expected: 20, in: second)
        results = "It returns 20 before transaction 1, 41 after transaction 1."
        let shown = one.replacing("?", with: "2")
        #expect(run("explain", path).output.hasSuffix("\n\nfailing query: \(shown)\n  \(results)\n"))
        #expect(
            run("explain", path, "--markdown").output.contains(
                "\nfailing query: \(shown)\nresults: \(results)\n"))
        #expect(try facts(path) == "[2] [(True, '20', 0), ('41', 1)]\n")
    }

    private static let uncommitted: [(method: String, name: String)] = [
        ("serialize", "The open transaction"),
        ("beforeRollback", "The transaction that was rolled back"),
    ]

    @Test(arguments: uncommitted) func theLastChangeWasNotCommitted(method: String, name: String) throws
    {
        let fixture = try Fixture()
        let update = "UPDATE account SET balance = 21 WHERE id = 2"
        let bundle = try fixture.walBundle(
            [update], uncommitted: update.replacing("21", with: "22"), method: method)
        let output = run("explain", bundle).output
        #expect(
            output.contains("1. \(name) changed account  possible, result-changed\n")
                && output.contains("\n   account id = 2 updated: balance 21 → 22\n"), "\(output)")
        let transactions = try Program.python(
            """
            import json, sys
            print([finding.get("transaction") for finding in json.load(open(sys.argv[1]))["findings"]])
            """, run("explain", bundle, "--json").output)
        #expect(transactions == "[None, 1]\n")
    }

    @Test(arguments: uncommitted) func anUncommittedChangeIsUndone(method: String, name: String) throws {
        let fixture = try Fixture()
        let updates = (21...22).map { "UPDATE account SET balance = \($0) WHERE id = 2" }
        let bundle = try fixture.walBundle(
            [updates[0]], uncommitted: updates[1],
            log: [
                (updates[0], 1), ("BEGIN", 0), (updates[1], 1),
                ("SELECT balance FROM account WHERE id = 2", 0),
            ],
            message: "XCTAssertEqual failed: (\"22\") is not equal to (\"21\")", method: method)
        let output = run("explain", bundle).output
        let start = name.prefix(1).lowercased() + name.dropFirst()
        #expect(
            output.contains(
                "Without \(start), the query returns the expected 21  possible, result-changed\n"),
            "\(output)")
        #expect(
            output.contains(
                "It returns 20 before transaction 1, 21 after transaction 1, 22 in the open transaction."
            ), "\(output)")
    }

    /// A wrong `ORDER BY` is at the end of a query.
    @Test func theLastQueryIsShownToItsEnd() throws {
        let fixture = try Fixture()
        let columns = (1...30).map { "balance AS column\($0)" }.joined(separator: ", ")
        let query = "SELECT \(columns) FROM account WHERE id > 0 ORDER BY name DESC"
        let bundle = try fixture.walBundle(
            ["UPDATE account SET balance = 5 WHERE id = 1"], log: [(query, 0)])
        let lines = run("explain", bundle).output.split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(lines.joined(separator: " ").contains("query of this test: \(query)"))
        #expect(run("explain", bundle, "--markdown").output.contains("\nquery of this test: \(query)\n"))
        // It is the last statement.
        let shown = run("show", bundle).output.split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(shown.joined(separator: " ").contains(query))
    }

    @Test(arguments: [
        ("XCTAssertNil failed: \"34\" - ", "XCTAssertNil failed: \"34\""),
        ("XCTAssertEqual failed: (\"1\") is not equal to (\"2\") - ", "(\"1\") is not equal to (\"2\")"),
        ("threw error \"busy\"", "threw error \"busy\""),
    ]) func theFailureIsBelowTheTest(message: String, shown: String) throws {
        let fixture = try Fixture()
        let bundle = try fixture.walBundle(message: message)
        #expect(run("explain", bundle).output.hasPrefix("PlainTests.testStore failed\n\(shown)\n\n"))
        #expect(run("show", bundle).output.contains("\n    \(shown)\n\n"))
        #expect(run("explain", bundle, "--markdown").output.contains("\n```text\n\(shown)\n```\n"))
    }

    @Test func theArgumentsOfAParameterizedTest() throws {
        let metadata = Metadata.plain(test: "receiving(sku:)", message: "m").replacing(
            "\"attempt\"", with: "\"arguments\": [\"\\\"C-02\\\"\"], \"attempt\"")
        let fixture = try Fixture()
        let bundle = try fixture.zip(
            "PlainTests.receiving-1a2b3c4d.zip", [("metadata.json", Array(metadata.utf8))])
        let title = "PlainTests.receiving(sku:)(\"C-02\")"
        #expect(run("explain", bundle).output.hasPrefix(title + " failed\n"))
        #expect(run("explain", bundle, "--markdown").output.hasPrefix("# Failure of `\(title)`\n"))
        #expect(
            run("explain", bundle, "--json").output.contains(
                "\"arguments\" : [\n      \"\\\"C-02\\\"\"\n    ]"))
    }

    /// Rows and places of findings are wrapped or cut, also below the heading of `show`.
    @Test(arguments: [60, 80]) func findingsFitTheTerminal(width: Int) throws {
        let fixture = try Fixture()
        let name = String(repeating: "a long name ", count: 12)
        let function = "closure #1 in Warehouses.move(_:of:from:to:by:through:until:)"
        let insert = "INSERT INTO account VALUES (3, '\(name)', 45)"
        func source(_ line: Int) -> String {
            "\"source\":{\"file\":\"Sources/Bank.swift\",\"function\":\"\(function)\",\"line\":\(line)}"
        }
        let bundle = try fixture.walBundle(
            [insert],
            log: [(insert, 1), ("SELECT balance FROM account WHERE name = '\(name)'", 0)],
            facts: [0: source(156), 1: source(157)],
            message: "XCTAssertEqual failed: (\"45\") is not equal to (\"46\") - \(name)")
        for command in [["explain"], ["explain", "--all"], ["show"]] {
            let output = run(command + [bundle], width: width).output
            #expect(output.contains("a long name a long name"))
            #expect(
                output.contains(/Sources\/Bank.swift:156(  possible, result-changed)?\n/), "\(output)")
            // Of the failing query, below the findings of `explain` and in the log.
            #expect(output.contains("Sources/Bank.swift:157\n"), "\(output)")
            for line in output.split(separator: "\n") where !line.contains(fixture.directory) {
                #expect(TextWidth.columns(of: String(line)) <= width, "\(line)")
            }
        }
    }

    @Test func theFileOfTheFailureIsRelativeToThePackageRoot() throws {
        let fixture = try Fixture()
        let other = try Fixture()
        let update = "UPDATE account SET balance = NULL WHERE id = 2"
        func bundle(in fixture: borrowing Fixture, root: String?) throws -> String {
            try fixture.walBundle(
                [update], log: [(update, 1)],
                facts: [0: "\"source\":{\"file\":\"Sources/Bank.swift\",\"line\":15}"],
                file: "/home/ci/bank/Tests/BankTests.swift", root: root)
        }
        let known = try bundle(in: fixture, root: "/home/ci/bank")
        let json = run("explain", known, "--json").output
        #expect(json.contains("\"file\" : \"Tests/BankTests.swift\",\n    \"line\" : 8"), "\(json)")
        let markdown = run("explain", known, "--markdown").output
        #expect(markdown.contains("\nTests/BankTests.swift:8\n"), "\(markdown)")
        #expect(
            run("explain", known).output.hasPrefix(
                "PlainTests.testStore failed\nTests/BankTests.swift:8\n"))
        #expect(run("show", known).output.contains("\nFailure\n  Tests/BankTests.swift:8\n"))
        let page = run("report", known, "-o", "-").output
        #expect(page.contains("<code>Tests/BankTests.swift:8</code>"), "\(page.prefix(3000))")
        // The metadata is printed as it is.
        #expect(run("show", known, "--json").output.contains("/home/ci/bank/Tests/BankTests.swift"))

        let unknown = run("explain", try bundle(in: other, root: nil), "--json").output
        #expect(unknown.contains("\"file\" : \"/home/ci/bank/Tests/BankTests.swift\""), "\(unknown)")
    }
}
