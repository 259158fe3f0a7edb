import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Failures whose data may be right and whose expectation is wrong, so that no finding is more than possible.
@Suite struct OutdatedExpectationsTests {
    private typealias Log = [(sql: String, changes: Int?)]

    /// Returns the findings of a kind, or all, after transactions, and statements that only the log has.
    private func findings(
        _ code: Finding.Code?, _ transactions: [Log], uncommitted: String? = nil, after: Log = [],
        facts: [Int: String] = [:], actual: String = "1", expected: String = "7"
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let log = transactions.flatMap { [("BEGIN", 0)] + $0 + [("COMMIT", 0)] as Log } + after
        let path = try fixture.walBundle(
            transactions.map { $0.map(\.sql).joined(separator: "; ") }, uncommitted: uncommitted,
            log: log, facts: facts,
            message: "XCTAssertEqual failed: (\"\(actual)\") is not equal to (\"\(expected)\")")
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        return found.findings.filter { code == nil || $0.code == code }
    }

    private static func source(_ file: String) -> String {
        "\"source\":{\"file\":\"\(file)\",\"line\":5}"
    }

    // MARK: - Open transactions

    private static let seats: Log = [
        ("CREATE TABLE seat(id INTEGER PRIMARY KEY, name TEXT)", 0),
        ("INSERT INTO seat VALUES (1, 'A'), (2, 'B'), (3, 'C')", 3),
    ]

    /// Returns the confidence after connection 2 read the seats, to which connection 1 had added one in a transaction.
    private func confidence(
        ofReading query: String, _ actual: String, _ expected: String, isKnown: Bool = true
    ) throws -> [Finding.Confidence] {
        let insert = "INSERT INTO seat VALUES (4, 'Duo')"
        return try findings(
            .openTransaction, [Self.seats], uncommitted: isKnown ? insert : nil,
            after: [("BEGIN", 0), (insert, 1), (query, 0)], facts: [6: "\"connection\":2"],
            actual: actual, expected: expected
        ).map(\.confidence)
    }

    @Test func anOpenTransactionThatDoesNotExplainTheNumberIsPossible() throws {
        let query = "SELECT count(*) FROM seat"
        #expect(try confidence(ofReading: query, "3", "4") == [.likely])
        #expect(try confidence(ofReading: query, "3", "7") == [.possible])
        #expect(try confidence(ofReading: query, "3", "7", isKnown: false) == [.possible])
    }

    @Test func anOpenTransactionThatDoesNotExplainTheTextIsPossible() throws {
        let query = "SELECT name FROM seat"
        #expect(try confidence(ofReading: query, "Cello", "Duo") == [.likely])
        #expect(try confidence(ofReading: query, "Cello", "Trio") == [.possible])
        #expect(try confidence(ofReading: query, "Cello", "Trio", isKnown: false) == [.likely])
    }

    // MARK: - Foreign keys and other references

    private static let posts: Log = [
        ("CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT)", 0),
        (
            "CREATE TABLE post(id INTEGER PRIMARY KEY, authorID INTEGER REFERENCES author, likes INTEGER)",
            0
        ),
        ("INSERT INTO author VALUES (1, 'Ann'), (2, 'Ben')", 2),
        ("INSERT INTO post VALUES (1, 1, 12), (2, 2, 30), (3, 2, 7)", 3),
    ]
    private static let leave: Log = [("DELETE FROM author WHERE id = 2", 1)]

    /// Returns the confidence after an author with two of three posts was deleted.
    private func violation(
        _ query: String = "SELECT max(likes) FROM post", before: Log = [], actual: String = "30",
        expected: String = "40", facts: [Int: String] = [:]
    ) throws -> [Finding.Confidence] {
        try findings(
            .foreignKeyViolation, [Self.posts, Self.leave], after: before + [(query, 0)], facts: facts,
            actual: actual, expected: expected
        ).map(\.confidence)
    }

    @Test func aViolatedForeignKeyIsCertainIfItIsEnforcedAndTheTableWasRead() throws {
        let pragma: Log = [("PRAGMA foreign_keys = ON", 0)]
        #expect(try violation(before: pragma) == [.certain])
        #expect(try violation("SELECT count(*) FROM author", before: pragma) == [.certain])
        #expect(try violation("SELECT 1 FROM account", before: pragma) == [.possible])
        #expect(try violation(before: [("PRAGMA foreign_keys = OFF", 0)]) == [.possible])
    }

    /// Applications can keep rows of removed ones, and leave foreign keys off on purpose.
    @Test func aViolatedForeignKeyThatNothingEnforcesNeedsToExplainTheFailure() throws {
        #expect(try violation() == [.possible])
        #expect(try violation("SELECT count(*) FROM post", actual: "3", expected: "1") == [.likely])
        #expect(
            try violation("SELECT count(*) FROM post JOIN author ON author.id = authorID") == [.likely],
            "the join misses the rows")
    }

    @Test func aForeignKeyThatWasViolatedBeforeTheTestIsPossible() throws {
        let earlier = "\"phase\":\"earlier\""
        let facts = Dictionary(uniqueKeysWithValues: (6...8).map { ($0, earlier) })
        let pragma: Log = [("PRAGMA foreign_keys = ON", 0)]
        #expect(try violation(before: pragma, facts: facts) == [.possible])
        #expect(try violation(before: pragma, facts: [6: earlier]) == [.certain])
    }

    /// Receipts have the names of products that are no longer sold.
    @Test func rowsWithCopiesOfTheRemovedRowArePossibleOrphans() throws {
        func orphans(_ name: String, _ query: String) throws -> [Finding.Confidence] {
            try findings(
                .orphan,
                [
                    [
                        ("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)", 0),
                        ("CREATE TABLE sale(id INTEGER PRIMARY KEY, itemID INTEGER, name TEXT)", 0),
                        ("INSERT INTO item VALUES (1, 'Tea'), (2, 'Juice')", 2),
                        ("INSERT INTO sale VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, '\(name)')", 3),
                    ], [("DELETE FROM item WHERE id = 2", 1)],
                ], after: [(query, 0)]
            ).map(\.confidence)
        }
        let query = "SELECT count(*) FROM sale"
        #expect(try orphans("to go", query) == [.likely])
        #expect(try orphans("Juice", query) == [.possible])
        // The query expects sales without items.
        let join = "SELECT sale.name, item.name FROM sale LEFT JOIN item ON item.id = itemID"
        #expect(try orphans("to go", join) == [.possible])
        #expect(try orphans("to go", join.replacing("LEFT", with: "LEFT OUTER")) == [.possible])
        #expect(try orphans("to go", join.replacing("LEFT", with: "")) == [.likely])
    }

    // MARK: - Triggers

    @Test func aTriggerThatKeepsTheNewRowMayLimitTheirNumber() throws {
        func found(_ condition: String, _ left: Int) throws -> [Finding.Confidence] {
            try findings(
                .unexpectedDelete,
                [
                    [
                        ("CREATE TABLE search(id INTEGER PRIMARY KEY, term TEXT)", 0),
                        (
                            "CREATE TRIGGER trim AFTER INSERT ON search BEGIN DELETE FROM search WHERE \(condition); END",
                            0
                        ),
                        ("INSERT INTO search VALUES (1, 'a')", 1),
                        ("INSERT INTO search VALUES (2, 'b')", 1),
                    ], [("INSERT INTO search VALUES (3, 'c')", 2)],
                ], after: [("SELECT count(*) FROM search", 0)], actual: "\(left)",
                expected: "\(left + 1)"
            ).map(\.confidence)
        }
        #expect(try found("id <= NEW.id - 2", 2) == [.possible])
        #expect(try found("id = 1 OR NEW.id = 3 AND id = 3", 1) == [.likely])
    }

    // MARK: - Cascades and resets

    @Test func aCascadeIsLikelyIfTheAssertionMissedSeveralRows() throws {
        func cascade(_ id: Int, _ rows: Int) throws -> [Finding.Confidence] {
            try findings(
                .unexpectedDelete,
                [
                    [
                        ("CREATE TABLE member(id INTEGER PRIMARY KEY)", 0),
                        (
                            "CREATE TABLE note(id INTEGER PRIMARY KEY, member INTEGER REFERENCES member ON DELETE CASCADE)",
                            0
                        ),
                        (
                            "CREATE TRIGGER purge AFTER DELETE ON member BEGIN DELETE FROM note WHERE member = OLD.id; END",
                            0
                        ),
                        ("INSERT INTO member VALUES (1), (2), (3)", 3),
                        ("INSERT INTO note VALUES (1, 1), (2, 2), (3, 2), (4, 2), (5, 3), (6, 3)", 6),
                    ], [("DELETE FROM member WHERE id = \(id)", 1 + rows)],
                ], after: [("SELECT count(*) FROM note", 0)], actual: "\(6 - rows)", expected: "6"
            ).map(\.confidence)
        }
        #expect(try cascade(2, 3) == [.likely])
        #expect(try cascade(1, 1) == [.possible])
        #expect(try cascade(3, 2) == [.possible])
    }

    /// A statement without a condition that clears a table is written for all of its rows.
    @Test(arguments: [
        ("UPDATE member SET visits = 0", "0", Finding.Confidence.possible),
        ("UPDATE member SET visits = 3", "3", .likely),
        ("DELETE FROM member", "nil", .likely), ("DELETE FROM search", "nil", .possible),
    ])
    func aResetIsPossible(statement: String, actual: String, confidence: Finding.Confidence) throws {
        let rows = "(1, 1, 14), (2, 1, 25), (3, 2, 36), (4, 2, 47)"
        let table = statement.hasSuffix("search") ? "search" : "member"
        let found = try findings(
            nil,
            [
                [
                    ("CREATE TABLE member(id INTEGER PRIMARY KEY, teamID INTEGER, visits INTEGER)", 0),
                    ("CREATE TABLE search(id INTEGER PRIMARY KEY, term INTEGER, visits INTEGER)", 0),
                    ("INSERT INTO member VALUES \(rows)", 4), ("INSERT INTO search VALUES \(rows)", 4),
                ], [(statement, 4)],
            ], after: [("SELECT visits FROM \(table) WHERE id = ?", 0)], actual: actual, expected: "36")
        #expect(found.map(\.confidence).max() == confidence, "\(found.map(\.title))")
    }

    // MARK: - The test's own statements

    @Test(arguments: [
        ("Sources/Mail/Store.swift", Finding.Confidence.likely),
        ("Tests/MailTests/StoreTests.swift", .possible), ("MailTests/Support/Rows.swift", .possible),
        ("Sources/StoreTests.swift", .likely),
    ])
    func theEffectOfAStatementOfTheTestIsPossible(file: String, confidence: Finding.Confidence) throws {
        let found = try findings(
            .unexpectedDelete,
            [
                [
                    ("CREATE TABLE mail(id INTEGER PRIMARY KEY, draft INTEGER)", 0),
                    (
                        "CREATE TRIGGER purge AFTER DELETE ON mail BEGIN DELETE FROM attachment WHERE mail = OLD.id; END",
                        0
                    ),
                    ("CREATE TABLE attachment(id INTEGER PRIMARY KEY, mail INTEGER)", 0),
                    ("INSERT INTO mail VALUES (1, 0), (2, 1)", 2),
                    ("INSERT INTO attachment VALUES (1, 1), (2, 1), (3, 2), (4, 2), (5, 2)", 5),
                ], [("DELETE FROM mail WHERE draft = 1", 1)],
            ], after: [("SELECT count(*) FROM attachment", 0)], facts: [8: Self.source(file)],
            actual: "2", expected: "5")
        #expect(found.map(\.confidence) == [confidence])
    }

    /// An error is a fact even if the test ran the statement.
    @Test func anErrorOfAStatementOfTheTestIsCertain() throws {
        let error = "\"error\":{\"code\":2067,\"message\":\"UNIQUE constraint failed: seat.name\"}"
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            [Self.seats.map(\.sql).joined(separator: ";")],
            log: [("INSERT INTO seat(name) VALUES ('A')", 0)],
            facts: [0: Self.source("Tests/SeatTests/SeatTests.swift") + "," + error],
            message: "caught error: UNIQUE constraint failed: seat.name")
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        #expect(found.findings.first { $0.code == .constraintFailed }?.confidence == .certain)
    }
}
