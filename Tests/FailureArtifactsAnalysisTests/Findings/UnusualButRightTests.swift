import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Stores whose content is unusual but right, and statements of which one of several executions is the cause.
@Suite struct UnusualButRightTests {
    private typealias Log = [(sql: String, changes: Int?)]

    /// Returns the findings after transactions, each of which runs statements with their numbers of changed rows.
    private func findings(
        _ transactions: [Log], query: String = "SELECT count(*) FROM entry", actual: String = "1",
        expected: String = "7", facts: [Int: String] = [:]
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let log = transactions.flatMap { [("BEGIN", 0)] + $0 + [("COMMIT", 0)] as Log } + [(query, 0)]
        let path = try fixture.walBundle(
            transactions.map { $0.map(\.sql).joined(separator: "; ") }, log: log, facts: facts,
            message: "XCTAssertEqual failed: (\"\(actual)\") is not equal to (\"\(expected)\")")
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip").findings
    }

    private static let entries: Log = [
        ("CREATE TABLE entry(id INTEGER PRIMARY KEY, n INTEGER)", 0)
    ]

    @Test func aSavepointThatWasRolledBackIsNotTheTransaction() throws {
        let found = try findings([
            Self.entries,
            [
                ("INSERT INTO entry VALUES (1, 5)", 1), ("SAVEPOINT preview", 0),
                ("UPDATE entry SET n = 9", 1), ("ROLLBACK TO preview", 0), ("RELEASE preview", 0),
            ],
        ])
        let finding = try #require(found.first { $0.code == .rolledBack })
        #expect(finding.title == "1 change in entry was rolled back")
        #expect(
            finding.explanation
                == "ROLLBACK TO undid what was changed since a savepoint. The log has no error of its statements."
        )
    }

    @Test func aKeyThatChangesWithAnotherRowIsNoDeletion() throws {
        let found = try findings([
            [
                ("CREATE TABLE page(slug TEXT PRIMARY KEY)", 0),
                (
                    "CREATE TABLE section(page TEXT, n INTEGER, title TEXT, PRIMARY KEY (page, n)) WITHOUT ROWID",
                    0
                ),
                (
                    "CREATE TRIGGER follow AFTER UPDATE ON page BEGIN UPDATE section SET page = NEW.slug WHERE page = OLD.slug; END",
                    0
                ),
                ("INSERT INTO page VALUES ('start')", 1),
                ("INSERT INTO section VALUES ('start', 1, 'A'), ('start', 2, 'B')", 2),
            ], [("UPDATE page SET slug = 'begin'", 3)],
        ])
        #expect(!found.contains { $0.code == .unexpectedDelete }, "\(found.map(\.title))")
    }

    @Test func aTriggerDidNotDeleteWhatReplaceDeleted() throws {
        let table: Log = [
            (
                "CREATE TABLE search(id INTEGER PRIMARY KEY, term TEXT UNIQUE ON CONFLICT REPLACE)", 0
            ),
            (
                "CREATE TRIGGER trim AFTER INSERT ON search BEGIN DELETE FROM search WHERE id <= NEW.id - 3; END",
                0
            ),
            ("INSERT INTO search VALUES (1, 'a'), (2, 'b'), (3, 'c')", 3),
        ]
        let replaced = try findings([table, [("INSERT INTO search(term) VALUES ('c')", 2)]])
        #expect(
            replaced.contains { $0.title.hasPrefix("The trigger trim") } == true,
            "row 1 was trimmed, too")
        let only = try findings([table, [("INSERT INTO search VALUES (0, 'c')", 1)]])
        #expect(!only.contains { $0.title.hasPrefix("The trigger trim") }, "\(only.map(\.title))")
    }

    /// A log of finished jobs outlives all of them.
    @Test func referencesOfWhichNoneHasAMatchArePossible() throws {
        let found = try findings(
            [
                [
                    ("CREATE TABLE job(id INTEGER PRIMARY KEY)", 0),
                    ("CREATE TABLE finished(id INTEGER PRIMARY KEY, jobID INTEGER)", 0),
                    ("INSERT INTO job VALUES (1), (2), (3)", 3),
                ],
                [
                    ("DELETE FROM job WHERE id < 3", 2),
                    ("INSERT INTO finished VALUES (1, 1), (2, 2)", 2),
                ],
            ], query: "SELECT count(*) FROM finished")
        #expect(found.filter { $0.code == .orphan }.map(\.confidence) == [.possible])
    }

    @Test func rowsThatWereMovedToAnotherTableAreNoLikelyLoss() throws {
        let tables: Log = [
            ("CREATE TABLE cartLine(id INTEGER PRIMARY KEY, product TEXT, cartID INTEGER)", 0),
            ("CREATE TABLE orderLine(id INTEGER PRIMARY KEY, product TEXT)", 0),
            ("INSERT INTO cartLine VALUES (1, 'Tea', 1), (2, 'Milk', 2)", 2),
        ]
        let insert = ("INSERT INTO orderLine SELECT id, product FROM cartLine", 2 as Int?)
        let delete = ("DELETE FROM cartLine", 2 as Int?)
        func confidences(_ statements: Log) throws -> [Finding.Confidence] {
            try findings(
                [tables, statements], query: "SELECT count(*) FROM cartLine", actual: "0", expected: "2"
            ).filter { $0.code == .broadWrite }.map(\.confidence)
        }
        #expect(try confidences([insert, delete]) == [.possible])
        #expect(try confidences([delete]) == [.likely])
    }

    /// The lines that called the statement differ, and it isn't known which call wrote the row.
    @Test func ofSeveralExecutionsOnlyTheCommonCallersAreNamed() throws {
        func facts(_ line: Int) -> String {
            func frame(_ file: String, _ line: Int) -> String {
                "{\"file\":\"\(file)\",\"function\":\"f()\",\"line\":\(line)}"
            }
            return "\"source\":\(frame("Store.swift", 5)),\"callers\":[\(frame("Pay.swift", line)),"
                + "\(frame("Tests.swift", 9))]"
        }
        let insert = "INSERT INTO entry VALUES (?, ?)"
        // Fixtures run the statements as they are, so that the log has others.
        let fixture = try Fixture()
        let log: Log = [
            ("BEGIN", 0), (Self.entries[0].sql, 0), ("COMMIT", 0), ("BEGIN", 0), (insert, 1),
            (insert, 1), ("COMMIT", 0), ("SELECT n FROM entry", 0),
        ]
        let path = try fixture.walBundle(
            [
                Self.entries[0].sql,
                "INSERT INTO entry VALUES (1, 350); INSERT INTO entry VALUES (2, 80)",
            ],
            log: log, facts: [4: facts(21), 5: facts(24)],
            message: "XCTAssertEqual failed: (\"350\") is not equal to (\"7\")")
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        let finding = try #require(found.findings.first { $0.code == .messageValues })
        #expect(finding.statement?.source?.line == 5)
        #expect(finding.statement?.callers?.map(\.file) == ["Tests.swift"])
        #expect(finding.statement?.callerInAnotherFile?.line == 9)
    }
}
