import FailureArtifactsBundle
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct ConnectionTransactionTests {
    /// Creates a log from texts such as `1: COMMIT`, with the number of a connection.
    ///
    /// After the text, `!` marks a statement that failed, and `?` a `COMMIT` that left its transaction open.
    private func log(_ texts: [String]) throws
        -> [(record: StatementRecord, outline: StatementOutline)]
    {
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
            return (record, outline)
        }
    }

    private func ends(_ texts: [String]) throws -> [String] {
        ConnectionTransaction.all(in: try log(texts)).map { "\($0.statements) \($0.end)" }
    }

    @Test func eachHasItsOwnStatementsAndEnd() throws {
        #expect(
            try ends([
                "1: BEGIN", "2: BEGIN IMMEDIATE", "1: INSERT INTO t VALUES (1)",
                "3: INSERT INTO t VALUES (9)",
                "2: DELETE FROM t", "1: COMMIT", "2: ROLLBACK", "1: begin", "1: SELECT 1",
            ]) == ["[0, 2, 5] committed", "[1, 4, 6] rolledBack", "[7, 8] open"])
        #expect(try ends(["1: COMMIT", "1: ROLLBACK", "1: RELEASE a", "1: SELECT 1"]) == [])
    }

    @Test func aSavepointBeginsOneUnlessOneIsOpen() throws {
        #expect(
            try ends([
                "1: SAVEPOINT a", "1: SAVEPOINT b", "1: RELEASE b", "1: DELETE FROM t", "1: RELEASE a",
                "1: DELETE FROM t", "1: BEGIN", "1: SAVEPOINT a", "1: RELEASE a", "1: DELETE FROM t",
            ]) == ["[0, 1, 2, 3, 4] committed", "[6, 7, 8, 9] open"])
        #expect(
            try ends([
                "1: SAVEPOINT a", "1: SAVEPOINT b", "1: ROLLBACK TO a", "1: RELEASE b!", "1: RELEASE a",
            ])
                == ["[0, 1, 2, 3, 4] committed"])
    }

    @Test func statementsThatFailDontBeginOrCommit() throws {
        #expect(try ends(["1: BEGIN IMMEDIATE!", "1: INSERT INTO t VALUES (1)"]) == [])
        #expect(try ends(["1: BEGIN", "1: DELETE FROM t", "1: COMMIT!"]) == ["[0, 1, 2] rolledBack"])
        #expect(
            try ends(["1: BEGIN", "1: DELETE FROM t", "1: COMMIT?", "1: ROLLBACK", "1: SELECT 1"])
                == ["[0, 1, 2, 3] rolledBack"])
        #expect(
            try ends(["1: BEGIN", "1: DELETE FROM t", "1: COMMIT?", "1: COMMIT"])
                == ["[0, 1, 2, 3] committed"])
    }

    private func uncommitted(_ texts: [String], beforeRollback: Bool) throws -> [Int] {
        UncommittedTransaction(in: try log(texts)).statements(beforeRollback: beforeRollback)
    }

    @Test func theOpenTransactionIsTheOneThatWrote() throws {
        let writes = ["1: BEGIN", "1: DELETE FROM t", "1: SELECT 1", "2: BEGIN", "2: SELECT 1"]
        #expect(try uncommitted(writes, beforeRollback: false) == [1, 2])
        #expect(try uncommitted(writes + ["2: DELETE FROM u"], beforeRollback: false) == [])
        #expect(try uncommitted(writes + ["1: COMMIT"], beforeRollback: false) == [])
        #expect(try uncommitted(writes + ["1: COMMIT?"], beforeRollback: false) == [1, 2, 5])
        #expect(
            try uncommitted(["1: BEGIN", "1: DELETE FROM t!", "1: SELECT 1"], beforeRollback: true) == [
                1, 2,
            ])
    }

    @Test func savepointsUndoStatements() throws {
        let start = [
            "1: BEGIN", "1: DELETE FROM a", "1: SAVEPOINT s", "1: DELETE FROM b", "1: ROLLBACK TO s",
        ]
        #expect(try uncommitted(start + ["1: DELETE FROM c"], beforeRollback: false) == [1, 2, 5])
        #expect(
            try uncommitted(start + ["1: DELETE FROM c", "1: ROLLBACK"], beforeRollback: true) == [
                1, 2, 5,
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
            #expect(try uncommitted(start + end, beforeRollback: true) == [1, 2, 3], "\(end)")
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
}
