import FailureArtifactsBundle
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct LoggedTransactionTests {
    /// Creates a log from texts such as `1: COMMIT`, with the number of a connection.
    ///
    /// After the text, `!` marks a statement that failed, and `?` a `COMMIT` that left its transaction open.
    private func log(_ texts: [String]) throws -> [Timeline.Statement] {
        try texts.enumerated().map { index, text in
            let parts = text.split(separator: ":", maxSplits: 1)
            let sql = parts[1].drop { $0 == " " }.filter { $0 != "!" && $0 != "?" }
            let outline = StatementOutline(sql)
            let isWrite = [.insert, .update, .delete].contains(outline.kind)
            var record = StatementRecord(
                at: "", changes: isWrite ? 1 : 0, connection: try #require(UInt64(parts[0])),
                error: text.hasSuffix("!") ? .init(code: 5, message: "") : nil,
                order: UInt64(index + 1), phase: .test, sql: sql, thread: "")
            record.leftOpen = text.hasSuffix("?") ? true : nil
            return Timeline.Statement(record)
        }
    }

    private func ends(_ texts: [String]) throws -> [String] {
        LoggedTransaction.all(in: try log(texts)).map { "\($0.statements) \($0.end)" }
    }

    @Test func eachHasItsOwnStatementsAndEnd() throws {
        #expect(
            try ends([
                "1: BEGIN", "2: BEGIN IMMEDIATE", "1: INSERT INTO t VALUES (1)",
                "3: INSERT INTO t VALUES (9)",
                "2: DELETE FROM t", "1: COMMIT", "2: ROLLBACK", "1: begin", "1: SELECT 1",
            ]) == [
                "[0, 2, 5] committed", "[1, 4, 6] rolledBack", "[3] committed", "[7, 8] open",
            ])
        #expect(try ends(["1: COMMIT", "1: ROLLBACK", "1: RELEASE a", "1: SELECT 1"]) == [])
    }

    @Test func aSavepointBeginsOneUnlessOneIsOpen() throws {
        #expect(
            try ends([
                "1: SAVEPOINT a", "1: SAVEPOINT b", "1: RELEASE b", "1: DELETE FROM t", "1: RELEASE a",
                "1: DELETE FROM t", "1: BEGIN", "1: SAVEPOINT a", "1: RELEASE a", "1: DELETE FROM t",
            ]) == ["[0, 1, 2, 3, 4] committed", "[5] committed", "[6, 7, 8, 9] open"])
        #expect(
            try ends([
                "1: SAVEPOINT a", "1: SAVEPOINT b", "1: ROLLBACK TO a", "1: RELEASE b!", "1: RELEASE a",
            ])
                == ["[0, 1, 2, 3, 4] committed"])
    }

    @Test func statementsThatFailDontBeginOrCommit() throws {
        #expect(try ends(["1: BEGIN IMMEDIATE!", "1: INSERT INTO t VALUES (1)"]) == ["[1] committed"])
        #expect(try ends(["1: BEGIN", "1: DELETE FROM t", "1: COMMIT!"]) == ["[0, 1, 2] rolledBack"])
        #expect(
            try ends(["1: BEGIN", "1: DELETE FROM t", "1: COMMIT?", "1: ROLLBACK", "1: SELECT 1"])
                == ["[0, 1, 2, 3] rolledBack"])
        #expect(
            try ends(["1: BEGIN", "1: DELETE FROM t", "1: COMMIT?", "1: COMMIT"])
                == ["[0, 1, 2, 3] committed"])
    }

    private func uncommitted(_ texts: [String], beforeRollback: Bool) throws -> [Int] {
        let log = try log(texts)
        return LoggedTransaction.all(in: log).uncommittedStatements(
            beforeRollback: beforeRollback, in: log)
    }

    @Test func theOpenTransactionIsTheOneThatWrote() throws {
        let writes = ["1: BEGIN", "1: DELETE FROM t", "1: SELECT 1", "2: BEGIN", "2: SELECT 1"]
        #expect(try uncommitted(writes, beforeRollback: false) == [1])
        #expect(try uncommitted(writes + ["2: DELETE FROM u"], beforeRollback: false) == [])
        #expect(try uncommitted(writes + ["1: COMMIT"], beforeRollback: false) == [])
        #expect(try uncommitted(writes + ["1: COMMIT?"], beforeRollback: false) == [1])
    }

    @Test func savepointsUndoStatements() throws {
        let start = [
            "1: BEGIN", "1: DELETE FROM a", "1: SAVEPOINT s", "1: DELETE FROM b", "1: ROLLBACK TO s",
        ]
        #expect(try uncommitted(start + ["1: DELETE FROM c"], beforeRollback: false) == [1, 5])
        #expect(
            try uncommitted(start + ["1: DELETE FROM c", "1: ROLLBACK"], beforeRollback: true) == [
                1, 5,
            ])
        #expect(
            try uncommitted(["1: BEGIN", "1: DELETE FROM a", "1: ROLLBACK TO x"], beforeRollback: false)
                == [])
    }

    @Test func theFirstOfSeveralRollbacksLosesTheMost() throws {
        let start = ["1: BEGIN", "1: DELETE FROM a", "1: SAVEPOINT s", "1: DELETE FROM b"]
        for end in [
            ["1: ROLLBACK"], ["1: ROLLBACK TO s"], ["1: ROLLBACK TO s", "1: RELEASE s", "1: ROLLBACK"],
            ["1: COMMIT?", "1: ROLLBACK"], ["1: COMMIT?", "1: ROLLBACK", "2: SELECT 1"],
        ] {
            #expect(try uncommitted(start + end, beforeRollback: true) == [1, 3], "\(end)")
        }
        // An earlier rollback isn't the last one, and one that lost nothing is.
        let later = start + ["1: ROLLBACK", "1: BEGIN", "1: DELETE FROM c", "1: ROLLBACK"]
        #expect(try uncommitted(later, beforeRollback: true) == [6])
        #expect(
            try uncommitted(later + ["2: BEGIN", "2: SELECT 1", "2: ROLLBACK"], beforeRollback: true)
                == [])
        // Closing a connection inside a transaction rolls back, too.
        #expect(try uncommitted(later + ["2: BEGIN", "2: DELETE FROM d"], beforeRollback: true) == [9])
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
                    sql: "UPDATE t SET a = 1", thread: "\(connection)")
                record.pages = statement.pages
                record.versions = statement.versions
                return Timeline.Statement(record)
            }
            let changes = StateChanges(tables: [.init(name: "t", updated: 1)])
            let steps = history.enumerated().map {
                Timeline.Step(number: $0 + 1, pages: $1, changes: changes, tables: [])
            }
            return LoggedTransaction.all(in: records).statements(of: steps, in: records)
                .map { $0.map { records[$0].order } }
        }
        // The second one wrote nothing.
        #expect(found([(1, nil), (0, nil), (1, nil)], [1, 1]) == [[1], [3]])
        // The second one's pages are unknown, and it may have written nothing.
        #expect(found([(2, nil), (nil, nil), (1, nil)], [2, 1]) == [[], [3]])
        // The pages contradict the log.
        #expect(found([(2, nil), (1, nil)], [1, 2]) == [[], []])
        // Either connection may have waited for the other.
        #expect(found([(1, nil), (1, nil)], [1, 1], connections: [1, 2]) == [[], []])
        #expect(found([(1, nil), (2, nil)], [2, 1], connections: [1, 2]) == [[], []])
        // No other connection committed between the statements of a connection, or another process did.
        #expect(
            found([(1, nil), (2, 1), (3, nil), (4, 1)], [1, 2, 3, 4], connections: [1, 1, 2, 2])
                == [[1], [2], [3], [4]])
        #expect(
            found([(1, nil), (2, 3), (3, nil), (4, 1)], [1, 2, 3, 4], connections: [1, 1, 2, 2])
                == [[], [], [], []])
        #expect(
            found([(1, nil), (2, 1), (1, 2), (3, 1)], [1, 2, 4, 1, 3]) == [[], [], [], [], []])
    }

    /// The recorder notes which statement ended which transaction of the history.
    @Test func numbersOfTheRecorderComeFirst() throws {
        var log = try log([
            "1: BEGIN", "1: DELETE FROM t", "2: DELETE FROM u", "1: COMMIT",
            "1: INSERT INTO t VALUES (1)",
        ])
        for (index, number) in [2: 1, 3: 2, 4: 4] { log[index].record.commits = number }
        let steps = (1...4).map {
            Timeline.Step(number: $0, pages: 1, changes: StateChanges(), tables: [])
        }
        #expect(LoggedTransaction.all(in: log).statements(of: steps, in: log) == [[2], [1], [], [4]])
    }
}
