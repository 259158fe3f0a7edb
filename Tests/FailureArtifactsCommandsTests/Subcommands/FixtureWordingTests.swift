import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCommands

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
        #expect(
            source.contains(
                "This test is incomplete: do with the store what the failed test did next, and"))
        let text = """
                    // Expect here what the failed test expected:
                    // XCTAssertEqual failed: ("0") is not equal to ("400")
                    //
                    // A possible cause: Without transaction 2, the query returns the expected 400.
                    // Remove the following lines if it isn't what is wrong.
                    let broken =
            """
        #expect(source.contains(text), "\(source)")
        #expect(try store.value("SELECT count(*) FROM entry WHERE id <= 200") == "200")
        #expect(source.contains("WHERE \"count(*)\" IS NOT 400"), "\(source)")
    }

    /// The failing query tells whether the store is broken.
    @Test func theFailingQueryIsTheCheck() throws {
        let fixture = try Fixture()
        let update = "UPDATE account SET balance = 7 WHERE id = 1"
        let bundle = try fixture.walBundle(
            [update], log: [(update, 1), ("SELECT balance FROM account WHERE id = ?", 0)],
            facts: [1: #""values":[1]"#],
            message: #"XCTAssertEqual failed: ("7") is not equal to ("10")"#)
        let (source, store, _) = try extract(bundle, fixture)
        let lines = source.split(separator: "\n").map { $0.drop { $0 == " " } }
        let start = try #require(lines.firstIndex { $0.hasPrefix("SELECT * FROM (") }, "\(source)")
        let query = lines[start...].prefix { !$0.hasPrefix("\"\"\"") }.joined(separator: "\n")
        #expect(
            query == """
                SELECT * FROM (SELECT balance FROM account WHERE id = 1)
                WHERE "balance" IS NOT 10
                """)
        #expect(try store.value("SELECT count(*) FROM (\(query))") == "0")
        try store.run(update)
        #expect(try store.value("SELECT count(*) FROM (\(query))") == "1")
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
        #expect(source.contains(" of 800 rows: those that the transaction changed or refers to."))
    }
}
