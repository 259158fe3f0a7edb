import FailureArtifactsBundle
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct LoggedTransactionsTests {
    private func changes(
        _ table: String, inserted: Int64 = 0, updated: Int64 = 0, deleted: Int64 = 0
    ) -> StateChanges {
        StateChanges(
            tables: [.init(name: table, inserted: inserted, updated: updated, deleted: deleted)])
    }

    /// Returns the statements that are found for the transactions.
    private func found(
        _ log: [(sql: String, changes: Int?)], _ transactions: [StateChanges], isWhole: Bool = true,
        connections: [Int] = [], errors: [Int: Int] = [:]
    ) throws -> [[String]] {
        let lines = log.enumerated().map { index, statement in
            let connection = connections.isEmpty ? 1 : connections[index]
            let error = errors[index].map { "\"error\":{\"code\":\($0),\"message\":\"\"}," } ?? ""
            return "{\"at\":\"\",\(statement.changes.map { "\"changes\":\($0)," } ?? "")"
                + "\"connection\":\(connection),\(error)\"order\":\(index + 1),\"phase\":\"test\","
                + "\"sql\":\"\(statement.sql)\",\"thread\":\"\"}\n"
        }
        let records = try #require(StatementRecord.records(in: Array(lines.joined().utf8)))
        return LoggedTransactions(records).statements(
            of: transactions.map { .init(pages: 1, changes: $0) }, isWhole: isWhole
        ).map { $0.map(\.sql) }
    }

    private let insert = "INSERT INTO t VALUES (1)"
    private let update = "UPDATE t SET a = a + 1"

    @Test func theLogReachesBackOnlySoFar() throws {
        let inserted = changes("t", inserted: 1)
        #expect(
            try found([(insert, 1), (insert, 1)], [inserted, inserted, inserted])
                == [[], [insert], [insert]])
        // The transaction of this COMMIT began before the log.
        #expect(
            try found([(insert, 1), ("COMMIT", 0), (insert, 1)], [inserted, inserted]) == [[], [insert]])
        #expect(try found([], [inserted]) == [[]])
        #expect(try found([(insert, 1)], []) == [])
    }

    /// The number of rows of a statement, and whether the history is whole, don't matter.
    @Test(arguments: [true, false]) func twoTransactionsAreEnough(isWhole: Bool) throws {
        let rows = "INSERT INTO t VALUES (1), (2), (3)"
        let transactions = [changes("t", inserted: 3), changes("t", updated: 1)]
        #expect(
            try found([(rows, 3), (update, 1)], transactions, isWhole: isWhole) == [[rows], [update]])
        #expect(
            try found([(rows, nil), (update, nil)], transactions, isWhole: isWhole)
                == [[rows], [update]])
        // The log doesn't agree with the history.
        #expect(try found([(rows, 2), (update, 1)], transactions, isWhole: isWhole) == [[], []])
        // A row that a trigger deletes at once leaves no change, but its pages are written.
        var undone = StateChanges()
        undone.withSideEffects = ["t"]
        #expect(
            try found([(insert, 2), (update, 1)], [undone, transactions[1]]) == [[insert], [update]])
    }

    @Test func aRowWithAnotherKeyCountsOnce() throws {
        let moved = changes("t", inserted: 2, deleted: 2)
        let wal = "PRAGMA journal_mode=WAL"
        #expect(try found([(wal, 0), (update, 2)], [moved]) == [[update]])
        #expect(try found([(wal, 0), (update, 1)], [moved]) == [[]])
        #expect(try found([(wal, 0), (insert, 2)], [moved]) == [[]])
    }

    /// Triggers and the actions of foreign keys change other tables, and can leave the statement's own one unchanged.
    @Test func tablesWithSideEffectsMayBeUnchanged() throws {
        var audited = changes("audit", inserted: 1)
        #expect(try found([(insert, 2)], [audited]) == [[]])
        audited.withSideEffects = ["t"]
        #expect(try found([(insert, 2)], [audited]) == [[insert]])
        #expect(try found([("INSERT INTO other VALUES (1)", 2)], [audited]) == [[]])
        var marked = changes("t", updated: 1)
        #expect(try found([("DELETE FROM t", 1)], [marked]) == [[]])
        marked.withSideEffects = ["t"]
        #expect(try found([("DELETE FROM t", 1)], [marked]) == [["DELETE FROM t"]])
    }

    @Test func definitionsChangeOtherObjects() throws {
        func schema(_ change: StateChanges.Object.Change, _ type: String, _ names: String...)
            -> StateChanges
        {
            StateChanges(schema: names.map { .init(change: change, type: type, name: $0) })
        }
        let rename = "ALTER TABLE t RENAME COLUMN a TO b"
        #expect(try found([(rename, 0)], [schema(.changed, "trigger", "t", "x")]) == [[rename]])
        #expect(try found([(rename, 0)], [schema(.dropped, "trigger", "t", "x")]) == [[]])
        let drop = "DROP TABLE t"
        #expect(try found([(drop, 0)], [schema(.dropped, "index", "t", "x")]) == [[drop]])
        #expect(try found([(drop, 0)], [schema(.dropped, "table", "t", "x")]) == [[]])
        let create = "CREATE VIRTUAL TABLE t USING fts5(a)"
        var created = schema(.created, "table", "t")
        created.tables = changes("t_data", inserted: 2).tables
        #expect(try found([(create, 2)], [created]) == [[create]])
        created.tables = changes("u_data", inserted: 2).tables
        #expect(try found([(create, 2)], [created]) == [[]])
    }

    @Test func onlyItsPragmaSetsTheUserVersion() throws {
        var versioned = changes("t", inserted: 1)
        versioned.userVersion = 3
        let pragma = "PRAGMA user_version = 3"
        #expect(
            try found([("BEGIN", 0), (pragma, 0), (insert, 1), ("COMMIT", 0)], [versioned])
                == [[pragma, insert]])
        #expect(try found([(insert, 1)], [versioned]) == [[]])
        let other = "PRAGMA application_id = 3"
        #expect(
            try found([("BEGIN", 0), (other, 0), (insert, 1), ("COMMIT", 0)], [versioned]) == [[]])
    }

    /// `SAVEPOINT` before a savepoint's name is optional.
    @Test(arguments: ["", "SAVEPOINT "]) func whatASavepointUndoesIsLeftOut(_ keyword: String) throws {
        let log = [
            ("BEGIN", 0), ("SAVEPOINT s", 0), (update, 1), ("ROLLBACK TO \(keyword)s", 0),
            ("RELEASE \(keyword)s", 0), (insert, 1), ("COMMIT", 0),
        ]
        #expect(try found(log, [changes("t", inserted: 1)]) == [[insert]])
    }

    /// An update to the same value may write nothing, but SQLite counts its rows as changed.
    @Test func whatMayHaveWrittenNothingLeavesDoubt() throws {
        let updated = changes("t", updated: 1)
        #expect(try found([(update, 1), (update, 1)], [updated], isWhole: false) == [[]])
        #expect(try found([(insert, 1), (update, 1)], [updated], isWhole: false) == [[update]])
        // The number of statements equals the number of transactions since the store switched to WAL.
        let wal = "PRAGMA journal_mode=WAL"
        #expect(
            try found([(wal, 0), (update, 1), (update, 1)], [updated, updated]) == [[update], [update]])
        #expect(try found([(wal, 0), (update, 1), (update, 1)], [updated]) == [[]])
    }

    @Test func whatDoesNotFitEndsIt() throws {
        let inserted = changes("t", inserted: 1)
        // Another process or a connection without a log wrote the last transaction.
        #expect(
            try found([(insert, 1), (insert, 1)], [inserted, changes("u", inserted: 1)]) == [[], []])
        #expect(try found([(insert, 1)], [changes("t", inserted: 2)]) == [[]])
        #expect(try found([(insert, 1)], [changes("t", deleted: 1)]) == [[]])
        #expect(try found([("UPDATE t SET a = 1", 1)], [inserted]) == [[]])
        // Triggers can change other tables.
        var more = changes("t", inserted: 1)
        more.tables.append(.init(name: "audit", inserted: 1))
        #expect(try found([(insert, 2)], [more]) == [[insert]])
    }

    @Test func whatWasRolledBackOrFailedIsPassedOver() throws {
        let inserted = changes("t", inserted: 1)
        let rolledBack: [(sql: String, changes: Int?)] = [
            ("BEGIN", 0), ("INSERT INTO t VALUES (7)", 1), ("ROLLBACK", 0),
        ]
        #expect(try found([(insert, 1)] + rolledBack, [inserted]) == [[insert]])
        #expect(
            try found([(insert, 1), ("INSERT INTO t VALUES (2)", 0)], [inserted], errors: [1: 2067])
                == [[insert]])
        // After a full disk, the remaining state is unknown.
        #expect(try found([(insert, 1), (insert, 0)], [inserted], errors: [1: 13]) == [[]])
        #expect(
            try found(
                [
                    ("BEGIN", 0), (insert, 1), ("SAVEPOINT s", 0), (insert, 1), ("ROLLBACK TO s", 0),
                    ("COMMIT", 0),
                ],
                [inserted]) == [[insert]])
    }

    /// GRDB does this when it opens a pool.
    @Test func whatIsCreatedAndDroppedAgainIsATransaction() throws {
        let passing: [(sql: String, changes: Int?)] = [
            ("BEGIN", 0), ("CREATE TABLE x(a)", 0), ("DROP TABLE x", 0), ("COMMIT", 0),
        ]
        #expect(
            try found(passing + [(insert, 1)], [StateChanges(), changes("t", inserted: 1)])
                == [["CREATE TABLE x(a)", "DROP TABLE x"], [insert]])
        #expect(try found([("CREATE TABLE x(a)", 0)], [StateChanges()]) == [[]])
    }

    @Test func whatHadToWaitInVainIsPassedOver() throws {
        let inserted = changes("t", inserted: 1)
        #expect(
            try found(
                [(insert, 1), ("BEGIN IMMEDIATE", 0), (insert, 0)], [inserted], errors: [1: 5, 2: 517])
                == [[insert]])
        #expect(
            try found(
                [("BEGIN", 0), (insert, 1), (insert, 0), ("COMMIT", 0)], [inserted], errors: [2: 5]) == [
                    []
                ])
    }

    @Test func otherDatabasesOfTheConnectionArePassedOver() throws {
        let inserted = changes("t", inserted: 1)
        #expect(
            try found(
                [(insert, 1), ("INSERT INTO temp.x VALUES (1)", 1), ("CREATE TEMP TABLE y(a)", 0)],
                [inserted])
                == [[insert]])
    }

    @Test func writersThatOverlapLeaveDoubt() throws {
        let inserted = changes("t", inserted: 1)
        let log: [(sql: String, changes: Int?)] = [
            ("BEGIN", 0), ("INSERT INTO t VALUES (1)", 1), ("INSERT INTO t VALUES (2)", 1),
            ("COMMIT", 0),
        ]
        #expect(
            try found(log, [inserted, inserted], connections: [1, 1, 2, 1]) == [[], []])
        #expect(
            try found(log, [changes("t", inserted: 2)], connections: [1, 1, 1, 1])
                == [["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"]])
    }

    /// A log tells how many pages each statement wrote, and how the data version grew.
    @Test func pagesTellTransactionsApart() throws {
        func found(
            _ log: [(pages: Int?, versions: Int?)], _ history: [Int], connections: [UInt64] = []
        ) -> [[UInt64]] {
            let records = log.enumerated().map { index, statement in
                let connection = connections.isEmpty ? 1 : connections[index]
                var record = StatementRecord(
                    at: "", changes: 1, connection: connection, order: UInt64(index + 1), phase: .test,
                    sql: update, thread: "\(connection)")
                record.pages = statement.pages
                record.versions = statement.versions
                return record
            }
            let transactions = history.map {
                LoggedTransactions.Transaction(pages: $0, changes: changes("t", updated: 1))
            }
            return LoggedTransactions(records).statements(of: transactions, isWhole: false)
                .map { $0.map(\.order) }
        }
        // The second one wrote nothing.
        #expect(found([(1, nil), (0, nil), (1, nil)], [1, 1]) == [[1], [3]])
        // The second one's pages are unknown, and it may have written nothing.
        #expect(found([(2, nil), (nil, nil), (1, nil)], [2, 3, 1]) == [[1], [2], [3]])
        #expect(found([(2, nil), (nil, nil), (1, nil)], [2, 1]) == [[], [3]])
        // The pages contradict the log.
        #expect(found([(2, nil), (1, nil)], [1, 2]) == [[], []])
        // Either connection may have waited for the other.
        #expect(found([(1, nil), (1, nil)], [1, 1], connections: [1, 2]) == [[], []])
        #expect(found([(1, nil), (2, nil)], [2, 1], connections: [1, 2]) == [[2], [1]])
        // No other connection committed between the statements of a connection, or another one did.
        #expect(
            found([(1, nil), (1, 1), (1, nil), (1, 1)], [1, 1, 1, 1], connections: [1, 1, 2, 2])
                == [[1], [2], [3], [4]])
        #expect(
            found([(1, nil), (1, 2), (1, nil), (1, 1)], [1, 1, 1, 1], connections: [1, 1, 2, 2])
                == [[1], [3], [4], [2]])
        // Another process committed between the second one and the third one.
        #expect(
            found([(1, nil), (2, 1), (1, 2), (3, 1)], [1, 2, 4, 1, 3]) == [[1], [2], [], [3], [4]])
    }

    @Test(arguments: [
        ("insert or ignore into \\\"T\\\"(a) values (1)", "t"), ("REPLACE INTO main.t VALUES (1)", "t"),
        ("/* x */ -- y\\n UPDATE OR IGNORE [my t] SET a = 1", "my t"), ("DELETE FROM `t` WHERE 1", "t"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", nil), ("INSERT", nil), ("/*", nil),
        ("'", nil),
    ])
    func theTableIsRead(sql: String, table: String?) {
        let plain = sql.replacing("\\\"", with: "\"").replacing("\\n", with: "\n")
        #expect(StatementOutline(plain).table == table)
    }
}
