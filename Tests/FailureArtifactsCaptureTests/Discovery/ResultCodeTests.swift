import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The errors of statements that SQLite doesn't log.
extension StatementLogTests {
    private func step(_ handle: ApplicationHandle, _ sql: String) throws -> Int32 {
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(handle.handle, sql, -1, &statement, nil) == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        return sqlite3_step(statement)
    }

    /// Runs `body` with two connections to a store; the second one has a write lock.
    private func withLock(
        values: Bool = false, _ body: (ApplicationHandle, ApplicationHandle) throws -> Void
    ) throws {
        try withConnection(statements: 6000, values: values) { handle in
            try handle.run("CREATE TABLE t(a)")
            let other = try ApplicationHandle(try #require(try handle.discovered.path))
            try other.run("BEGIN IMMEDIATE; INSERT INTO t VALUES (0)")
            try body(handle, other)
        }
    }

    private func failures(_ handle: ApplicationHandle) throws -> [String: StatementRecord.Failure] {
        let own = try handle.discovered.serial
        let failed = try statements(handle).compactMap { statement in
            statement.connection == own ? statement.error.map { (statement.sql, $0) } : nil
        }
        return Dictionary(failed, uniquingKeysWith: { $1 })
    }

    private static let locked = StatementRecord.Failure(
        code: SQLITE_BUSY, message: "database is locked")

    /// Statements beyond the allowance of a test are recorded in another way.
    @Test(arguments: [0, 3000], [false, true])
    func aLostLockIsAnError(others: Int, values: Bool) throws {
        try withLock(values: values) { handle, other in
            for _ in 0..<others { try handle.run("SELECT 1") }
            let sql = "INSERT INTO t VALUES (1)"
            #expect(try step(handle, sql) == SQLITE_BUSY)
            #expect(handle.failure(of: "BEGIN IMMEDIATE; SELECT 2") == "database is locked")
            #expect(handle.failure(of: "SELECT 3; UPDATE t SET a = 1") == "database is locked")
            let failures = try self.failures(handle)
            #expect(
                failures == [
                    sql: Self.locked, "BEGIN IMMEDIATE;": Self.locked, "UPDATE t SET a = 1": Self.locked,
                ])
            try other.run("COMMIT")
            #expect(try step(handle, sql) == SQLITE_DONE)
            #expect(try statements(handle).last { $0.sql == sql }?.error == nil)
        }
    }

    /// SQLite goes on with a statement that is stepped again.
    @Test func aLockThatWasWaitedForIsNoError() throws {
        try withLock { handle, other in
            var statement: OpaquePointer?
            try #require(
                sqlite3_prepare_v2(handle.handle, "INSERT INTO t VALUES (1)", -1, &statement, nil)
                    == SQLITE_OK)
            defer { sqlite3_finalize(statement) }
            for _ in 0..<2 { #expect(sqlite3_step(statement) == SQLITE_BUSY) }
            #expect(try failures(handle) == ["INSERT INTO t VALUES (1)": Self.locked])
            try other.run("COMMIT")
            #expect(sqlite3_step(statement) == SQLITE_DONE)
            #expect(try failures(handle).isEmpty)
        }
    }

    /// A statement that can't be prepared because the schema is locked doesn't start.
    @Test func theStatementBeforeOneThatCannotBePreparedHasNoError() throws {
        try withConnection(statements: 20) { handle in
            try handle.run("CREATE TABLE t(a)")
            let other = try ApplicationHandle(try #require(try handle.discovered.path))
            try handle.run("BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)")
            for sql in ["PRAGMA busy_timeout = 0; SELECT * FROM t", "BEGIN; SELECT * FROM t"] {
                #expect(other.failure(of: sql) == "database is locked")
            }
            #expect(try failures(other).isEmpty)
            #expect(try statements(other).contains { $0.sql == "BEGIN;" })
            try other.run("COMMIT")
            #expect(other.failure(of: "SELECT 1; SELECT * FROM missing") != nil)
            #expect(try failures(other)["SELECT 1;"] == nil)
        }
    }

    @Test func aTableThatIsLockedInASharedCacheIsAnError() throws {
        try withTemporaryDirectory { directory in
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_SHAREDCACHE
            let path = directory + "/shared.sqlite"
            try withConnection(statements: 20, path: path) { _ in
                let writer = try ApplicationHandle(path, flags: flags)
                try writer.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                let reader = try ApplicationHandle(path, flags: flags)
                try reader.run("SELECT * FROM t")
                try writer.run("BEGIN; INSERT INTO t VALUES (2)")
                // SQLITE_LOCKED_SHAREDCACHE, a macro that Swift does not import.
                let sharedCache = SQLITE_LOCKED | 1 << 8
                #expect(try step(reader, "SELECT a FROM t") == SQLITE_LOCKED)
                #expect(reader.failure(of: "SELECT max(a) FROM t") == "database table is locked: t")
                let failures = try self.failures(reader)
                #expect(failures["SELECT a FROM t"]?.code == sharedCache)
                #expect(failures["SELECT max(a) FROM t"]?.code == sharedCache)
            }
        }
    }

    @Test func anInterruptedStatementHasItsError() throws {
        try withConnection(statements: 20) { handle in
            sqlite3_create_function_v2(
                handle.handle, "stop", 0, SQLITE_UTF8, nil,
                { context, _, _ in sqlite3_interrupt(sqlite3_context_db_handle(context)) }, nil, nil,
                nil)
            let sql =
                "WITH c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c WHERE stop()"
            let code = try step(handle, sql)
            #expect(code == SQLITE_INTERRUPT)
            let failures = try self.failures(handle)
            #expect(failures == [sql: .init(code: SQLITE_INTERRUPT, message: "interrupted")])
        }
    }

    @Test(arguments: [false, true])
    func aCommitThatAForeignKeyRejectsHasItsError(byExec: Bool) throws {
        try withConnection(statements: 20) { handle in
            try handle.run("PRAGMA foreign_keys = on; CREATE TABLE a(id INTEGER PRIMARY KEY)")
            try handle.run("CREATE TABLE b(a REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
            try handle.run("BEGIN; INSERT INTO b VALUES (1)")
            if byExec {
                #expect(handle.failure(of: "COMMIT") == "FOREIGN KEY constraint failed")
            } else {
                #expect(try step(handle, "COMMIT") == SQLITE_CONSTRAINT)
            }
            try handle.run("ROLLBACK")
            // SQLITE_CONSTRAINT_FOREIGNKEY
            #expect(
                try failures(handle) == [
                    "COMMIT": .init(code: 787, message: "FOREIGN KEY constraint failed")
                ])
        }
    }

    /// A cursor may fail after other statements have started.
    @Test func anErrorIsThatOfTheStatementThatFailed() throws {
        try withConnection(statements: 20) { handle in
            let sql = "SELECT 1 UNION ALL SELECT abs(-9223372036854775808)"
            var cursor: OpaquePointer?
            try #require(sqlite3_prepare_v2(handle.handle, sql, -1, &cursor, nil) == SQLITE_OK)
            defer { sqlite3_finalize(cursor) }
            #expect(sqlite3_step(cursor) == SQLITE_ROW)
            try handle.run("SELECT 2")
            #expect(sqlite3_step(cursor) == SQLITE_ERROR)
            #expect(
                try failures(handle) == [sql: .init(code: SQLITE_ERROR, message: "integer overflow")])
        }
    }

    /// The functions that are taken over are not part of a stack: it begins with the line that calls SQLite.
    @Test(arguments: [0, 3000], [false, true]) func theStackOfAnErrorLeadsToTheCaller(
        others: Int, byExec: Bool
    ) throws {
        try withLock { handle, _ in
            for _ in 0..<others { try handle.run("SELECT 1") }
            if byExec {
                sqlite3_exec(handle.handle, "UPDATE t SET a = 1", nil, nil, nil)
                sqlite3_exec(handle.handle, "UPDATE t SET a = 2", nil, nil, nil)
            } else {
                var first: OpaquePointer?
                var second: OpaquePointer?
                sqlite3_prepare_v2(handle.handle, "UPDATE t SET a = 1", -1, &first, nil)
                sqlite3_prepare_v2(handle.handle, "UPDATE t SET a = 2", -1, &second, nil)
                sqlite3_step(first)
                sqlite3_step(second)
                sqlite3_finalize(first)
                sqlite3_finalize(second)
            }
            let log = try statements(handle)
            let failed = ["UPDATE t SET a = 1", "UPDATE t SET a = 2"].compactMap { sql in
                log.last { $0.sql == sql && $0.error == Self.locked }
            }
            try #require(failed.count == 2)
            let (first, second) = (failed[0].stack ?? [], failed[1].stack ?? [])
            try #require(first.count > 3 && first.count == second.count)
            #expect(zip(first, second).map { $0 == $1 } == [false] + first.dropFirst().map { _ in true })
        }
    }
}
