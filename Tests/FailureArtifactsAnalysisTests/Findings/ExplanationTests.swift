import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// The findings about bundles of real stores; `Tests/Culprits` has many more.
@Suite struct ExplanationTests {
    private func explanation(
        _ fixture: borrowing Fixture, _ transactions: [String], uncommitted: String? = nil,
        log: [(sql: String, changes: Int?)], facts: [Int: String] = [:]
    ) throws -> Explanation {
        let path = try fixture.walBundle(transactions, uncommitted: uncommitted, log: log, facts: facts)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
    }

    private static let entries =
        "CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID INTEGER, amount INTEGER); "
        + "INSERT INTO entry VALUES (1, 1, 5), (2, 2, 7), (3, 1, 9)"

    @Test func anOrphanHasItsRowTransactionStatementAndLine() throws {
        let found = try explanation(
            Fixture(), [Self.entries, "DELETE FROM account WHERE id = 2"],
            log: [
                ("BEGIN", 0),
                ("CREATE TABLE entry(id INTEGER PRIMARY KEY, accountID INTEGER, amount INTEGER)", 0),
                ("INSERT INTO entry VALUES (1, 1, 5), (2, 2, 7), (3, 1, 9)", 3), ("COMMIT", 0),
                ("BEGIN", 0),
                ("DELETE FROM account WHERE id = 2", 1), ("COMMIT", 0), ("SELECT * FROM entry", 0),
            ],
            facts: [
                5: """
                "source":{"file":"Sources/Ledger.swift","line":42,"function":"Ledger.remove(_:)"},\
                "callers":[{"file":"Sources/Ledger.swift","line":7},{"file":"Tests/A.swift","line":8}]
                """
            ])
        let first = try #require(found.findings.first)
        #expect(first.code == .orphan && first.confidence == .likely && first.transaction == 2)
        #expect(first.statement?.sql == "DELETE FROM account WHERE id = 2")
        #expect(first.source?.place == "Sources/Ledger.swift:42")
        #expect(first.rows.map(\.title) == ["entry id = 2", "account id = 2"])
        #expect(first.rows.map(\.change) == [.present, .deleted])
        let json = try #require(
            JSONSerialization.jsonObject(with: Data(JSONText.line(found).utf8)) as? [String: Any])
        #expect(json["formatVersion"] as? String == "1.0" && json["bundle"] as? String == "b.zip")
        let finding = try #require((json["findings"] as? [[String: Any]])?.first)
        #expect(
            Set(finding.keys) == [
                "code", "title", "confidence", "store", "rows", "transaction", "statement", "source",
                "caller", "explanation", "evidence",
            ])
        let caller = finding["caller"] as? [String: Any]
        #expect(caller?["file"] as? String == "Tests/A.swift" && caller?["line"] as? Int == 8)
        let row = try #require((finding["rows"] as? [[String: Any]])?.first)
        #expect((row["key"] as? [String: Int]) == ["id": 2] && row["change"] as? String == "present")
        let column = (row["columns"] as? [String: [String: Any]])?["accountID"]
        #expect(column?["before"] is NSNull && column?["after"] as? Int == 2)
    }

    /// Without a query and without a value in the message, only the last transactions are known.
    @Test func aHealthyStoreBreaksNoRule() throws {
        let found = try explanation(
            Fixture(), [Self.entries, "UPDATE account SET balance = 6 WHERE id = 2"],
            log: [("UPDATE account SET balance = 6 WHERE id = 2", 1)])
        #expect(found.findings.map(\.code) == [.resultChanged, .resultChanged])
        #expect(found.findings.map(\.transaction) == [2, 1])
        #expect(found.findings.allSatisfy { $0.confidence == .possible } && found.notes.isEmpty)
        #expect(found.hint == nil, "there is a history")
    }

    /// A forgotten COMMIT belongs to the line with the BEGIN, not to the last statement of the transaction.
    @Test(arguments: ["BEGIN IMMEDIATE", "SAVEPOINT s"])
    func whereAnOpenTransactionBegan(_ start: String) throws {
        let log: [(sql: String, changes: Int?)] = [
            ("BEGIN", 0), ("UPDATE entry SET amount = 6 WHERE id = 1", 1), ("COMMIT", 0), (start, 0),
            ("INSERT INTO entry VALUES (4, 2, 1)", 1),
        ]
        let facts = [
            0: "\"source\":{\"file\":\"Sources/A.swift\",\"line\":1}",
            3: "\"source\":{\"file\":\"Sources/A.swift\",\"line\":30,\"function\":\"f()\"}",
            4: "\"source\":{\"file\":\"Sources/A.swift\",\"line\":31}",
        ]
        let found = try explanation(
            Fixture(), [Self.entries], uncommitted: "INSERT INTO entry VALUES (4, 2, 1)", log: log,
            facts: facts)
        let finding = try #require(found.findings.first { $0.code == .openTransaction })
        let word = start.prefix { $0 != " " }
        #expect(
            finding.explanation.hasSuffix(
                "changes. The transaction began with \(word) at Sources/A.swift:30 in f()."))
        #expect(finding.source?.line == 31)
    }

    @Test func rowsOfAnOpenTransactionThatAnotherConnectionMissed() throws {
        let found = try explanation(
            Fixture(), [Self.entries], uncommitted: "INSERT INTO entry VALUES (4, 2, 1)",
            log: [
                ("BEGIN", 0), ("INSERT INTO entry VALUES (4, 2, 1)", 1),
                ("SELECT count(*) FROM entry", 0),
            ], facts: [1: #""note":1"#])
        let finding = try #require(found.findings.first { $0.code == .openTransaction })
        #expect(finding.title == "Not committed: 1 row inserted into entry")
        #expect(finding.transaction == nil && finding.rows.map(\.title) == ["entry id = 4"])
        // The same connection read the table afterwards, so the transaction may be as it should be.
        #expect(finding.confidence == .possible)
    }

    @Test func violatedConstraintsAreFacts() throws {
        let found = try explanation(
            Fixture(),
            [
                """
                CREATE TABLE budget(id INTEGER PRIMARY KEY, month TEXT NOT NULL, amount INTEGER CHECK (amount >= 0),
                account INTEGER REFERENCES account(id), CONSTRAINT short CHECK (length(month) < 5));
                PRAGMA ignore_check_constraints = 1;
                INSERT INTO budget VALUES (1, 'May', -1, 1), (2, 'June', 1, 9), (3, 'CHECK (x)', 1, NULL);
                PRAGMA ignore_check_constraints = 0
                """
            ], log: [("PRAGMA foreign_keys = ON", 0)])
        #expect(
            found.findings.filter { $0.confidence == .certain }.map(\.title).sorted() == [
                "1 row of budget violates CHECK (amount >= 0)",
                "1 row of budget violates CHECK (short)",
                "A row of budget refers to a row of account that does not exist",
            ])
        // A fixture checks a constraint by its expression.
        #expect(
            Set(found.findings.filter { $0.code == .checkViolation }.compactMap(\.assertion?.sql)) == [
                "SELECT * FROM \"budget\" WHERE NOT (amount >= 0)",
                "SELECT * FROM \"budget\" WHERE NOT (length(month) < 5)",
            ])
    }

    @Test func manyStatementsTakeLittleTime() throws {
        let log: [(sql: String, changes: Int?)] = (0..<5000).flatMap { number in
            [
                ("BEGIN", 0), ("SELECT amount FROM entry WHERE id = \(number)", 0),
                ("UPDATE entry SET amount = 1 WHERE id = \(number)", number % 2),
                (number % 3 == 0 ? "ROLLBACK" : "COMMIT", 0),
            ]
        }
        let fixture = try Fixture()
        let path = try fixture.walBundle([Self.entries], log: log)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let evidence = FailureEvidence(bundle, scratch: fixture.directory)
        let store = try #require(evidence.stores.first)
        #expect(store.statements.count == log.count)
        let updates = store.statements.filter { $0.outline.kind == .update }
        for (number, update) in updates.enumerated() {
            #expect(store.isRolledBack(update) == (number % 3 == 0))
        }
        // Time that grows with the square of the statements would be minutes.
        #expect(!Explanation(evidence, bundle: "b.zip").findings.isEmpty)
    }
}
