import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// Ties the transactions of real histories to the statements that SQLite's own hooks reported.
@Suite struct TransactionStatementsTests {
    private struct Result: CustomStringConvertible {
        var transactions = 0
        var tied = 0
        var wrong: [String] = []

        var description: String { "\(tied) of \(transactions), \(wrong.count) wrong" }

        static func += (left: inout Result, right: Result) {
            left.transactions += right.transactions
            left.tied += right.tied
            left.wrong += right.wrong
        }
    }

    private func check(
        _ store: RecordedStore, _ log: [StatementRecord], _ history: [Timeline.Step]
    ) throws -> Result {
        let commits = store.commits.suffix(history.count)
        try #require(commits.count == history.count)
        let statements = log.sorted { $0.order < $1.order }.map { Timeline.Statement($0) }
        let found = LoggedTransaction.all(in: statements).statements(
            of: history, in: statements, linked: ["u", "person"]
        )
        .map { $0.map { statements[$0].record } }
        var result = Result()
        let numbers = Set(log.map(\.connection))
        for (commit, records) in zip(commits, found) {
            if numbers.contains(commit.connection) { result.transactions += 1 }
            guard !records.isEmpty else { continue }
            result.tied += 1
            let isRight = records.allSatisfy {
                $0.connection == commit.connection && commit.orders.contains($0.order)
            }
            if !isRight { result.wrong.append("\(commit): \(records.map { ($0.order, $0.sql) })") }
        }
        return result
    }

    private func makeStore(in directory: String) throws -> RecordedStore {
        let store = RecordedStore(in: directory)
        let handle = try ApplicationHandle(store.path)
        try handle.run(
            """
            PRAGMA journal_mode = wal; CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b);
            CREATE INDEX i ON t(b); CREATE TABLE u(a); CREATE TRIGGER r AFTER INSERT ON u WHEN new.a > 900
            BEGIN INSERT INTO t(b) VALUES (new.a); END; PRAGMA wal_checkpoint(TRUNCATE)
            """)
        return store
    }

    /// Two threads insert one row each time, so that all transactions look alike.
    @Test(arguments: [false, true]) func writersThatWaitForEachOtherAreNotMistaken(isWaiting: Bool)
        throws
    {
        var result = Result()
        for seed in 0..<4 {
            result += try withTemporaryDirectory { directory in
                let store = try makeStore(in: directory)
                let connections = try (1...2).map {
                    try RecordedConnection(store, number: $0, busyTimeout: 60_000)
                }
                DispatchQueue.concurrentPerform(iterations: 2) { thread in
                    var random = SplitMix(seed: UInt64(10 * seed + thread))
                    for number in 0..<50 {
                        connections[thread].run("SELECT count(*) FROM t")
                        let insert = "INSERT INTO u VALUES (\(1000 * thread + number))"
                        if random.next(below: 2) == 0 {
                            connections[thread].run(insert)
                        } else {
                            connections[thread].run(isWaiting ? "BEGIN IMMEDIATE" : "BEGIN")
                            connections[thread].run(insert)
                            connections[thread].run("COMMIT")
                        }
                        if !isWaiting { sleep(microseconds: UInt32(random.next(below: 300))) }
                    }
                    connections[thread].finish()
                }
                return try check(store, connections.flatMap(\.records), try store.history())
            }
        }
        #expect(result.wrong.isEmpty)
        #expect(result.transactions == 400)
    }

    /// SQLite counts the row of such an update as changed, but writes no page.
    @Test func anUpdateToTheSameValueCostsNothing() throws {
        try withTemporaryDirectory { directory in
            let store = try makeStore(in: directory)
            let connection = try RecordedConnection(store, number: 1)
            for number in 0..<32 {
                connection.run("INSERT INTO u VALUES (\(number))")
                connection.run("UPDATE u SET a = a WHERE a = \(number)")
                if number % 4 == 0 { connection.run("UPDATE u SET a = a + 1000 WHERE a = \(number)") }
            }
            connection.finish()
            let history = try store.history()
            #expect(history.count == 40)
            let result = try check(store, connection.records, history)
            #expect(result.tied == 40 && result.wrong.isEmpty, "\(result)")
        }
    }

    /// A migration copies the rows to a new table, drops the old one, whose foreign key deletes other rows, and renames
    /// the new one.
    @Test func aMigrationThatRebuildsATableIsTied() throws {
        try withTemporaryDirectory { directory in
            let store = try makeStore(in: directory)
            let connection = try RecordedConnection(store, number: 1)
            connection.run("PRAGMA foreign_keys = ON")
            connection.run(
                "CREATE TABLE person(id INTEGER PRIMARY KEY, name, nick)")
            connection.run(
                "CREATE TABLE phone(id INTEGER PRIMARY KEY, person REFERENCES person(id) ON DELETE CASCADE)"
            )
            for number in 1...4 {
                connection.run("INSERT INTO person VALUES (\(number), 'p', 'n')")
                connection.run("INSERT INTO phone(person) VALUES (\(number))")
            }
            for statement in [
                "BEGIN", "CREATE TABLE newPerson(id INTEGER PRIMARY KEY, name)",
                "INSERT INTO newPerson SELECT id, name FROM person", "DROP TABLE person",
                "ALTER TABLE newPerson RENAME TO person", "COMMIT",
            ] { connection.run(statement) }
            connection.finish()
            let history = try store.history()
            #expect(history.last?.changes.tables == [.init(name: "phone", deleted: 4)])
            let result = try check(store, connection.records, history)
            #expect(result.tied == history.count && result.wrong.isEmpty, "\(result)")
        }
    }

    /// A workload of some connections, on one thread.
    private struct Workload {
        var random: SplitMix
        let connections: [RecordedConnection]
        private var number = 0

        init(seed: UInt64, _ connections: [RecordedConnection]) {
            random = SplitMix(seed: seed)
            self.connections = connections
        }

        private mutating func statement() -> String {
            number += 1
            let id = random.next(below: 40)
            switch random.next(below: 16) {
            case 0...3: return "INSERT INTO t(a, b) VALUES ('n\(number)', \(number))"
            case 4: return "INSERT INTO t(id, a, b) VALUES (\(id), \(id), 0)"
            case 5: return "INSERT OR REPLACE INTO t(id, a, b) VALUES (\(id), \(id), 0)"
            case 6: return "UPDATE t SET b = b WHERE id = \(id)"
            case 7: return "UPDATE t SET a = a"
            case 8: return "UPDATE t SET b = b + 1 WHERE id = \(id)"
            case 9: return "DELETE FROM t WHERE id = \(id)"
            case 10: return "DELETE FROM t WHERE id = -1"
            case 11: return "INSERT INTO u VALUES (\(random.next(below: 1000)))"
            case 12: return "SELECT count(*) FROM t"
            case 13: return "INSERT OR IGNORE INTO t(id, a) VALUES (\(id), \(id))"
            case 14:
                return random.pick([
                    "CREATE TABLE IF NOT EXISTS v(a)", "CREATE TABLE w\(number)(a)",
                    "DROP TABLE IF EXISTS v",
                    "PRAGMA user_version = \(id)", "ANALYZE", "CREATE TEMP TABLE IF NOT EXISTS x(a)",
                ])
            default:
                return random.pick([
                    "INSERT INTO u WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 60) "
                        + "SELECT zeroblob(500) FROM c", "DELETE FROM u", "UPDATE u SET a = a || 'x'",
                    "PRAGMA cache_size = \(random.pick([5, 2000]))",
                    "INSERT INTO u VALUES (1) RETURNING a", "WITH c(n) AS (SELECT 1) UPDATE t SET b = 9",
                ])
            }
        }

        mutating func step() {
            let connection = random.pick(connections)
            guard connection.isInTransaction else {
                let begin = ["BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s"]
                connection.run(random.next(below: 3) == 0 ? random.pick(begin) : statement())
                return
            }
            switch random.next(below: 8) {
            case 0: connection.run(random.pick(["SAVEPOINT s", "SAVEPOINT q"]))
            case 1:
                connection.run(random.pick(["ROLLBACK TO s", "RELEASE s", "ROLLBACK TO SAVEPOINT q"]))
            case 2: connection.run("COMMIT")
            case 3: connection.run(random.pick(["ROLLBACK", "COMMIT"]))
            default: connection.run(statement())
            }
        }

        mutating func end() {
            for connection in connections {
                if connection.isInTransaction { connection.run("COMMIT") }
                connection.finish()
            }
        }
    }

    @Test func randomTransactionsAreTiedToTheirStatements() throws {
        var whole = Result()
        var others = Result()
        var cut = Result()
        var late = Result()
        for seed in 0..<16 as Range<UInt64> {
            try withTemporaryDirectory { directory in
                let store = try makeStore(in: directory)
                let connections = try (0...(seed % 3 + 1)).map {
                    try RecordedConnection(store, number: $0 + 1)
                }
                var workload = Workload(seed: seed, connections)
                for _ in 0..<300 { workload.step() }
                workload.end()
                let records = connections.flatMap(\.records)
                let history = try store.history()
                whole += try check(store, records, history)
                // The last statements of each connection.
                cut += try check(store, connections.flatMap { $0.records.suffix(60) }, history)
                // The last transactions.
                late += try check(store, records, Array(history.suffix(history.count / 2)))
                // The first connection is another process's.
                others += try check(store, records.filter { $0.connection > 1 }, history)
            }
        }
        for result in [whole, cut, late, others] { #expect(result.wrong.isEmpty) }
        #expect(100 * whole.tied >= 70 * whole.transactions, "\(whole)")
        #expect(100 * late.tied >= 70 * late.transactions, "\(late)")
    }
}
