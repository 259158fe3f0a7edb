import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

/// The claims of a generated test, and the rows of its store.
@Suite struct FixtureWordingTests {
    /// Runs `extract --fixture`, and returns the source, the store's path and the messages.
    private func extract(
        _ bundle: String, _ fixture: borrowing Fixture
    ) throws -> (source: String, store: ApplicationHandle, messages: String) {
        let directory = fixture.path("out-\(UInt32.random(in: 0 ... .max))")
        let outcome = run("extract", bundle, "--fixture", "-o", directory)
        try #require(outcome.status == 0, "\(outcome.error)")
        let paths = outcome.output.split(separator: "\n").map(String.init)
        func text(_ path: String) throws -> String {
            String(decoding: try FileSystem.contents(ofFile: path), as: UTF8.self)
        }
        let isScript = paths[0].hasSuffix(".sql")
        let store = try ApplicationHandle(isScript ? directory + "/made.sqlite" : paths[0])
        if isScript { try store.run(try text(paths[0])) }
        return (try text(paths[1]), store, outcome.error)
    }

    private static let tables = """
        CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID INTEGER NOT NULL REFERENCES account(id), amount);
        WITH RECURSIVE i(x) AS (SELECT 3 UNION ALL SELECT x + 1 FROM i WHERE x < 400)
        INSERT INTO account SELECT x, 'n' || x, x FROM i;
        INSERT INTO entry SELECT id, id, id * 10 FROM account
        """

    private static let log: [(sql: String, changes: Int?)] = [
        ("BEGIN", nil), ("CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID, amount)", 0),
        ("INSERT INTO account SELECT x, 'n' || x, x FROM i", 398),
        ("INSERT INTO entry SELECT id, id, id * 10 FROM account", 400), ("COMMIT", nil),
    ]

    @Test func aPossibleCauseIsNoFact() throws {
        let fixture = try Fixture()
        func source(_ line: Int) -> String {
            #""source":{"file":"Tests/AppTests/A.swift","line":\#(line),"function":"ATests.testA()"}"#
        }
        let bundle = try fixture.walBundle(
            [Self.tables, "DELETE FROM entry WHERE id > 0"],
            log: Self.log + [
                ("BEGIN", nil), ("DELETE FROM entry WHERE id > 0", 400), ("COMMIT", nil),
                ("SELECT count(*) FROM entry", 0),
            ],
            facts: [1: source(3), 2: source(3), 3: source(3), 6: source(9)],
            message: #"XCTAssertEqual failed: ("0") is not equal to ("400")"#)
        let (source, store, messages) = try extract(bundle, fixture)
        #expect(
            messages.hasPrefix(
                "The store is the one before transaction 2 of this possible cause: "
                    + "Without transaction 2, the query returns the expected 400, transaction 2, "))
        #expect(source.contains("as it was before transaction 2, which may have broken it.\n"))
        let text = """
                    // A possible cause: Without transaction 2, the query returns the expected 400.
                    // The failed test may expect this:
                    // XCTAssertEqual failed: ("0") is not equal to ("400")
                    let found =
            """
        #expect(source.contains(text), "\(source)")
        #expect(try store.value("SELECT count(*) FROM entry WHERE id <= 200") == "200")
        #expect(source.contains("XCTAssertEqual(found.first?[0], 400)"), "\(source)")
    }

    /// A kind of bug, with the assertion of the test that fails by itself.
    struct Bug: Sendable {
        var change = ""
        var changes = 1
        /// More keys of the statement in the log.
        var facts = ""
        var query = ""
        /// The failure's message without the kind of the assertion.
        let message: String
        /// The rows of the query after the statements of the test.
        var failed: [String] = []
        let lines: [String]
    }

    @Test(arguments: [
        // A value.
        Bug(
            change: "UPDATE account SET balance = 7 WHERE id = ?", facts: #""values":[1]"#,
            query: "SELECT balance FROM account WHERE id = 1",
            message: #"XCTAssertEqual failed: ("7") is not equal to ("10")"#, failed: ["7"],
            lines: [
                "UPDATE account SET balance = 7 WHERE id = 1;", "XCTAssertEqual(found.first?[0], 10)",
            ]),
        // A value that is missing.
        Bug(
            change: "UPDATE account SET name = NULL WHERE id = 1",
            query: "SELECT name FROM account WHERE id = 1",
            message: #"XCTAssertEqual failed: ("nil") is not equal to ("Optional("a")")"#,
            failed: ["NULL"], lines: [#"XCTAssertEqual(found.first?[0], "a")"#]),
        // A list.
        Bug(
            change: "UPDATE account SET name = 'x' WHERE id = 2",
            query: "SELECT name FROM account ORDER BY id",
            message: #"XCTAssertEqual failed: ("["a", "x"]") is not equal to ("["a", "b"]")"#,
            failed: ["a", "x"],
            lines: [
                #"let expected: [SQLiteValue] = ["a", "b"]"#,
                "XCTAssertEqual(found.map { $0[0] }, expected)",
            ]),
        // The order.
        Bug(
            change: "UPDATE account SET balance = 5 WHERE id = 2",
            query: "SELECT name FROM account ORDER BY balance",
            message: #"XCTAssertEqual failed: ("["b", "a"]") is not equal to ("["a", "b"]")"#,
            failed: ["b", "a"], lines: [#"let expected: [SQLiteValue] = ["a", "b"]"#]),
        // Properties of structures.
        Bug(
            change: "UPDATE account SET balance = 75 WHERE id = 2",
            query: "SELECT name, balance, id FROM account ORDER BY id",
            message:
                #"XCTAssertEqual failed: ("[A(id: 1, balance: 10), A(id: 2, balance: 75)]") is not equal to ("[A(id: 1, balance: 10), A(id: 2, balance: 20)]")"#,
            failed: ["a", "b"],
            lines: [
                "let expected: [[SQLiteValue]] = [[1, 10], [2, 20]]",
                "XCTAssertEqual(found.map { [$0[2], $0[1]] }, expected)",
            ]),
        // The number of rows.
        Bug(
            change: "DELETE FROM account WHERE id = 2", query: "SELECT * FROM account",
            message: #"XCTAssertEqual failed: ("1") is not equal to ("2")"#, failed: ["1"],
            lines: ["XCTAssertEqual(found.count, 2)"]),
        // The existence of a row.
        Bug(
            change: "DELETE FROM account WHERE id = 2", query: "SELECT id FROM account WHERE id = 2",
            message: "XCTAssertTrue failed", lines: ["XCTAssertFalse(found.isEmpty)"]),
        // An element.
        Bug(
            change: "UPDATE account SET name = 'x' WHERE id = 2", query: "SELECT name FROM account",
            message: #"Expectation failed: (names → ["a", "x"]).contains("b")"#, failed: ["a", "x"],
            lines: [#"XCTAssertTrue(found.contains { $0[0] == "b" }, "\(found)")"#]),
        // A limit.
        Bug(
            change: "UPDATE account SET balance = 75 WHERE id = 2",
            query: "SELECT balance FROM account WHERE id = 2",
            message: #"XCTAssertLessThan failed: ("75") is not less than ("50")"#, failed: ["0"],
            lines: [#"SELECT "balance" < 50 FROM ("#, "XCTAssertEqual(found.first?[0], 1)"]),
        // A sum that the code made.
        Bug(
            change: "UPDATE account SET balance = 75 WHERE id = 2",
            query: "SELECT id, balance FROM account",
            message: #"XCTAssertEqual failed: ("85") is not equal to ("30")"#, failed: ["85"],
            lines: [#"SELECT sum("balance") FROM ("#, "XCTAssertEqual(found.first?[0], 30)"]),
        // A statement without an effect.
        Bug(
            change: "UPDATE account SET balance = 30 WHERE id = 2 AND name = 'c'", changes: 0,
            query: "SELECT balance FROM account WHERE id = 2",
            message: #"XCTAssertEqual failed: ("20") is not equal to ("30")"#, failed: ["20"],
            lines: ["// This statement changed nothing.", "XCTAssertEqual(found.first?[0], 30)"]),
        // A query.
        Bug(
            query: "SELECT name FROM account WHERE balance > 10 ORDER BY id",
            message: #"XCTAssertEqual failed: ("["b"]") is not equal to ("["a", "b"]")"#, failed: ["b"],
            lines: [
                "// Replace it by the code that ran it.", #"let expected: [SQLiteValue] = ["a", "b"]"#,
            ]),
        // A statement that failed.
        Bug(
            change: "INSERT INTO account VALUES (1, 'c', 30)", changes: 0,
            facts: #""error":{"code":1555,"message":"UNIQUE constraint failed: account.id"}"#,
            message: #"threw error "SQLite error 19: UNIQUE constraint failed: account.id""#,
            lines: ["// This statement failed.", "XCTAssertNoThrow(", "try store.transaction("]),
    ])
    func theTestFailsByItself(_ bug: Bug) throws {
        let fixture = try Fixture()
        let earlier = "INSERT INTO other VALUES (1)"
        let isKept = bug.changes > 0 && !bug.change.isEmpty
        let change = bug.change.replacing("?", with: "1")
        var log: [(sql: String, changes: Int?)] = [(earlier, 1)]
        if !bug.change.isEmpty { log.append((bug.change, bug.changes)) }
        if !bug.query.isEmpty { log.append((bug.query, 0)) }
        let bundle = try fixture.walBundle(
            [earlier] + (isKept ? [change] : []), base: Fixture.base + "; CREATE TABLE other(id)",
            log: log,
            facts: bug.facts.isEmpty ? [:] : [1: bug.facts], message: bug.message)
        let (source, store, messages) = try extract(bundle, fixture)
        #expect(!source.contains("incomplete"), "\(source)")
        #expect(messages.contains("The test fails because of the bug"))
        for line in bug.lines {
            #expect(source.split(separator: "\n").contains { $0.hasSuffix(line) }, "\(source)")
        }
        // The SQL is indented in the source.
        let blocks = source.split(separator: "#\"\"\"").filter { $0.hasPrefix("\n") }
            .map { String($0.prefix { $0 != "#" }).replacing("\"\"\"", with: "") }
        let query = bug.query.isEmpty ? nil : blocks.last
        for sql in blocks.dropLast(query == nil ? 0 : 1) where query != nil { try store.run(sql) }
        if let query { #expect(try store.texts(query) == bug.failed, "\(source)") }
    }

    @Test func changedRowsAreKept() throws {
        let deleted = 350
        let fixture = try Fixture()
        let delete = "DELETE FROM account WHERE id <= \(deleted)"
        let bundle = try fixture.walBundle(
            [
                Self.tables.replacing(
                    "INSERT INTO entry SELECT id, id", with: "INSERT INTO entry SELECT id, (id + 1) / 2"),
                delete,
            ],
            log: [("PRAGMA foreign_keys = ON", nil)] + Self.log + [
                ("BEGIN", nil), (delete, deleted), ("COMMIT", nil),
            ])
        let (source, store, messages) = try extract(bundle, fixture)
        #expect(messages.hasPrefix("The store is the one before transaction 2 of this finding: "))
        #expect(source.contains("before transaction 2, which broke it.\n"))
        #expect(try store.value("SELECT count(*) FROM account") == "\(deleted)")
        #expect(source.contains(" of 800 rows: those that the test needs."))
    }
}
