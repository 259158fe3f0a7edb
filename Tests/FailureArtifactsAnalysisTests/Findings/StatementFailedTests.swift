import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Findings about statements that failed with an error of SQLite.
@Suite struct StatementFailedTests {
    private typealias Log = [(sql: String, changes: Int?)]

    private let schema = """
        CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT UNIQUE, team REFERENCES team(id));
        CREATE TABLE team(id INTEGER PRIMARY KEY);
        INSERT INTO player VALUES (1, 'Ann', NULL)
        """

    private func error(_ code: Int, _ message: String) throws -> String {
        #""error":{"code":\#(code),"message":\#(try JSONText.line(message))}"#
    }

    private func findings(
        _ log: Log, _ facts: [Int: String], statements: String? = nil, message: String
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let path = try fixture.bundleWithoutHistory(
            schema, log: log, facts: facts, statements: statements, message: message)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let codes: Set<Finding.Code> = [.statementFailed, .constraintFailed, .schemaError, .busy]
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip").findings
            .filter { codes.contains($0.code) }
    }

    /// Each kind of error, as SQLite logs it.
    @Test(arguments: [
        (
            1, "no such function: jsonb_foo", "statement-failed",
            "A statement failed: no such function: jsonb_foo"
        ),
        (
            1, "near \"FROM\": syntax error", "statement-failed",
            "A statement failed: near \"FROM\": syntax error"
        ),
        (
            1, "table player has 3 columns but 2 values were supplied", "statement-failed",
            "A statement failed: table player has 3 columns but 2 values were supplied"
        ),
        (1, "no such table: team2", "schema-error", "The store has no table team2"),
        (1, "no such column: nam", "schema-error", "The store has no column nam"),
        (5, "database is locked", "busy", "A statement of connection 1 found the store locked"),
        (6, "database table is locked", "busy", "A statement of connection 1 found the store locked"),
        (
            8, "attempt to write a readonly database", "statement-failed",
            "A statement failed: attempt to write a readonly database"
        ),
        (
            11, "database disk image is malformed", "statement-failed",
            "A statement failed: database disk image is malformed"
        ),
        (
            13, "database or disk is full", "statement-failed",
            "A statement failed: database or disk is full"
        ),
        (18, "string or blob too big", "statement-failed", "A statement failed: string or blob too big"),
        (20, "datatype mismatch", "statement-failed", "A statement failed: datatype mismatch"),
        (
            21, "bad parameter or other API misuse", "statement-failed",
            "A statement failed: bad parameter or other API misuse"
        ),
        (
            2067, "UNIQUE constraint failed: player.name", "constraint-failed",
            "A statement failed: UNIQUE constraint failed: player.name"
        ),
        (
            275, "CHECK constraint failed: length(name) > 1", "constraint-failed",
            "A statement failed: CHECK constraint failed: length(name) > 1"
        ),
    ])
    func anErrorThatTheMessageNamesIsCertain(
        code: Int, text: String, kind: String, title: String
    ) throws {
        let sql = "SELECT ?"
        for message in [
            "SQLite error \(code & 0xff): \(text) - while executing `\(sql)`",
            "caught error: \"\(text) (code: \(code & 0xff))\"", text,
            "XCTAssertNoThrow failed: threw error \"\(text)\" - reading",
            "Caught error: Failure(code: \(code), message: \(try JSONText.line(text)))",
        ] {
            let found = try findings(
                [("SELECT name FROM player", 0), (sql, 0), ("ROLLBACK", 0)], [1: try error(code, text)],
                message: message)
            let finding = try #require(found.first, "\(message)")
            #expect(finding.code.rawValue == kind && finding.confidence == .certain, "\(message)")
            #expect(finding.title.hasPrefix(title) && found.count == 1, "\(finding.title)")
            #expect(finding.statement?.sql == sql && finding.source?.place == "Sources/A.swift:2")
        }
    }

    @Test func anErrorThatTheMessageDoesNotNameIsPossible() throws {
        let found = try findings(
            [("SELECT jsonb_foo(name) FROM player", 0)],
            [0: try error(1, "no such function: jsonb_foo")],
            message: "no such function: jsonb_foot")
        #expect(found.map(\.confidence) == [.possible])
        #expect(
            found.map(\.explanation) == [
                "The statement failed. The error isn't in the message, so the code may have ignored it."
            ])
    }

    /// The last one of several statements with the error of the message failed the test.
    @Test func theStatementOfTheMessageComesBeforeTheLastOne() throws {
        let text = "UNIQUE constraint failed: player.name"
        let inserts = ["Ann", "Bea", "Cy"].map { "INSERT INTO player (name) VALUES ('\($0)')" }
        func statements(_ message: String) throws -> [String?] {
            try findings(
                inserts.map { ($0, 0) },
                [0: try error(2067, text), 1: try error(2067, text), 2: try error(2067, text)],
                message: message
            ).map(\.statement?.sql)
        }
        #expect(try statements(text) == [inserts[2]])
        #expect(try statements("\(text) - while executing `\(inserts[1])`") == [inserts[1]])
        // Repetitions of an error that the message doesn't name are one finding.
        #expect(try statements("It went wrong") == [inserts[2]])
    }

    /// For a long statement, the log has only the general text of the code.
    @Test func aGeneralTextIsLikely() throws {
        let insert = "INSERT INTO player (name) VALUES ('Ann')"
        func found(_ message: String) throws -> [Finding.Confidence] {
            try findings([(insert, 0)], [0: try error(2067, "constraint failed")], message: message)
                .map(\.confidence)
        }
        #expect(try found("UNIQUE constraint failed: player.name") == [.likely])
        #expect(try found("UNIQUE constraint failed: player.name: \(insert)") == [.certain])
    }

    /// The row that a statement would replace, if it were allowed to.
    @Test func theRowInTheWay() throws {
        let text = "UNIQUE constraint failed: player.name"
        let failed = try error(2067, text)
        let ann = try findings(
            [("INSERT INTO player (id, name) VALUES (2, ?)", 0)],
            [0: failed + #","values":["Ann"]"#], message: text)
        #expect(ann.map { $0.rows.map(\.title) } == [["player id = 1"]])
        // A statement of the same transaction inserted it, and was rolled back.
        let bea = try findings(
            [
                ("BEGIN", 0), ("INSERT INTO player (id, name) VALUES (7, 'Bea')", 1),
                ("INSERT OR ABORT INTO player (name) VALUES ('Bea')", 0), ("ROLLBACK", 0),
            ], [2: failed], message: text)
        #expect(bea.first?.rows.map(\.title) == ["player id = 7"])
        #expect(bea.first?.rows.first?.change == .missing)
        let other = try findings(
            [("INSERT INTO player (id, name) VALUES (2, 'Cy')", 0)], [0: failed], message: text)
        #expect(other.map { $0.rows.isEmpty } == [true])
    }

    /// The store isn't where the table is looked for.
    @Test func aTableOfAnAttachedDatabase() throws {
        let text = "no such table: archive.tests"
        let found = try findings(
            [("SELECT name FROM archive.tests", 0)], [0: try error(1, text)], message: text)
        #expect(found.map(\.title) == ["SQLite found no table archive.tests"])
        #expect(found.map(\.explanation) == ["The statement names an attached database."])
        // Of a statement that isn't known, the store isn't known either.
        let others = try findings([], [:], message: "no such table: main.tests")
        #expect(others.map(\.title) == ["The store has no table tests"])
    }

    /// The logs of all databases of a connection have the statement.
    @Test func anErrorOfAnAttachedStoreIsFoundOnce() {
        func found(_ code: Finding.Code, _ store: String, order: UInt64) -> Finding {
            var statement = StatementRecord(
                at: "", changes: nil, connection: 1, order: order, phase: .test,
                sql: "INSERT INTO main.tide VALUES (4)", thread: "1")
            statement.error = .init(code: 1, message: "no such table: main.tide")
            return Finding(
                code: code, title: store, confidence: .certain, store: store, statement: statement,
                explanation: "", evidence: .error)
        }
        let findings = [
            found(.schemaError, "memory", order: 3), found(.statementFailed, "aux1", order: 3),
            found(.statementFailed, "aux1", order: 4),
        ]
        #expect(Explanation.ordered(findings).map(\.statement?.order) == [3, 4])
    }

    // MARK: - Errors that the log lacks

    /// An application may have an error log of its own.
    @Test func anErrorOfAStatementThatTheMessageQuotes() throws {
        let insert = "INSERT INTO player (id) VALUES ('x')"
        func found(_ message: String) throws -> [Finding] {
            try findings([(insert, 0), ("SELECT 1", 0)], [:], message: message)
        }
        let finding = try #require(
            try found("SQLite error 20: datatype mismatch - while executing `\(insert)`").first)
        #expect(finding.code == .statementFailed && finding.confidence == .certain)
        #expect(finding.title == "datatype mismatch in a statement on player")
        #expect(try found("datatype mismatch").isEmpty)
        // Without any log, the message still says what is missing.
        let missing = try #require(try found("no such table: teams").first)
        #expect(missing.code == .schemaError && missing.explanation.contains("team"))
    }
}
