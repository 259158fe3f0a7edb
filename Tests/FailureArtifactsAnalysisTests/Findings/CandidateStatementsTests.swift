import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// The statements of findings whose transactions wrote to a table in several ways.
@Suite struct CandidateStatementsTests {
    private static let insert = "INSERT INTO account VALUES (3, 'c', 45)"
    private static let update = "UPDATE account SET name = 'x' WHERE id = 1"

    /// Returns the finding about the value 45, which the transaction wrote.
    private func finding(_ writes: [String], copies: [String] = []) throws -> Finding {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            [writes.joined(separator: "; ")],
            log: [("PRAGMA journal_mode = wal", 0), ("BEGIN", 0)] + writes.map { ($0, 1) }
                + [("COMMIT", 0)],
            message: "XCTAssertEqual failed: (\"45\") is not equal to (\"46\") - ", copies: copies)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(
            FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        return try #require(found.findings.first { $0.code == .messageValues })
    }

    @Test func theOnlyStatementThatFitsTheChange() throws {
        let found = try finding([Self.insert, Self.update])
        #expect(found.statement?.sql == Self.insert && found.statements.isEmpty)
    }

    @Test func anUpdateOfOtherColumnsDoesNotFit() throws {
        let set = "UPDATE account SET balance = 45 WHERE id = 1"
        #expect(try finding([Self.update, set]).statement?.sql == set)
        // A trigger may set any column.
        let trigger =
            "CREATE TRIGGER t AFTER UPDATE OF name ON account BEGIN "
            + "UPDATE account SET balance = 45 WHERE id = new.id; END"
        #expect(try finding([trigger, Self.update, set]).statement == nil)
    }

    @Test func severalStatementsThatFit() throws {
        let other = "INSERT INTO account SELECT 4, 'd', 1"
        let found = try finding([Self.insert, other, Self.update])
        #expect(found.statement == nil && found.statements.map(\.sql) == [Self.insert, other])
        let json = try #require(
            JSONSerialization.jsonObject(with: Data(JSONText.line(found).utf8)) as? [String: Any])
        #expect(json["statement"] == nil && json["source"] == nil)
        let statements = try #require(json["statements"] as? [[String: Any]])
        #expect(statements.map { $0["sql"] as? String } == [Self.insert, other])
        #expect(statements.allSatisfy { $0["connection"] as? Int == 1 && $0["at"] is String })
    }

    @Test func anInsertOfOtherValuesDoesNotFit() throws {
        for other in [
            "INSERT INTO account VALUES (4, 'd', 1)", "INSERT INTO account (id, name) VALUES (4, 'c')",
            "INSERT INTO account (balance, name) VALUES (-45, 'c')",
            "INSERT INTO account (balance) VALUES (4.5)",
        ] {
            let found = try finding([Self.insert, other])
            #expect(found.statement?.sql == Self.insert, "\(found)")
        }
    }

    /// One line of the tested code ran all statements, each with other values in its text.
    ///
    /// The last element is the index of the statement that wrote the value 'Math'; nil if it is one of several.
    @Test(
        arguments: [
            (
                [
                    "INSERT INTO course (seats, name) VALUES (45, 'Math')",
                    "INSERT INTO course (seats, name) VALUES (4, 'Art')",
                ], 0
            ),
            (
                [
                    "INSERT INTO course VALUES (1, '', 45), (2, '', 4)",
                    "UPDATE course SET name = 'Math' WHERE id = 1",
                    "UPDATE course SET name = 'Art' WHERE id = 2",
                ], 1
            ),
            (
                [
                    "INSERT INTO course VALUES (1, 'Math', 45), (2, '', 4)",
                    "UPDATE course SET name = ? WHERE id = ?",
                    "UPDATE course SET name = 'Art' WHERE id = 2",
                ], nil
            ),
            // The values are bound.
            (
                [
                    "INSERT INTO course (name, seats) VALUES ('Math', ?)",
                    "INSERT INTO course (name, seats) VALUES (?, ?)",
                ], 1
            ),
        ] as [([String], Int?)])
    func theStatementHasTheValuesOfTheRow(log: [String], index: Int?) throws {
        let fixture = try Fixture()
        let create = "CREATE TABLE course(id INTEGER PRIMARY KEY, name TEXT, seats INTEGER)"
        let source = #""source": {"file": "Sources/Courses.swift", "line": 7}"#
        let path = try fixture.bundleWithoutHistory(
            create + "; INSERT INTO course VALUES (1, 'Math', 45), (2, 'Art', 4)",
            log: [(create, 0)] + log.map { ($0, 1) },
            facts: Dictionary(uniqueKeysWithValues: (1...log.count).map { ($0, source) }),
            message: #"XCTAssertEqual failed: ("Math") is not equal to ("Maths") - "#)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        let finding = try #require(found.findings.first { $0.code == .messageValues })
        #expect(finding.title == "course.name is 'Math'")
        #expect(finding.statement?.sql == index.map { log[$0] })
        #expect(finding.statements.map(\.sql) == (index == nil ? Array(log.prefix(2)) : []))
    }

    private static let insertAny = "INSERT INTO account VALUES (3, 'c', ?)"
    private static let setAny = "UPDATE account SET balance = ? WHERE id = ?"
    private static let set = "UPDATE account SET balance = 45 WHERE id = 3"
    private static let add = "UPDATE account SET balance = balance + 5 WHERE id = 3"
    private static let insert4 = "INSERT INTO account VALUES (3, 'c', 4)"

    /// The finding is about the value 45 in the balance of account 3.
    ///
    /// The elements are the logged statements, their effects, and the indices of those that can have written the value.
    @Test(
        arguments: [
            // An UPDATE of the row wrote the value, and the one before doesn't matter.
            ([insertAny, set], [insert4, set], [1]),
            // It may be another row.
            ([insertAny, setAny], [insert4, set], [0, 1]),
            // The value depends on the one before.
            ([insertAny, add], ["INSERT INTO account VALUES (3, 'c', 40)", add], [0, 1]),
            // The row that changed is the one that SQLite counted.
            ([insertAny, setAny], [insert, "UPDATE account SET balance = 4 WHERE id = 1"], [0]),
            // The INSERT left the column at NULL.
            (
                ["INSERT INTO account (name) VALUES (?)", setAny],
                ["INSERT INTO account (name) VALUES ('c')", set], [1]
            ),
            // The UPDATE wrote another column.
            (
                [insertAny, "UPDATE account SET name = ? WHERE id = ?"],
                [insert, "UPDATE account SET name = 'd' WHERE id = 3"], [0]
            ),
        ] as [([String], [String], [Int])])
    func anInsertedRowsValueIsThatOfItsLastWriter(log: [String], done: [String], left: [Int]) throws {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            [done.joined(separator: "; ")],
            log: [("PRAGMA journal_mode = wal", 0), ("BEGIN", 0)] + log.map { ($0, 1) }
                + [("COMMIT", 0)],
            message: "XCTAssertEqual failed: (\"45\") is not equal to (\"46\") - ")
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(
            FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        let finding = try #require(found.findings.first { $0.code == .messageValues })
        let statements = finding.statement.map { [$0] } ?? finding.statements
        #expect(statements.map(\.sql) == left.map { log[$0] })
    }

    @Test func aPlaceNamesOneOfSeveralStores() throws {
        #expect(try finding([Self.insert]).place == "transaction 1")
        #expect(try finding([Self.insert], copies: ["mirror"]).place == "transaction 1 of ledger")
    }

    private static let create =
        "CREATE TABLE message(id INTEGER PRIMARY KEY, body TEXT REFERENCES a(b) ON DELETE CASCADE, "
        + "isRead INTEGER NOT NULL DEFAULT 0)"
    private static let markAll = "UPDATE message SET isRead = 1"
    private static let rename = "UPDATE message SET body = ? WHERE id = ?"

    /// The rows of a store in memory have other values than in a run that passed.
    ///
    /// The last element is true if the statement is certain.
    @Test(
        arguments: [
            ("INSERT INTO message (body) VALUES (?)", [markAll], "(1, 'a', 1), (2, 'b', 1)", true),
            (
                "INSERT INTO message (body) VALUES (?)", [markAll, rename], "(1, 'a', 1), (2, 'b', 1)",
                true
            ),
            // Another statement may have written the column.
            (
                "INSERT INTO message (body, isRead) VALUES (?, ?)", [markAll],
                "(1, 'a', 1), (2, 'b', 1)", false
            ),
            ("INSERT INTO message VALUES (?, ?, ?)", [markAll], "(1, 'a', 1), (2, 'b', 1)", false),
            (
                "INSERT INTO message (body) VALUES (?)", [markAll, "UPDATE message SET (isRead) = (?)"],
                "(1, 'a', 1), (2, 'b', 1)", false
            ),
            // The default value comes from the INSERT.
            ("INSERT INTO message (body) VALUES (?)", [markAll], "(1, 'a', 0), (2, 'b', 0)", false),
        ] as [(String, [String], String, Bool)])
    func theOnlyWriterOfAColumn(insert: String, updates: [String], rows: String, isCertain: Bool) throws
    {
        func evidence(_ fixture: borrowing Fixture, _ content: String) throws -> FailureEvidence {
            let log = [Self.create, insert] + updates
            let lines = log.enumerated().map { index, sql in
                """
                {"at":"2026-11-21T07:08:09.\(100 + index)Z","changes":\(index == 0 ? 0 : 1),"connection":1,\
                "order":\(index + 1),"phase":"test","sql":"\(sql)","thread":"7f"}

                """
            }
            let metadata = Metadata.store("chat").replacing(
                "\"bytes\": {}",
                with: """
                    "bytes": {}, "statements": {"entry": "statements/chat.jsonl", "count": \(log.count)}
                    """)
            let path = try fixture.zip(
                "ChatTests.test-1a2b3c4d.zip",
                [
                    ("metadata.json", Array(metadata.utf8)),
                    (
                        "stores/chat.sqlite",
                        try fixture.store("\(Self.create); INSERT INTO message VALUES \(content)")
                    ), ("statements/chat.jsonl", Array(lines.joined().utf8)),
                ])
            let bundle = try BundleReader(
                BundleLocation(path: path), scratchDirectory: fixture.directory)
            return FailureEvidence(bundle, scratch: fixture.directory)
        }
        let fixture = try Fixture()
        let other = try Fixture()
        let failed = try evidence(fixture, rows)
        failed.passing = try evidence(other, "(1, 'a', 1), (2, 'b', 0)")
        let found = Explanation(failed, bundle: "b.zip")
        let finding = try #require(found.findings.first { $0.code == .differenceFromPass })
        #expect(finding.statement?.sql == (isCertain ? Self.markAll : nil))
    }
}
