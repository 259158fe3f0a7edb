import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Findings about stores without a history, such as those in memory.
@Suite struct WithoutHistoryTests {
    private static let entries = """
        CREATE TABLE entry(id INTEGER PRIMARY KEY, name TEXT, cents INTEGER);
        INSERT INTO entry VALUES (1, 'Anna', 900), (2, 'Ben', 610);
        CREATE TABLE _fluent_migrations(id TEXT PRIMARY KEY, created_at REAL);
        INSERT INTO _fluent_migrations VALUES ('0E0C9E3A', 1795495157.5);
        """

    /// Returns the bundle of a store with a log of statements, the first of which is on line 10.
    private func bundle(
        _ fixture: borrowing Fixture, _ message: String, _ log: [(sql: String, changes: Int)],
        store: String = "ledger", passed: Bool = false
    ) throws -> BundleReader {
        let lines = log.enumerated().map { index, statement in
            """
            {"at":"2026-11-21T07:08:09.\(100 + index)Z","changes":\(statement.changes),"connection":1,\
            "order":\(index + 1),"phase":"test","sql":"\(statement.sql)","thread":"7f",\
            "source":{"file":"Sources/Ledger.swift","line":\(index + 10)}}

            """
        }
        let metadata = Metadata.store(store).replacing("\"m\"", with: "\"\(message)\"")
            .replacing(
                "\"bytes\": {}",
                with: """
                    "bytes": {}, "statements": {"entry": "statements/ledger.jsonl", "count": \(log.count)}
                    """
            ).replacing("\"failed\"", with: passed ? "\"passed\"" : "\"failed\"")
        let path = try fixture.zip(
            "LedgerTests.test-\(passed ? "passed-" : "")1a2b3c4d.zip",
            [
                ("metadata.json", Array(metadata.utf8)),
                ("stores/\(store).sqlite", try fixture.store(Self.entries)),
                ("statements/ledger.jsonl", Array(lines.joined().utf8)),
            ])
        return try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
    }

    private static let log = [
        ("INSERT INTO entry (name, cents) VALUES (?, ?)", 1),
        ("UPDATE entry SET cents = cents - ? WHERE name = ?", 1),
        ("UPDATE entry SET cents = cents + ? WHERE name = ?", 1),
        ("UPDATE entry SET name = ? WHERE name = ?", 1),
        ("UPDATE entry SET cents = 0 WHERE id = 9", 0),
        ("SELECT sum(cents) FROM entry", 0),
    ]

    @Test func theLastStatementThatWroteASum() throws {
        let fixture = try Fixture()
        let bundle = try bundle(
            fixture, #"XCTAssertEqual failed: (\"1510\") is not equal to (\"1500\")"#, Self.log)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        let finding = try #require(found.findings.first { $0.code == .messageValues })
        #expect(finding.title == "entry.cents adds up to 1510" && finding.confidence == .possible)
        // Neither the statement that changed another column nor the one that changed no row.
        #expect(finding.source?.place == "Sources/Ledger.swift:12")
        #expect(
            finding.explanation
                == "The message names this number and 1500. Of the 3 statements of the test in the log that wrote it, this "
                + "is the last one. The store has no history, so the effect of each is unknown.")
    }

    @Test func theLastStatementThatChangedTheNumberOfRows() throws {
        let fixture = try Fixture()
        let bundle = try bundle(
            fixture, #"XCTAssertEqual failed: (\"2\") is not equal to (\"5\")"#, Self.log)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        let finding = try #require(found.findings.first { $0.code == .messageValues })
        #expect(
            finding.title == "entry has 2 rows" && finding.source?.place == "Sources/Ledger.swift:10")
    }

    @Test(arguments: [
        #"XCTAssertEqual failed: (\"1511\") is not equal to (\"1500\")"#,
        #"XCTAssertEqual failed: (\"2 rows\") is not equal to (\"5\")"#,
    ])
    func noFinding(message: String) throws {
        let fixture = try Fixture()
        let bundle = try bundle(fixture, message, Self.log)
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        // An UPDATE that changed no row is another finding.
        #expect(!found.findings.contains { $0.code == .messageValues } && found.hint == nil)
    }

    @Test func aHintIfThereIsNoFinding() throws {
        let fixture = try Fixture()
        let bundle = try bundle(fixture, "It went wrong", Array(Self.log.prefix(4)))
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        #expect(found.findings.isEmpty && found.hint?.contains("No store has a history") == true)
    }

    /// sqlite-nio, for example, reports no statements.
    @Test func aValueOfAStoreWithoutStatements() throws {
        let fixture = try Fixture()
        let bundle = try bundle(
            fixture,
            #"Expectation failed: (names → [Optional(\"Ben\")]) == ([new] → [Optional(\"Bob\")])"#, [])
        let found = Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip")
        #expect(found.findings.first { $0.code == .messageValues }?.title == "entry.name is 'Ben'")
    }

    /// sqlite-kit names a store in memory by the process and a UUID.
    @Test func aPassingRunsStoreWithAnotherName() throws {
        let fixture = try Fixture()
        let other = try Fixture()
        let names = [
            "sqlite-kit_memorydb-4711-0E0C9E3A-6D0B-4B52-9E7C-2B5B8A9D1F00",
            "sqlite-kit_memorydb-812-A1B2C3D4-0000-4B52-9E7C-FFFFFFFFFFFF",
        ]
        let failed = try bundle(fixture, "It went wrong", Self.log, store: names[0])
        let evidence = FailureEvidence(failed, scratch: fixture.directory)
        let changed = Self.entries.replacing("900", with: "890").replacing("0E0C9E3A", with: "A1B2C3D4")
        let passing = try other.zip(
            "LedgerTests.test-passed-1a2b3c4d.zip",
            [
                (
                    "metadata.json",
                    Array(Metadata.store(names[1]).replacing("\"failed\"", with: "\"passed\"").utf8)
                ),
                ("stores/\(names[1]).sqlite", try other.store(changed)),
            ])
        let reader = try BundleReader(
            BundleLocation(path: passing), scratchDirectory: other.directory)
        evidence.passing = FailureEvidence(reader, scratch: other.directory)
        let found = Explanation(evidence, bundle: "b.zip")
        let finding = try #require(found.findings.first { $0.code == .differenceFromPass })
        // A library's record of its migrations differs in every run.
        #expect(finding.rows.map(\.title) == ["entry id = 1"])
    }

    /// Vapor's template reverts all migrations at the end of a test, before the store of a passing run is copied.
    @Test func aPassingRunThatDroppedItsTables() throws {
        let fixture = try Fixture()
        let other = try Fixture()
        let failed = try bundle(fixture, "It went wrong", Self.log)
        let evidence = FailureEvidence(failed, scratch: fixture.directory)
        let passing = try other.zip(
            "LedgerTests.test-passed-1a2b3c4d.zip",
            [
                (
                    "metadata.json",
                    Array(Metadata.store("ledger").replacing("\"failed\"", with: "\"passed\"").utf8)
                ),
                (
                    "stores/ledger.sqlite",
                    try other.store("CREATE TABLE _fluent_migrations(id, created_at)")
                ),
            ])
        let reader = try BundleReader(
            BundleLocation(path: passing), scratchDirectory: other.directory)
        evidence.passing = FailureEvidence(reader, scratch: other.directory)
        let found = Explanation(evidence, bundle: "b.zip")
        #expect(!found.findings.contains { $0.code == .differenceFromPass })
    }

    @Test func counterparts() {
        func name(_ name: String, _ own: [String], _ others: [String]) -> String? {
            StoreCounterpart.name(of: name, among: own, in: others)
        }
        #expect(name("a", ["a"], ["b", "a"]) == "a")
        #expect(name("a", ["a"], ["b"]) == nil)
        #expect(name("app-12", ["app-12"], ["b", "app-345"]) == "app-345")
        // Which of several is meant, can't be known.
        #expect(name("app-1", ["app-1", "app-2"], ["app-3"]) == nil)
        #expect(name("app-1", ["app-1"], ["app-3", "app-4"]) == nil)
        #expect(
            name("start/app-1", ["app-1", "start/app-1"], ["app-3", "start/app-3"]) == "start/app-3")
    }
}
