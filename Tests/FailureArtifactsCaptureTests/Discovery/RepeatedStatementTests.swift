import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Statements that are prepared once and run many times: their text is recorded once.
extension StatementLogTests {
    /// Some of so many have keys that share a place of the index.
    @Test func eachOfManyStatementsInALoopIsFolded() throws {
        try withConnection(statements: 1000, path: ":memory:") { handle in
            for _ in 0..<50 { for number in 0..<100 { try handle.run("SELECT 1 AS c\(number)") } }
            let log = try statements(handle)
            let folded = log.filter { $0.repeated != nil }
            #expect(log.map { $0.repeated ?? 1 }.reduce(0, +) == 5000)
            #expect(Set(folded.map(\.sql)).count == folded.count && folded.count == 100)
        }
    }

    /// Their memory has a limit.
    @Test(arguments: [1500, 60_000])
    func thoseOfTheHistoryAreNotFolded(count: Int) throws {
        try withConnection(statements: 100, values: true, path: ":memory:") { handle in
            try handle.run("CREATE TABLE t(a)")
            let texts = ["INSERT INTO t VALUES (?)", "SELECT ?"]
            let prepared = try texts.map { try Prepared(handle, $0) }
            for number in 0..<count {
                for statement in prepared {
                    statement.bind([number])
                    statement.run()
                }
            }
            let start = try #require(try statements(handle).last).order - 2 * 1000
            for (history, kept) in [
                (LoggedHistory.since(start), 1000), (.last(1000), 1000), (.last(.max), count),
            ] {
                let log = try handle.store.statements(keeping: history).statements.map(\.record)
                let inserts = log.filter { $0.sql == texts[0] }
                #expect(inserts.map { $0.repeated ?? 1 }.reduce(0, +) == count)
                let single = inserts.filter { $0.repeated ?? 1 == 1 }
                #expect(log.count < single.count + 110)
                #expect(
                    kept < 5000 ? abs(single.count - kept) < 3 : (5000..<8000).contains(single.count))
                guard kept == 1500 else { continue }
                #expect(
                    single.prefix(100).map { $0.values?.first?.value } == (0..<100).map { .integer($0) })
                #expect(single.prefix(100).allSatisfy { $0.stack != nil })
            }
        }
    }

    @Test func areRememberedAsOthersAre() throws {
        try withConnection(statements: 200) { handle in
            try handle.run("CREATE TABLE t(a); CREATE TABLE u(a)")
            try handle.run("CREATE TRIGGER r AFTER DELETE ON t BEGIN INSERT INTO u VALUES (1); END")
            let texts = [
                "INSERT INTO t VALUES (1), (2)", "SELECT * FROM t",
                "-- one of them\nDELETE FROM t WHERE a = 1",
                "UPDATE t SET a = 3", "REPLACE INTO t VALUES (4)", "DELETE FROM t",
            ]
            let prepared = try texts.map { try Prepared(handle, $0) }
            for _ in 0..<100 { for statement in prepared { #expect(statement.run() == SQLITE_OK) } }
            let log = try lastStatements(handle)
            let changes = [2, 0, 2, 1, 1, 4]
            #expect(log.map(\.sql) == (400..<600).map { texts[$0 % texts.count] })
            #expect(log.map(\.changes) == (400..<600).map { changes[$0 % changes.count] })
            #expect(log.map(\.order) == Set(log.map(\.order)).sorted())
            #expect(log.allSatisfy { $0.error == nil })
            let ticks = try self.log(handle).map(\.ticks)
            #expect(ticks == ticks.sorted())
        }
    }

    /// There are more texts than a log knows at a time, so each replaces another.
    @Test func ofManyEachHasItsText() throws {
        try withConnection(statements: 200) { handle in
            let texts = (0..<100).map { "SELECT \($0)" }
            let prepared = try texts.map { try Prepared(handle, $0) }
            var (seed, expected): (UInt64, [String]) = (1, [])
            for _ in 0..<5000 {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1
                // Some are run more often.
                let index = Int(seed >> 33) % (seed >> 60 < 12 ? 4 : 100)
                prepared[index].run()
                expected.append(texts[index])
            }
            #expect(try lastStatements(handle).map(\.sql) == expected.suffix(200))
        }
    }

    /// SQLite frees a statement's text with the statement, and reuses its address for another statement.
    @Test func othersInTheSamePlaceAreToldApart() throws {
        try withConnection(statements: 200) { handle in
            var (places, expected): (Set<UInt>, [String]) = ([], [])
            for number in 1000..<1300 {
                let sql = "SELECT \(number)"
                let statement = try Prepared(handle, sql)
                for _ in 0...number % 3 {
                    statement.run()
                    expected.append(sql)
                }
                places.insert(statement.place)
            }
            #expect(places.count < 100, "The texts have to be in the same places.")
            #expect(try lastStatements(handle).map(\.sql) == expected.suffix(200))
        }
    }

    /// SQLite reports the actions of a foreign key as if the statement were started again, once per row.
    @Test(arguments: [false, true])
    func whatForeignKeysDoIsPartOfThem(values: Bool) throws {
        try withConnection(statements: 200, values: values) { handle in
            try handle.run(
                """
                PRAGMA foreign_keys = on; CREATE TABLE author(id INTEGER PRIMARY KEY);
                CREATE TABLE book(author REFERENCES author ON DELETE CASCADE ON UPDATE CASCADE);
                CREATE TABLE seen(n); CREATE TRIGGER r AFTER DELETE ON book BEGIN INSERT INTO seen VALUES (1); END
                """)
            let start = try statements(handle).count
            let texts = [
                "INSERT INTO author VALUES (1), (2), (3)",
                "INSERT INTO book SELECT author.id FROM author, author b, author c",
                "UPDATE author SET id = id + 10",
                "DELETE FROM author", "DELETE FROM author",
            ]
            let prepared = try texts.map { try Prepared(handle, $0) }
            for _ in 0..<3 { for statement in prepared { #expect(statement.run() == SQLITE_OK) } }
            for text in texts { try handle.run(text) }
            let log = try statements(handle).dropFirst(start)
            #expect(log.map(\.sql) == [texts, texts, texts, texts].flatMap(\.self))
            #expect(log.prefix(5).map(\.changes) == [3, 27, 30, 57, 0])
        }
    }

    @Test func ofSeveralConnectionsAreMergedByOrder() throws {
        try withConnection(statements: 100) { first in
            try first.run("CREATE TABLE t(a)")
            let second = try ApplicationHandle(try #require(try first.discovered.path))
            let handles = [first, second]
            let prepared = try handles.map { try Prepared($0, "INSERT INTO t VALUES (1)") }
            let turns = [0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1]
            for turn in turns { prepared[turn].run() }
            let serials = try handles.map { try $0.discovered.serial }
            #expect(try statements(first).dropFirst().map(\.connection) == turns.map { serials[$0] })
        }
    }

    @Test func areBeforeOrAfterATime() throws {
        try withConnection(statements: 10) { handle in
            let statement = try Prepared(handle, "SELECT 1")
            for _ in 0..<3 {
                let start = ConnectionRegistry.shared.now
                #expect(try !handle.store.isUsed(since: start))
                statement.run()
                #expect(try handle.store.isUsed(since: start))
                #expect(try !handle.store.isUsed(since: ConnectionRegistry.shared.now))
            }
        }
    }

    @Test func ofAnotherThreadAreTold() throws {
        try withConnection(statements: 10) { handle in
            let statement = try Prepared(handle, "SELECT 1")
            for _ in 0..<2 {
                statement.run()
                statement.run()
                try onAnotherThread { _ = statement.run() + statement.run() }
            }
            let threads = try statements(handle).map(\.thread)
            let own = threads[0]
            #expect(threads.map { $0 == own } == [true, true, false, false, true, true, false, false])
        }
    }

    @Test func thatRollBackLeaveWhatWasThere() throws {
        ConnectionRegistry.shared.beginKeeping(maximumBytes: 1 << 20)
        defer { ConnectionRegistry.shared.endKeeping() }
        try withConnection(statements: 10) { handle in
            try handle.run("CREATE TABLE t(a)")
            let prepared = try ["BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK"].map {
                try Prepared(handle, $0)
            }
            let select = try Prepared(handle, "SELECT * FROM t")
            for _ in 0..<3 {
                for statement in prepared { statement.run() }
                #expect(try handle.store.beforeRollback != nil)
                select.run()
                #expect(try handle.store.beforeRollback == nil)
            }
        }
    }
}
