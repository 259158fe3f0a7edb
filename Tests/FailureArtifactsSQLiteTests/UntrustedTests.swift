import CFailureArtifactsSQLite
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsSQLite

/// What a store brings along is not run when it is opened as one that may come from anybody.
@Suite struct UntrustedTests {
    private func withStore(_ sql: String, _ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try Connection(path: path, mode: .create).execute(sql)
            try body(path)
        }
    }

    /// Adds a function that was not declared innocuous, as those with side effects are not.
    private func addFunction(to connection: borrowing Connection) {
        sqlite3_create_function_v2(
            connection.handle, "evil", 0, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
            { context, _, _ in sqlite3_result_int(context, 1) }, nil, nil, nil)
    }

    @Test(arguments: [
        "CREATE VIEW v AS SELECT evil()",
        "CREATE TABLE v(a, b AS (evil())); INSERT INTO v(a) VALUES (1)",
    ]) func functionsWithSideEffects(_ sql: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            let maker = try Connection(path: path, mode: .create)
            addFunction(to: maker)
            try maker.execute(sql)
            try maker.execute("SELECT * FROM v")

            let connection = try Connection.untrusted(path)
            addFunction(to: connection)
            #expect(try connection.integer(of: "SELECT evil()") == 1)
            let error = #expect(throws: SQLiteError.self) { try connection.execute("SELECT * FROM v") }
            #expect(error?.message.contains("unsafe use of evil()") == true)
        }
    }

    @Test func extensions() throws {
        try withStore("CREATE TABLE t(a)") { path in
            let connection = try Connection.untrusted(path)
            let error = #expect(throws: SQLiteError.self) {
                try connection.execute("SELECT load_extension('/nowhere/x')")
            }
            #expect(error?.message == "not authorized")
        }
    }

    @Test(arguments: [
        "INSERT INTO t VALUES (2)", "PRAGMA user_version = 5", "CREATE TABLE u(a)",
        "PRAGMA writable_schema = on; UPDATE sqlite_master SET sql = ''", "DELETE FROM t",
    ]) func writing(_ sql: String) throws {
        try withStore("CREATE TABLE t(a); INSERT INTO t VALUES (1)") { path in
            let before = try FileSystem.contents(ofFile: path)
            for isPrivate in [true, false] {
                let connection = try Connection.untrusted(path, isPrivate: isPrivate)
                #expect(throws: SQLiteError.self) { try connection.execute(sql) }
                // What is attached can be opened for writing by a path.
                try connection.execute("ATTACH '\(path)' AS other")
                #expect(throws: SQLiteError.self) {
                    try connection.execute("INSERT INTO other.t VALUES (2)")
                }
            }
            #expect(try FileSystem.contents(ofFile: path) == before)
        }
    }

    @Test func aViewWithoutEnd() throws {
        let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        try withStore("CREATE VIEW v AS \(endless) SELECT x FROM c") { path in
            let connection = try Connection.untrusted(
                path, limits: UntrustedLimits(valueBytes: 1000, seconds: 0.05))
            let error = #expect(throws: SQLiteError.self) {
                try connection.execute("SELECT max(x) FROM v")
            }
            #expect(error?.isInterrupted == true)
        }
    }

    @Test func aLargeValue() throws {
        try withStore("CREATE VIEW v AS SELECT zeroblob(100000) AS x") { path in
            let sql = "SELECT length(x || '') FROM v"
            let limited = try Connection.untrusted(
                path, limits: UntrustedLimits(valueBytes: 50_000, seconds: nil))
            let error = #expect(throws: SQLiteError.self) { try limited.execute(sql) }
            #expect(error?.isTooMuch == true)
            #expect(try Connection.untrusted(path, limits: .none).integer(of: sql) >= 0)
        }
    }
}
