import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// Findings about single statements, whose effects depend on triggers, foreign keys and other connections.
@Suite struct StatementEffectsTests {
    private typealias Log = [(sql: String, changes: Int?)]

    /// Returns the findings of a rule about the store that `transactions` leave.
    private func findings(
        _ code: Finding.Code, _ transactions: [String], log: Log, facts: [Int: String] = [:],
        message: String = "XCTAssertEqual failed: (\"a\") is not equal to (\"b\")"
    ) throws -> [Finding] {
        let fixture = try Fixture()
        let path = try fixture.walBundle(transactions, log: log, facts: facts, message: message)
        let bundle = try BundleReader(BundleLocation(path: path), scratchDirectory: fixture.directory)
        return Explanation(FailureEvidence(bundle, scratch: fixture.directory), bundle: "b.zip").findings
            .filter { $0.code == code }
    }

    /// Returns the log of the statements, each in a transaction of its own, on one connection.
    private func log(_ statements: Log) -> Log {
        statements.flatMap { [("BEGIN", 0), $0, ("COMMIT", 0)] as Log }
    }

    private static let entries = "CREATE TABLE entry(id INTEGER PRIMARY KEY, n INTEGER)"

    private func equal(_ first: Int, _ second: Int) -> String {
        "XCTAssertEqual failed: (\"\(first)\") is not equal to (\"\(second)\")"
    }

    // MARK: - busy

    /// Facts that put each statement on a connection and a thread of the same number.
    private func connections(_ numbers: [Int]) -> [Int: String] {
        Dictionary(
            uniqueKeysWithValues: numbers.enumerated().map {
                ($0, "\"connection\":\($1),\"thread\":\"\($1)\"")
            })
    }

    @Test func aConnectionThatWaitsForTheLockDoesNotHoldIt() throws {
        // Connection 2 begins while 1 has the lock, and gets it when 1 has committed for the second time.
        let insert = "INSERT INTO entry (n) VALUES (?)"
        let log: Log = [
            ("BEGIN IMMEDIATE", 0), ("BEGIN IMMEDIATE", 0), (insert, 1), ("COMMIT", 0),
            ("BEGIN IMMEDIATE", 0), (insert, 1), ("COMMIT", 0), (insert, 1), ("COMMIT", 0),
        ]
        let facts = connections([1, 2, 1, 1, 1, 1, 1, 2, 2])
        #expect(try findings(.busy, [Self.entries], log: log, facts: facts).isEmpty)
        // A rollback doesn't prove that the transaction began.
        var undone = log
        undone[6].sql = "ROLLBACK"
        #expect(try findings(.busy, [Self.entries], log: undone, facts: facts).isEmpty)
    }

    @Test func anInsertThatAnotherTransactionKeptOutIsBusy() throws {
        let insert = "INSERT INTO entry (n) VALUES (?)"
        func found(_ kept: String) throws -> [Finding] {
            try findings(
                .busy, [Self.entries],
                log: [
                    ("BEGIN IMMEDIATE", 0), ("UPDATE account SET balance = 0", 2), (kept, 0),
                    ("SELECT 1", 0), ("UPDATE account SET balance = 1", 2), ("COMMIT", 0),
                ], facts: connections([1, 1, 2, 2, 1, 1]))
        }
        // The UPDATE shows that the BEGIN has ended.
        #expect(
            try found(insert).map(\.title) == [
                "Connection 1 held the lock that connection 2 needed"
            ])
        #expect(try found("BEGIN IMMEDIATE").count == 1)
        // Its query may have returned no row.
        #expect(try found("INSERT INTO entry (n) SELECT id FROM account WHERE id > 9").isEmpty)
    }

    /// In WAL mode, a transaction that has read an old state can't write.
    ///
    /// SQLite doesn't log the error.
    @Test func aTransactionThatReadAnOldStateNamesTheConnectionThatCommitted() throws {
        func found(_ log: Log, _ numbers: [Int]) throws -> Finding? {
            try findings(
                .busy, [Self.entries], log: log, facts: connections(numbers),
                message: "caught error: database is locked"
            ).first
        }
        let (read, insert) = ("SELECT n FROM entry", "INSERT INTO entry (n) VALUES (1)")
        let update = "UPDATE account SET balance = 1 WHERE id = 1"
        let stale = try #require(
            try found([("BEGIN", 0), (read, 0), (insert, 1), (update, 0)], [2, 2, 1, 2]))
        #expect(stale.title == "Connection 1 committed before connection 2 could write")
        #expect(stale.confidence == .certain && stale.statement?.sql == insert)
        #expect(
            stale.explanation
                == "The message names the error, and '\(update)' is the last statement that had to fail "
                + "with it. The statement shown changed the store after connection 2 had read it.")
        // It read nothing before the other connection wrote, or it isn't in a transaction.
        for (log, numbers) in [
            ([("BEGIN", 0), (insert, 1), (update, 0)], [2, 1, 2]),
            ([("BEGIN", 0), (insert, 1), (read, 0), (update, 0)], [2, 1, 2, 2]),
            ([(read, 0), (insert, 1), (update, 0)], [2, 1, 2]),
        ] as [(Log, [Int])] {
            #expect(try found(log, numbers) == nil)
        }
    }

    @Test func aLockThatNoOtherConnectionHasIsPossiblyAnotherProcess() throws {
        func found(_ message: String, _ log: Log) throws -> Finding? {
            try findings(.busy, [Self.entries], log: log, message: message).first
        }
        let update = "UPDATE entry SET n = 5 WHERE id = 1"
        let named = try #require(
            try found("database is locked - while executing '\(update)'", [(update, 0)]))
        #expect(named.confidence == .certain && named.statement?.sql == update)
        #expect(
            named.explanation
                == "'\(update)' failed with the error that the message names. No other connection of the "
                + "test's process is known to have had a lock. Another process may have had it.")
        // The statement may have matched no row, which `no-effect` says of it, and another one may have failed.
        #expect(try found("database is locked", [(update, 0)]) == nil)
        let table = try #require(
            try found(
                "database table is locked: entry - while executing '\(update)'", [(update, 0)]))
        #expect(
            !table.explanation.contains("process")
                && table.explanation.contains("a query of the same one"))
    }

    // MARK: - no-effect

    private let update = "UPDATE entry SET n = 5 WHERE id = 1"

    private func reason(
        _ sql: String, _ schema: String = "", others: Log = [], facts: [Int: String] = [:]
    ) throws -> String? {
        try findings(
            .noEffect, [Self.entries + ";" + schema], log: others + [(sql, 0)], facts: facts
        ).first?.explanation
    }

    @Test func theReasonsForNoEffect() throws {
        let unmatched =
            "SQLite counted 0 changed rows, and the log has no error. Probably, its condition matched no row of entry"
        #expect(try reason(update) == unmatched + ".")
        #expect(
            try reason(
                update,
                "CREATE TRIGGER skip BEFORE UPDATE ON entry BEGIN SELECT RAISE(IGNORE); END")
                == unmatched + ", or a trigger skipped its rows.")
        #expect(
            try reason("UPDATE OR IGNORE entry SET n = 5 WHERE id = 1")
                == unmatched + ", or it skipped rows that a constraint rejects.")
        #expect(
            try reason(
                "DELETE FROM entry WHERE id = 1",
                "CREATE TABLE child(id INTEGER PRIMARY KEY, entryID REFERENCES entry(id))")
                == unmatched + ", or it failed because of a foreign key.")
        #expect(
            try reason(
                update, others: [("BEGIN IMMEDIATE", 0)],
                facts: [0: "\"connection\":2,\"thread\":\"8\""])
                == unmatched + ", or it failed because another connection had a lock.")
        // The transaction has ended.
        #expect(
            try reason(
                update, others: [("BEGIN IMMEDIATE", 0), ("COMMIT", 0), ("SELECT 1", 0)],
                facts: connections([2, 2, 2])) == unmatched + ".")
    }

    @Test func aStatementThatIsRetriedAfterALockIsNoFinding() throws {
        let log: Log = [("BEGIN IMMEDIATE", 0), (update, 0), ("COMMIT", 0), (update, 1)]
        #expect(
            try findings(.noEffect, [Self.entries], log: log, facts: connections([2, 1, 2, 1])).isEmpty)
        #expect(try findings(.noEffect, [Self.entries], log: log).count == 1)
    }

    @Test func insertsThatSkipRowsHaveNoEffect() throws {
        #expect(
            try reason("INSERT OR IGNORE INTO entry VALUES (1, 2)")
                == "SQLite counted 0 changed rows, and the log has no error. Probably, it skipped rows that a constraint "
                + "rejects.")
        #expect(
            try reason("INSERT INTO entry VALUES (1, 2) ON CONFLICT DO NOTHING")?
                .contains("constraint") == true)
        #expect(try reason("INSERT INTO entry VALUES (1, 2)") == nil)
    }

    @Test func updatesThatUndoEachOther() throws {
        let steps = [
            "UPDATE account SET balance = balance - 3 WHERE id = 1",
            "UPDATE account SET balance = balance + 3 WHERE id = 1",
        ]
        let found = try findings(
            .noEffect,
            [Self.entries, steps.joined(separator: ";") + "; INSERT INTO entry VALUES (1, 1)"],
            log: [
                ("BEGIN", 0), (Self.entries, 0), ("COMMIT", 0), ("BEGIN", 0), (steps[0], 1),
                (steps[1], 1),
            ]
                + [("INSERT INTO entry VALUES (1, 1)", 1), ("COMMIT", 0)])
        #expect(found.map(\.title) == ["Transaction 2 wrote account, but left it as it was"])
        #expect(found.first?.explanation.contains("had the new values already") == false)
    }

    @Test func aCountThatIncludesTriggersIsNotTheTables() throws {
        let trigger =
            "CREATE TRIGGER audit AFTER UPDATE ON account BEGIN INSERT INTO entry (n) VALUES (1); END"
        let same = "UPDATE account SET balance = 10 WHERE id = 1"
        let found = try findings(
            .noEffect, [Self.entries + ";" + trigger, same],
            log: [("BEGIN", 0), (Self.entries, 0), (trigger, 0), ("COMMIT", 0)] + log([(same, 2)]))
        #expect(found.count == 1)
        #expect(
            found.first?.explanation
                == "Transaction 2 left account as it was. SQLite's count of 2 changed rows includes those of triggers "
                + "and foreign keys.")
    }

    /// The rows that a statement changed itself don't include those of triggers.
    @Test func theOwnRowsOfAStatementAreCounted() throws {
        let trigger =
            "CREATE TRIGGER audit AFTER UPDATE ON account BEGIN INSERT INTO entry (n) VALUES (1); END"
        let (begin, insert): (Log, String) = ([("BEGIN", 0)], "INSERT INTO entry (n) VALUES (1)")
        func found(_ code: Finding.Code, _ log: Log, at index: Int, own: Int) throws -> Finding? {
            try findings(
                code, [Self.entries + ";" + trigger, "UPDATE account SET balance = 10 WHERE id = 1"],
                log: log, facts: [index: "\"ownChanges\":\(own)"]
            ).first
        }
        let inserted = begin + [(insert, 44)]
        #expect(
            try found(.rolledBack, inserted + [("ROLLBACK", 0)], at: 1, own: 10)?.title
                == "10 changes in entry were rolled back")
        #expect(
            try found(.openTransaction, inserted, at: 1, own: 10)?.title
                == "Not committed: 10 rows inserted into entry")
        #expect(
            try found(.broadWrite, [("UPDATE account SET balance = 0", 4)], at: 0, own: 2)?.title
                == "A statement without WHERE updated 2 rows of account")
        let same = log([
            (Self.entries + ";" + trigger, 0), ("UPDATE account SET balance = 10 WHERE id = 1", 2),
        ])
        #expect(
            try found(.noEffect, same, at: 4, own: 1)?.explanation
                == "It matched 1 row of account, which had the new values already.")
    }

    // MARK: - broad-write

    private static let cascade = """
        CREATE TABLE parent(id INTEGER PRIMARY KEY);
        CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent(id) ON DELETE CASCADE);
        INSERT INTO parent VALUES (1), (2), (3), (4);
        INSERT INTO child VALUES (1, 1), (2, 1), (3, 1), (4, 1), (5, 1)
        """

    @Test func cascadesAreNotCountedAsRowsOfTheTable() throws {
        let delete = "DELETE FROM parent WHERE id = 1"
        let found = try findings(
            .broadWrite, [Self.cascade, "DELETE FROM child; " + delete],
            log: [(delete, 6)])
        #expect(found.isEmpty)
    }

    @Test func aWriteThatWasRolledBackIsNotBroad() throws {
        let all = "UPDATE account SET balance = 0"
        let kept: Log = [("BEGIN", 0), (all, 2), ("COMMIT", 0)]
        #expect(try findings(.broadWrite, [Self.entries, all], log: kept).count == 1)
        let undone: Log = [("BEGIN", 0), (all, 2), ("ROLLBACK", 0)]
        #expect(try findings(.broadWrite, [Self.entries], log: undone).isEmpty)
    }

    @Test func anUpdateThatComputesEachValueIsNeverLikely() throws {
        func confidence(_ update: String) throws -> Finding.Confidence? {
            try findings(
                .broadWrite, [Self.entries, update],
                log: log([(Self.entries, 0), (update, 2)]) + [("SELECT balance FROM account", 0)],
                message: equal(12, 10)
            ).first?.confidence
        }
        #expect(try confidence("UPDATE account SET balance = 12") == .likely)
        #expect(try confidence("UPDATE account SET balance = balance + 2") == .possible)
    }

    /// An assertion about the rows that the condition left out says nothing about those that it matched.
    @Test func aConditionThatMatchesMostRowsIsNeverLikely() throws {
        let fill = "INSERT INTO entry VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)"
        let update = "UPDATE entry SET n = 1 WHERE id < 6"
        let found = try findings(
            .broadWrite, [Self.entries, fill, update],
            log: log([(Self.entries, 0), (fill, 6), (update, 5)]) + [("SELECT sum(n) FROM entry", 0)],
            message: equal(5, 0))
        #expect(found.map(\.title) == ["A statement updated 5 rows of entry"])
        #expect(found.map(\.confidence) == [.possible])
    }

    @Test func fewRowsOfATableAreNotBroad() throws {
        let fill =
            "INSERT INTO entry WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT 40) "
            + "SELECT i, i FROM r"
        func count(_ rows: Int, _ value: String = "id % 2") throws -> Int {
            let update = "UPDATE entry SET n = \(value) WHERE id <= \(rows)"
            return try findings(
                .broadWrite, [Self.entries + ";" + fill, update], log: log([(update, rows)])
            ).count
        }
        #expect(try count(4) == 0)
        #expect(try count(20) == 1)
        #expect(try count(20, "n - 1") == 0)
    }

    // MARK: - duplicate-rows

    private func duplicates(_ columns: String, _ rows: String, _ message: String) throws -> [Finding] {
        let create = "CREATE TABLE sale(id INTEGER PRIMARY KEY, \(columns))"
        return try findings(
            .duplicateRows, ["\(create); INSERT INTO sale VALUES \(rows)"],
            log: [(create, 0), ("INSERT INTO sale VALUES \(rows)", 1), ("SELECT cents FROM sale", 0)],
            message: message)
    }

    @Test func columnsThatAreNotComparedAreNamed() throws {
        let found = try duplicates(
            "reference TEXT, cents INTEGER, createdAt INTEGER",
            "(1, 'r1', 20, 1), (2, 'r2', 30, 2), (3, 'r2', 30, 3), (4, 'r3', 40, 4)", equal(120, 90))
        #expect(found.map(\.title) == ["2 rows of sale are equal except for the key and createdAt"])
        #expect(found.first?.confidence == .likely)
    }

    @Test func equalRowsWithoutAnIdentifyingValueArePossible() throws {
        let found = try duplicates(
            "product INTEGER, cents INTEGER",
            "(1, 7, 20), (2, 8, 30), (3, 8, 30), (4, 7, 31), (5, 9, 20)",
            equal(131, 101))
        #expect(found.map(\.title) == ["2 rows of sale are equal except for the key"])
        #expect(found.first?.confidence == .possible)
    }

    @Test func aTableWhoseRowsMostlyRepeatHasNoDuplicates() throws {
        #expect(
            try duplicates("a, cents", "(1, 1, 2), (2, 1, 2), (3, 1, 2), (4, 2, 3)", "m").isEmpty)
    }

    @Test func allRowsOfAGroupAreCounted() throws {
        let equalRows = (1...12).map { "(\($0), 1, 2)" } + (13...30).map { "(\($0), \($0), 2)" }
        #expect(
            try duplicates("a, cents", equalRows.joined(separator: ","), "m").map(\.title) == [
                "12 rows of sale are equal except for the key"
            ])
    }

    // MARK: - lost-update

    @Test(arguments: [("balance FROM account", Finding.Confidence.likely), ("n FROM entry", .possible)])
    func aLostUpdateIsLikelyIfTheLastQueryReadsItsTable(
        query: String, confidence: Finding.Confidence
    ) throws {
        let read = "SELECT balance FROM account WHERE id = 1"
        let write = "UPDATE account SET balance = ? WHERE id = 1"
        let found = try findings(
            .lostUpdate,
            [
                Self.entries, "UPDATE account SET balance = 11 WHERE id = 1",
                "UPDATE account SET balance = 12 WHERE id = 1",
            ],
            log: [
                ("BEGIN", 0), (Self.entries, 0), ("COMMIT", 0), (read, 0), (read, 0), ("BEGIN", 0),
                (write, 1), ("COMMIT", 0), ("BEGIN", 0), (write, 1), ("COMMIT", 0), (read, 0),
                ("SELECT \(query)", 0),
            ], facts: connections([1, 1, 1, 1, 2, 1, 1, 1, 2, 2, 2, 1, 1]))
        #expect(found.map(\.confidence) == [confidence])
    }

    // MARK: - constraint-failed

    private func constraint(_ next: Log, sql: String = "INSERT INTO entry VALUES (1, 2)") throws
        -> Finding?
    {
        try findings(
            .constraintFailed, [Self.entries + "; INSERT INTO entry VALUES (1, 5)"],
            log: [(sql, 0)] + next,
            facts: [0: #""error":{"code":1555,"message":"UNIQUE constraint failed: entry.id"}"#]
        ).first
    }

    @Test func anErrorThatAnUpdateOfTheTableFollowsIsHandled() throws {
        let handled = try constraint([(update, 1)])
        #expect(handled?.explanation == "The statement failed, and then an UPDATE changed the table.")
        #expect(handled?.likelyFrom == nil)
        for next in [[(update, 0)], [("UPDATE account SET balance = 1", 2)], []] as [Log] {
            let ignored = try constraint(next)
            #expect(ignored?.explanation.contains("may have ignored it") == true)
            #expect(ignored?.likelyFrom == 60)
        }
    }

    @Test func theExistingRowOfAUniqueConstraintOverTwoColumns() throws {
        let nights =
            "CREATE TABLE night(id INTEGER PRIMARY KEY, roomId INTEGER, day TEXT, UNIQUE (roomId, day)); "
            + "INSERT INTO night VALUES (1, 3, '2026-02-04'), (2, 3, '2026-02-05'), (3, 4, '2026-02-05')"
        let found = try findings(
            .constraintFailed, [nights],
            log: [("INSERT INTO night (roomId, day) VALUES (3, '2026-02-05')", 0)],
            facts: [
                0: #"""
                "error":{"code":2067,"message":"UNIQUE constraint failed: night.roomId, night.day"}
                """#
            ])
        #expect(found.first?.rows.map(\.text) == ["night id = 2 present: roomId 3, day '2026-02-05'"])
    }

    // MARK: - unexpected-delete

    @Test(arguments: [(2, 1), (1, 0)])
    func replaceDeletesARowThatRefersToAnotherOne(user: Int, count: Int) throws {
        let create =
            "CREATE TABLE preference(id INTEGER PRIMARY KEY, userId INTEGER, key TEXT UNIQUE, value)"
        let replace =
            "INSERT OR REPLACE INTO preference (userId, key, value) VALUES (\(user), 'theme', 'dark')"
        let first =
            "INSERT INTO preference (userId, key, value) VALUES (1, 'size', 9), (1, 'theme', 'x')"
        let others = "INSERT INTO preference (userId, key, value) VALUES (1, 'b', 9)"
        let found = try findings(
            .unexpectedDelete, [create, first, others, replace],
            log: log([(create, 0), (first, 2), (others, 1), (replace, 1)]))
        #expect(found.count == count)
        guard let finding = found.first else { return }
        #expect(finding.title == "REPLACE deleted a row of preference that has another userId")
        #expect(finding.rows.map(\.change) == [.deleted, .inserted])
        #expect(finding.confidence == .possible && finding.transaction == 4)
    }
}
