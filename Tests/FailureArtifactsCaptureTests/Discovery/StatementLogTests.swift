import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsCapture

/// The recorded statements of connections.
///
/// The options are set for the whole process, so these tests run one after the other.
@Suite(.serialized) struct StatementLogTests {
    init() { ConnectionRegistry.shared.install() }

    /// Runs `body` with a connection to a new store that is opened with these options.
    func withConnection(
        statements: Int, values: Bool = false, stacks: Bool = true, path: String? = nil,
        _ body: (ApplicationHandle) throws -> Void
    ) throws {
        ConnectionRegistry.shared.configureLog(statements: statements, values: values, stacks: stacks)
        defer { ConnectionRegistry.shared.configureLog(statements: 0) }
        try withTemporaryDirectory { directory in
            try body(ApplicationHandle(path ?? directory + "/log.sqlite"))
        }
    }

    func log(_ handle: ApplicationHandle) throws -> [LoggedStatement] {
        try handle.store.statements(keeping: .none).statements
    }

    func statements(_ handle: ApplicationHandle) throws -> [StatementRecord] {
        try log(handle).map(\.record)
    }

    /// The last statements, without older ones that stand for others.
    func lastStatements(_ handle: ApplicationHandle) throws -> [StatementRecord] {
        try statements(handle).filter { $0.repeated == nil }
    }

    @Test func eachWithTheRowsItChanged() throws {
        try withConnection(statements: 200) { handle in
            try handle.run("CREATE TABLE t(a)")
            try handle.run("INSERT INTO t VALUES (1), (2), (3)")
            try handle.run("UPDATE t SET a = 9 WHERE a < 3")
            try handle.run("SELECT * FROM t")
            try handle.run("DELETE FROM t")
            let log = try statements(handle)
            #expect(
                log.map(\.sql) == [
                    "CREATE TABLE t(a)", "INSERT INTO t VALUES (1), (2), (3)",
                    "UPDATE t SET a = 9 WHERE a < 3", "SELECT * FROM t", "DELETE FROM t",
                ])
            #expect(log.map(\.changes) == [0, 3, 2, 0, 3])
            #expect(log.map(\.order) == log.map(\.order).sorted())
            #expect(Set(log.map(\.connection)) == [try handle.discovered.serial])
            #expect(log.allSatisfy { $0.error == nil && $0.cut == nil })
        }
    }

    /// SQLite counts the rows of triggers, foreign keys and the tables behind a virtual table, too.
    @Test(arguments: [true, false]) func eachWithTheRowsThatItChangedItself(isMeasured: Bool) throws {
        try withConnection(statements: 200) { handle in
            try handle.run(
                """
                PRAGMA foreign_keys = ON;
                CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
                CREATE TABLE tag(note REFERENCES note(id) ON DELETE CASCADE);
                CREATE VIRTUAL TABLE search USING fts5(text, content = 'note', content_rowid = 'id');
                CREATE VIRTUAL TABLE old USING fts4(text);
                CREATE TRIGGER added AFTER INSERT ON note BEGIN
                  INSERT INTO search(rowid, text) VALUES (new.id, new.text);
                END;
                CREATE VIEW texts AS SELECT text FROM note;
                CREATE TRIGGER viewed INSTEAD OF INSERT ON texts BEGIN INSERT INTO tag VALUES (2); END
                """)
            let ten = (1...10).map { "('word \($0)')" }.joined(separator: ", ")
            let expected: [(sql: String, rows: Int?, isAll: Bool)] = [
                ("INSERT INTO note(text) VALUES \(ten)", 10, false),
                ("SELECT 1", nil, true),
                ("INSERT INTO tag VALUES (1), (1), (2)", 3, true),
                ("DELETE FROM note WHERE id = 1", 1, false),
                ("UPDATE note SET text = 'a' WHERE id = 1", 0, true),
                ("WITH n(t) AS (SELECT 'b') INSERT INTO note(text) SELECT t FROM n", 1, false),
                ("BEGIN", nil, true),
                ("INSERT INTO old VALUES ('c')", 1, false),
                ("COMMIT", nil, true),
                ("INSERT INTO texts VALUES ('d')", 0, false),
                ("INSERT INTO note(text) VALUES ('e')", 1, false),
            ]
            // Without an allowance, the number is the one when the next statement starts.
            if !isMeasured { for _ in 0..<1000 { try handle.run("SELECT 2") } }
            for (sql, _, _) in expected { try handle.run(sql) }
            let log = try statements(handle).suffix(expected.count)
            for (record, expected) in zip(log, expected) {
                #expect(record.sql == expected.sql)
                #expect((record.ownChanges == nil) == expected.isAll, "\(record)")
                if let rows = expected.rows {
                    #expect(record.ownChanges ?? record.changes == rows, "\(record)")
                }
            }
        }
    }

    @Test func longTextsAreCutAndOddOnesStay() throws {
        try withConnection(statements: 3) { handle in
            let odd = "SELECT 'ä🙂\u{1}\t\"\\',\r\n  2 -- 'end"
            let (whole, long) = (
                "SELECT '\(String(repeating: "x", count: (16 << 10) - 9))'",
                "SELECT '\(String(repeating: "y", count: 40_000))'"
            )
            for _ in 0..<3 {
                for sql in [long, whole, odd] { try handle.run(sql) }
            }
            let log = try lastStatements(handle)
            #expect(log.map(\.cut) == [true, nil, nil])
            #expect(log.map(\.sql) == [String(long.prefix(16 << 10)), whole, odd])
        }
    }

    /// A cut never splits a character.
    @Test func aCutIsBetweenCharacters() throws {
        try withConnection(statements: 3) { handle in
            try handle.run("SELECT  '\(String(repeating: "ä", count: 20_000))'")
            let sql = try #require(try statements(handle).last?.sql)
            #expect(sql.hasSuffix("ä") && !sql.contains("\u{FFFD}"))
        }
    }

    /// A cursor ends later than the statements that are run beside it.
    @Test func theEndIsThatOfWhatEnded() throws {
        try withConnection(statements: 10) { handle in
            var cursor: OpaquePointer?
            let sql = "SELECT 1 UNION ALL SELECT 2"
            #expect(sqlite3_prepare_v2(handle.handle, sql, -1, &cursor, nil) == SQLITE_OK)
            #expect(sqlite3_step(cursor) == SQLITE_ROW)
            for number in 0..<2 { try handle.run("SELECT \(number)") }
            #expect(try log(handle).filter { $0.endTicks == nil }.map(\.record.sql) == [sql])
            sqlite3_finalize(cursor)
            let ends = try log(handle).map { try #require($0.endTicks) }
            #expect(ends.count == 3 && ends[0] > ends[2] && ends[2] > ends[1])
        }
    }

    @Test func withoutALogThereIsNone() throws {
        try withConnection(statements: 0) { handle in
            try handle.run("CREATE TABLE t(a)")
            #expect(try statements(handle).isEmpty)
        }
    }

    /// A pool closes its readers first, and its writer may be one of the connections that it closes.
    @Test(arguments: [true, false])
    func closedConnectionsHaveLeftTheirs(othersStay: Bool) throws {
        ConnectionRegistry.shared.beginKeeping(maximumBytes: 0)
        defer { ConnectionRegistry.shared.endKeeping() }
        try withConnection(statements: 10) { handle in
            let path = try #require(try handle.discovered.path)
            let pointInTime = ConnectionRegistry.shared.now
            try handle.run("CREATE TABLE t(a)")
            let second = try ApplicationHandle(path)
            try second.run("INSERT INTO t VALUES (1)")
            try handle.run("INSERT INTO t VALUES (2)")
            second.close()
            let log: [StatementRecord]
            if othersStay {
                log = try statements(handle)
            } else {
                handle.close()
                let closed = try #require(
                    ConnectionRegistry.shared.storesClosed(after: pointInTime).first { $0.path == path })
                log = DiscoveredStore(closed).statements(keeping: .none).statements.map(\.record)
            }
            #expect(
                log.map(\.sql) == ["CREATE TABLE t(a)"] + (1...2).map { "INSERT INTO t VALUES (\($0))" })
            #expect(log.map(\.changes) == [0, 1, 1])
        }
    }

    /// A store that is closed and opened again keeps the statements from before, also those of other tests.
    @Test(arguments: [2, 16, 17, 20], [false, true])
    func aReopenedStoreHasTheStatementsFromBefore(count: Int, isInOtherTests: Bool) throws {
        func beginsNextTest() {
            guard isInOtherTests else { return }
            ConnectionRegistry.shared.endKeeping()
            ConnectionRegistry.shared.beginKeeping(maximumBytes: 0)
        }
        ConnectionRegistry.shared.beginKeeping(maximumBytes: 0)
        defer { ConnectionRegistry.shared.endKeeping() }
        try withConnection(statements: 10) { handle in
            let path = try #require(try handle.discovered.path)
            try handle.run("CREATE TABLE t(a)")
            handle.close()
            for number in 1..<count {
                beginsNextTest()
                let next = try ApplicationHandle(path)
                try next.run("INSERT INTO t VALUES (\(number))")
                next.close()
            }
            beginsNextTest()
            let last = try ApplicationHandle(path)
            try last.run("SELECT a FROM t")
            let found = try last.store.statements(keeping: .none)
            let all =
                ["CREATE TABLE t(a)"] + (1..<count).map { "INSERT INTO t VALUES (\($0))" }
                + ["SELECT a FROM t"]
            #expect(found.statements.map(\.record.sql) == all.suffix(KeptLogs.maximumCount + 1))
            #expect(found.lacksOlder == (count > KeptLogs.maximumCount) && !found.isCut)
            // Another file of the same name is another store.
            last.close()
            try FileSystem.remove(path)
            beginsNextTest()
            let other = try ApplicationHandle(path)
            try other.run("CREATE TABLE u(a)")
            #expect(try statements(other).map(\.sql) == ["CREATE TABLE u(a)"])
        }
    }

    @Test func ofManyClosedConnectionsTheLastOnesMatter() throws {
        ConnectionRegistry.shared.beginKeeping(maximumBytes: 0)
        defer { ConnectionRegistry.shared.endKeeping() }
        try withConnection(statements: 10) { handle in
            try handle.run("CREATE TABLE t(a)")
            let path = try #require(try handle.discovered.path)
            for number in 0..<20 {
                #expect(
                    try handle.store.statements(keeping: .none).isCut == (number > KeptLogs.maximumCount)
                )
                try ApplicationHandle(path).run("INSERT INTO t VALUES (\(number))")
            }
            #expect(
                try statements(handle).map(\.sql)
                    == ["CREATE TABLE t(a)"] + (4..<20).map { "INSERT INTO t VALUES (\($0))" })
        }
    }

    /// Code of another image isn't taken over.
    @Test func aReplacedTraceIsToldOf() throws {
        try withConnection(statements: 10) { handle in
            try handle.run("CREATE TABLE t(a)")
            #expect(try !handle.store.statements(keeping: .none).isReplaced)
            try handle.replaceTrace(events: SQLITE_TRACE_STMT) { _, _, _, _ in 0 }
            for number in 1...2 {
                try handle.run("INSERT INTO t VALUES (\(number))")
                let log = try handle.store.statements(keeping: .none)
                #expect(log.isReplaced)
                #expect(log.statements.map(\.record.sql) == ["CREATE TABLE t(a)"])
                // The statement did not insert the row.
                #expect(log.statements.map(\.record.changes) == [nil])
            }
            // The product doesn't notice that the application has removed its trace.
            try handle.replaceTrace()
            try handle.run("INSERT INTO t VALUES (3)")
            #expect(try handle.store.statements(keeping: .none).isReplaced)
        }
    }
}
