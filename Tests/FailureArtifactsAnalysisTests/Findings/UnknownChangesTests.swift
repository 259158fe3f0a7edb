import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Bundles whose history or log lacks something: no finding concludes from it that something didn't happen.
@Suite struct UnknownChangesTests {
    private typealias Log = [(sql: String, changes: Int?)]

    /// Returns the explanation of a bundle.
    private func explanation(
        _ path: String, in fixture: borrowing Fixture, limits: UntrustedLimits = .standard
    ) throws -> Explanation {
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(
            FailureEvidence(bundle, scratch: fixture.directory, limits: limits), bundle: "b.zip")
    }

    /// Returns the findings of a kind about a store without a history.
    private func findings(
        _ code: Finding.Code, _ sql: String, _ log: Log, _ facts: [Int: String] = [:],
        store: String? = nil, statements: String? = nil, message: String = "It went wrong"
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let path = try fixture.bundleWithoutHistory(
            sql, log: log, facts: facts, store: store, statements: statements, message: message)
        return try explanation(path, in: fixture).findings.filter { $0.code == code }
    }

    /// Returns the findings of a kind about a store in WAL mode.
    private func findings(
        _ code: Finding.Code, after transactions: [String], _ log: Log, _ facts: [Int: String] = [:],
        missing: Bool = false, message: String = "It went wrong"
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            transactions, log: log, facts: facts, missing: missing, message: message)
        return try explanation(path, in: fixture).findings.filter { $0.code == code }
    }

    private func equal(_ first: Int, _ second: Int) -> String {
        #"XCTAssertEqual failed: ("\#(first)") is not equal to ("\#(second)")"#
    }

    private let earlier = #""phase":"earlier""#
    private let limit = #""limit": 1000"#
    private let reason = #""reason": "The application has set a trace of its own.""#
    private let entries = "CREATE TABLE entry(id INTEGER PRIMARY KEY, name TEXT, n INTEGER)"

    // MARK: - leftover

    private let insert = "INSERT INTO entry (name) VALUES ('c')"
    private let query = "SELECT name FROM entry"

    /// Returns the findings about a row in a store in memory, whose table and row an earlier test made.
    ///
    /// `log` has the statements of the test before its last query.
    private func leftovers(_ log: Log, statements: String? = nil) throws -> [Finding] {
        try findings(
            .leftover, entries + "; INSERT INTO entry VALUES (1, 'c', NULL)",
            [(entries, 0), (insert, 1)] + log + [(query, 0)], [0: earlier, 1: earlier],
            statements: statements, message: equal(1, 0))
    }

    @Test func aRowThatTheTestMayHaveInsertedIsNoLeftover() throws {
        #expect(try leftovers([("DELETE FROM entry", 1), (insert, 1)]).isEmpty)
        for sql in [
            "WITH n(x) AS (SELECT 'c') INSERT INTO entry (name) SELECT x FROM n",
            "INSERT OR REPLACE INTO entry VALUES (1, 'c', NULL)", "UPDATE entry SET id = 1",
            "ALTER TABLE draft RENAME TO entry",
        ] {
            #expect(try leftovers([("DELETE FROM entry", 1), (sql, 1)]).isEmpty, "\(sql)")
        }
        // The log doesn't have all statements of the test.
        #expect(try leftovers([], statements: reason).isEmpty)
    }

    @Test func aRowThatTheTestDidNotInsertIsALeftoverWithoutAHistory() throws {
        for log: Log in [[], [("UPDATE entry SET name = 'c'", 1)], [(insert, 0)]] {
            let found = try leftovers(log)
            #expect(found.map(\.title) == ["1 row of entry was in the store before the test"])
            #expect(found.map(\.explanation) == ["This test didn't insert it."])
            // The log reaches back to the creation of the table.
            #expect(found.map(\.statement?.sql) == [insert])
        }
        // The log begins before the test, so only older statements are missing.
        let found = try leftovers([], statements: limit)
        #expect(found.count == 1)
    }

    /// A trigger inserts rows of other tables than the statement names.
    @Test func aRowThatATriggerMayHaveInsertedIsNoLeftover() throws {
        let trigger =
            "CREATE TRIGGER copy AFTER DELETE ON draft BEGIN INSERT INTO entry (name) VALUES ('c'); END"
        let schema = "\(entries); CREATE TABLE draft(id INTEGER PRIMARY KEY); \(trigger);"
        func found(_ table: String) throws -> [Finding] {
            try findings(
                .leftover, schema + " INSERT INTO entry VALUES (1, 'c', NULL)",
                [(entries, 0), (insert, 1), ("DELETE FROM \(table)", 1), (query, 0)],
                [0: earlier, 1: earlier], message: equal(1, 0))
        }
        #expect(try found("draft").isEmpty)
        #expect(try found("entry").count == 1)
    }

    /// A checkpoint during the test has overwritten the first transactions.
    @Test(arguments: [true, false]) func aHistoryThatBeginsInTheTestHasNoLeftovers(isLogged: Bool) throws
    {
        let first = "INSERT INTO account VALUES (3, 'c', 30)"
        let later = "INSERT INTO account VALUES (4, 'd', 40)"
        let log: Log = [
            ("INSERT INTO account VALUES (1, 'a', 10), (2, 'b', 20)", 2), (first, 1), (later, 1),
            ("SELECT name FROM account", 0),
        ]
        let fixture = try Fixture()
        // The row is in the database before the history.
        let path = try fixture.walBundle(
            isLogged ? [first, later] : [later],
            base: Fixture.base + (isLogged ? "" : "; \(first)"), log: log, facts: [0: earlier],
            message: equal(4, 2))
        let found = try explanation(path, in: fixture).findings.filter { $0.code == .leftover }
        #expect(found.map(\.rows.count) == (isLogged ? [2] : []))
    }

    // MARK: - Statements of other tests

    /// A row may be another test's if the log doesn't reach back to the creation of the table.
    @Test func aStatementIsTheCauseOnlyIfNoOtherOneCanBe() throws {
        let rows = (1...9).map { "(\($0), 'a', \($0 == 9 ? "NULL" : "1"))" }.joined(separator: ", ")
        let write = "INSERT INTO entry VALUES (?, ?, ?)"
        func statement(_ log: Log, _ facts: [Int: String] = [:]) throws -> String? {
            let found = try findings(
                .nullOutlier, "\(entries); INSERT INTO entry VALUES \(rows)", log, facts)
            #expect(found.map(\.title) == ["1 row of entry has no n"])
            return found.first?.statement?.sql
        }
        #expect(try statement([(entries, 0), (write, 9)]) == write)
        #expect(try statement([(write, 1)]) == nil)
        #expect(
            try statement([(entries, 0), (insert, 8), (write, 1)], [0: earlier, 1: earlier]) == nil)
    }

    // MARK: - lost-update

    /// Without a history, two updates with parameters may be of two rows.
    @Test func updatesOfRowsThatMayBeOthersMayHaveLostOne() throws {
        let (read, write) = ("SELECT n FROM entry WHERE id = ?", "UPDATE entry SET n = ? WHERE id = ?")
        let other = #""connection":2,"thread":"8""#
        let found = try findings(
            .lostUpdate, entries + "; INSERT INTO entry VALUES (1, 'a', 1), (2, 'b', 1)",
            [(read, 0), (read, 0), (write, 1), (write, 1), ("SELECT n FROM entry", 0)],
            [1: other, 3: other])
        #expect(
            found.map(\.title) == [
                "Two writes of entry.n may have been computed from the same earlier value"
            ])
        #expect(
            found.map(\.explanation) == [
                "The first write (Sources/A.swift:3) was lost if both are of the same row: the second writer had "
                    + "read entry before, and not again."
            ])
    }

    // MARK: - rolled-back and open-transaction

    /// SQLite doesn't log that a statement would have broken a foreign key, or that the store was locked.
    @Test func anErrorThatSQLiteDoesNotLogMayBeBehindARollback() throws {
        let child =
            "CREATE TABLE child(id INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entry(id))"
        let found = try findings(
            .rolledBack, "\(entries); \(child)",
            [
                ("BEGIN", 0), (insert, 1), ("INSERT INTO child VALUES (1, 99)", 0), ("ROLLBACK", 0),
            ])
        #expect(found.map(\.title) == ["1 change in entry was rolled back"])
        #expect(
            found.map(\.explanation) == [
                "The transaction ended with ROLLBACK. The log has no error of its statements."
            ])
    }

    /// A connection that is closed inside a transaction rolls it back, which isn't a statement.
    @Test func aTransactionOfAClosedConnectionIsNotOpen() throws {
        let log: Log = [("BEGIN", 0), (insert, 1), ("SELECT count(*) FROM entry", 0)]
        func found(_ open: String?, _ log: Log, _ facts: [Int: String] = [:]) throws -> [Finding] {
            try findings(.openTransaction, entries, log, facts, store: open)
        }
        #expect(try found(#""transactionOpen": false"#, log).isEmpty)
        let known = try found(#""transactionOpen": true"#, log)
        #expect(
            known.first?.explanation.hasPrefix("A transaction of connection 1 was open at the failure.")
                == true)
        let unknown = try found(nil, log)
        #expect(
            unknown.first?.explanation.hasPrefix(
                "The log has no COMMIT of a transaction of connection 1.")
                == true)
        // Another connection has written since.
        let other = [2: #""connection":2,"thread":"8""#]
        #expect(try found(nil, [("BEGIN", 0), (insert, 1), (insert, 1)], other).isEmpty)
        #expect(try found(nil, [("BEGIN", 0), (insert, 1), (insert, 0)], other).count == 1)
    }

    /// An application may set a trace of its own inside a transaction.
    @Test func aTransactionWhoseEndIsNotLoggedIsNotOpen() throws {
        let log: Log = [("BEGIN", 0), (insert, 1)]
        #expect(try findings(.openTransaction, entries, log, statements: reason).isEmpty)
        #expect(try findings(.openTransaction, entries, log).count == 1)
    }

    /// The lock of a closed connection is released.
    @Test func aClosedConnectionHoldsNoLock() throws {
        let other = #""connection":2,"thread":"8""#
        let log: Log = [
            ("BEGIN IMMEDIATE", 0), (insert, 1), ("SELECT 1", 0), ("BEGIN IMMEDIATE", 0), (insert, 1),
            ("SELECT 1", 0),
        ]
        let facts = [3: other, 4: other, 5: other]
        #expect(try findings(.busy, entries, log, facts).isEmpty)
        var kept = log
        kept[4].changes = 0
        #expect(
            try findings(.busy, entries, kept, facts).map(\.title) == [
                "Connection 1 held the lock that connection 2 needed"
            ])
        #expect(try findings(.busy, entries, kept, facts, statements: reason).isEmpty)
    }

    // MARK: - no-effect

    @Test func aStatementThatTheMessageQuotesHasFailed() throws {
        let update = "UPDATE entry SET name = 'a' WHERE id = 1"
        func found(_ message: String) throws -> [Finding] {
            try findings(.noEffect, entries, [(update, 0)], message: message)
        }
        #expect(
            try found(
                "SQLite error 19: UNIQUE constraint failed: entry.name - while executing `\(update)`"
            )
            .isEmpty)
        #expect(
            try found("It went wrong").map(\.explanation) == [
                "SQLite counted 0 changed rows, and the log has no error. Probably, its condition matched no row of "
                    + "entry."
            ])
    }

    @Test func executionsThatTheLogLacksAreNotCounted() throws {
        let update = "UPDATE entry SET name = 'a' WHERE id = 1"
        func explanation(_ statements: String?) throws -> String? {
            let source = #""source": {"file": "Sources/A.swift", "line": 7}"#
            return try findings(
                .noEffect, entries, [(update, 0), (update, 0)], [0: source, 1: source],
                statements: statements
            ).first?.explanation
        }
        let sentence =
            "test ran the statement 2 times, always without effect. This is the first of them."
        let (whole, cut) = (try explanation(nil), try explanation(limit))
        #expect(whole?.hasSuffix(" The " + sentence) == true, "\(whole ?? "")")
        #expect(cut?.hasSuffix(" In the log, the " + sentence) == true, "\(cut ?? "")")
    }

    // MARK: - Tables and columns

    /// Two statements that deleted a half each have not deleted all rows.
    @Test func withoutAHistoryNoStatementIsKnownToChangeAllRows() throws {
        let log: Log = [
            ("DELETE FROM entry WHERE id < 4", 3), ("DELETE FROM entry WHERE id > 3", 3),
        ]
        let found = try findings(.broadWrite, entries, log)
        #expect(
            found.map(\.title) == [
                "A statement deleted 3 rows of entry", "A statement deleted 3 rows of entry",
            ])
        #expect(
            found.map(\.explanation)
                == [String](
                    repeating: "It changed 3 rows; at the failure, the table has 0.", count: 2))
    }

    /// A transaction's number of rows at its start isn't the one before each of its statements.
    @Test func anotherStatementOfTheTransactionMayHaveChangedTheNumberOfRows() throws {
        let fill = "INSERT INTO entry (n) VALUES (1), (2), (3), (4), (5), (6)"
        func title(_ transactions: [[String]]) throws -> [String] {
            let all = transactions.map { $0.joined(separator: "; ") }
            let log = transactions.flatMap { statements in
                [("BEGIN", 0)]
                    + statements.map { ($0, $0 == fill ? 6 : $0.contains("CREATE") ? 0 : 4) }
                    + [("COMMIT", 0)] as Log
            }
            return try findings(.broadWrite, after: all, log).map(\.title)
        }
        let delete = "DELETE FROM entry WHERE n < 5"
        #expect(try title([[entries], [fill, delete]]) == ["A statement deleted 4 rows of entry"])
        let rest = "UPDATE entry SET n = n + 1 WHERE n > 0"
        let all = try title([[entries], ["INSERT INTO entry (n) VALUES (1), (2), (3), (4)"], [rest]])
        #expect(all == ["A statement updated all 4 rows of entry"])
    }

    @Test func anUpdateHasEmptiedAColumnOnlyIfItsRowsAreStillThere() throws {
        let rows = "INSERT INTO entry VALUES (1, NULL, 1), (2, NULL, 2)"
        let update = "UPDATE entry SET name = lower(x) WHERE n > 0"
        func found(_ later: Log, statements: String? = nil) throws -> [String] {
            try findings(
                .emptiedTable, "\(entries); \(rows)", [(update, 5)] + later, statements: statements
            ).map(\.explanation)
        }
        let emptied = ["The statement set it to NULL in 5 rows."]
        #expect(try found([]) == emptied)
        #expect(try found([("UPDATE entry SET n = 1", 5), (rows, 2)]) == emptied)
        for sql in [
            "DELETE FROM entry", "UPDATE entry SET name = NULL", "UPDATE entry SET name = ?",
            "REPLACE INTO entry VALUES (1, NULL, 1)", "DROP TABLE entry",
        ] {
            #expect(try found([(sql, 5), (rows, 2)]).isEmpty, "\(sql)")
        }
        #expect(try found([], statements: reason).isEmpty)
    }

    /// The copies of a table's rows name no column.
    @Test func aCopyOfAllColumnsHasEmptiedNone() throws {
        func found(_ columns: String) throws -> Int {
            try findings(
                .emptiedTable, "\(entries); INSERT INTO entry VALUES (1, NULL, 1), (2, NULL, 2)",
                [
                    ("CREATE TABLE new(id INTEGER PRIMARY KEY, name TEXT, n INTEGER)", 0),
                    ("INSERT INTO new SELECT \(columns) FROM entry", 2), ("DROP TABLE entry", 0),
                    ("ALTER TABLE new RENAME TO entry", 0),
                ]
            ).count
        }
        #expect(try found("id, NULL, n") == 1)
        #expect(try found("*") == 0)
    }

    /// Without the changes of the open transaction, the transactions before it would lead to another state.
    @Test func transactionsAreUnknownWithoutTheOpenOne() throws {
        let entries =
            "CREATE TABLE entry(id INTEGER PRIMARY KEY); INSERT INTO entry VALUES (1), (2), (3)"
        let fixture = try Fixture()
        let path = try fixture.walBundle(
            [
                entries + "; CREATE TABLE big(value PRIMARY KEY) WITHOUT ROWID",
                "DELETE FROM entry WHERE id > 1",
            ],
            uncommitted: "DELETE FROM entry; INSERT INTO big VALUES (randomblob(9000))",
            log: [("SELECT * FROM entry", 0)])
        func titles(_ bytes: Int) throws -> [String] {
            try explanation(
                path, in: fixture, limits: UntrustedLimits(valueBytes: bytes, seconds: 60)
            ).findings.filter { $0.code == .emptiedTable }.map(\.title)
        }
        #expect(try titles(100_000) == ["Table entry lost its 1 row"])
        #expect(try titles(5000).isEmpty)
    }

    // MARK: - Deleted rows

    @Test func aStatementThatBeginsWithANameDeletesItsTablesRows() throws {
        let create = "CREATE TABLE tag(id INTEGER PRIMARY KEY, entry INTEGER)"
        let delete = "WITH old(i) AS (SELECT 1) DELETE FROM tag WHERE entry IN old"
        let change = "DELETE FROM account WHERE id = 1"
        func count(_ delete: String, changes: Int) throws -> Int {
            try findings(
                .unexpectedDelete,
                after: [
                    "\(create); INSERT INTO tag VALUES (1, 1), (2, 1), (3, 2)", "\(change); \(delete)",
                ],
                [
                    ("BEGIN", 0), (create, 0), ("INSERT INTO tag VALUES (1, 1), (2, 1), (3, 2)", 3),
                    ("COMMIT", 0), ("BEGIN", 0), (change, 1), (delete, changes), ("COMMIT", 0),
                ]
            ).count
        }
        #expect(try count(delete, changes: 2) == 0)
    }

    @Test func replaceCanDeleteRowsIfForeignKeysAreEnforced() throws {
        let child =
            "CREATE TABLE child(id INTEGER PRIMARY KEY, entry REFERENCES entry(id) ON DELETE CASCADE)"
        let found = try findings(
            .unexpectedDelete, "\(entries); \(child)", [("REPLACE INTO entry VALUES (1, 'a', 1)", 1)])
        #expect(
            found.map(\.title) == [
                "REPLACE in entry can delete the rows of child that refer to a replaced row"
            ])
        #expect(found.first?.explanation.contains("The store has no history") == true)
    }

    /// Only the first of many changed rows are kept.
    @Test func allDeletedRowsAreCounted() throws {
        let fill =
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT 900) "
            + "INSERT INTO entry (id, n) SELECT i, i FROM r"
        let delete = "DELETE FROM entry WHERE id > 200"
        let found = try findings(
            .broadWrite, after: [entries, fill, delete],
            [
                ("BEGIN", 0), (entries, 0), ("COMMIT", 0), ("BEGIN", 0), (fill, 900), ("COMMIT", 0),
                ("BEGIN", 0), (delete, 700), ("COMMIT", 0), ("SELECT n FROM entry", 0),
            ])
        #expect(found.contains { $0.title == "Transaction 3 deleted 700 of 900 rows of entry" })
    }

    /// A later transaction may have changed a row that isn't kept.
    @Test func aRowIsNotTheLastOneIfLaterOnesAreUnknown() throws {
        let fill =
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT 900) "
            + "INSERT INTO entry (id, name, n) SELECT i, 'name ' || i, 7000 + i FROM r"
        func found(_ last: String) throws -> [Finding] {
            try findings(
                .messageValues,
                after: [entries + "; " + fill, "UPDATE entry SET n = 7999 WHERE id = 800", last],
                [("SELECT n FROM entry WHERE id = ?", 0)], message: equal(7999, 12))
        }
        let known = try found("UPDATE entry SET n = 7100 WHERE id = 1").map(\.explanation)
        #expect(known == ["The message names '7999', which is the value in this row."])
        #expect(try found("UPDATE entry SET n = n - 1").isEmpty)
    }

    // MARK: - Texts

    @Test func aSearchWithoutAHistoryNamesItsLog() throws {
        let found = try findings(
            .messageValues, entries + "; INSERT INTO entry VALUES (1, 'a', 900), (2, 'b', 611)",
            [("UPDATE entry SET n = ?", 1), ("SELECT sum(n) FROM entry", 0)], statements: limit,
            message: equal(1511, 1500))
        #expect(
            found.first?.explanation
                == "The message names this number and 1500. In the log, one statement of the test wrote it. The store "
                + "has no history, so the effect of each is unknown.")
    }

    @Test func theHintNamesTheReason() throws {
        let fixture = try Fixture()
        let path = try fixture.bundleWithoutHistory(
            entries, log: [(query, 0)], message: "It went wrong")
        let found = try explanation(path, in: fixture)
        #expect(
            found.hint?.hasPrefix(
                "No store has a history of its transactions. No transaction was recorded.") == true)
    }

    @Test func theHintOfSeveralStoresNamesTheReasonOfEach() throws {
        func hint(_ facts: [String]) throws -> String? {
            let fixture = try Fixture()
            let stores = try facts.indices.map { index in
                ("stores/\(index).sqlite", try fixture.store("CREATE TABLE t(n)"))
            }
            let list = facts.enumerated().map { index, facts in
                "{\"name\": \"\(index)\", \"entry\": \"stores/\(index).sqlite\", \(facts), "
                    + "\"capture\": {\"method\": \"serialize\", \"consistent\": true, \"duration\": 0, "
                    + "\"checkpoint\": \"none\"}, "
                    + "\"bytes\": {}}"
            }
            let metadata = Metadata.plain(test: "t", message: "m").replacing(
                "\"stores\": []", with: "\"stores\": [\(list.joined(separator: ", "))]")
            let path = try fixture.zip(
                "a.zip", [("metadata.json", Array(metadata.utf8))] + stores)
            return try explanation(path, in: fixture).hint
        }
        let memory = "\"storage\": \"memory\""
        let file = "\"storage\": \"file\", \"journalMode\": \"delete\""
        let same = try #require(try hint([memory, memory]))
        #expect(
            same.hasPrefix(
                "No store has a history of its transactions. No transaction was recorded. With"))
        let other = try #require(try hint([memory, file]))
        #expect(other.contains(" Of '0': No transaction was recorded."), "\(other)")
        #expect(other.contains(" Of '1': No transaction was recorded since it was opened."), "\(other)")
    }

    @Test(arguments: [nil, "a trace"]) func theLastQueryOfALogThatEndsEarlier(reason: String?) throws {
        let fixture = try Fixture()
        let path = try fixture.bundleWithoutHistory(
            entries, log: [(query, 0)], statements: reason.map { #""reason": "\#($0)""# },
            message: "It went wrong")
        let last = try #require(try explanation(path, in: fixture).last)
        #expect(last.queryTitle == (reason == nil ? "last query" : "last query in the log"))
        #expect(last.query?.sql == query && last.transactionTitle == nil)
    }
}
