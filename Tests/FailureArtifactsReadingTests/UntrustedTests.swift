import CFailureArtifactsSQLite
@testable import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Testing

/// Opening an untrusted store does not run code from the store.
@Suite struct UntrustedTests {
    private func withStore(_ sql: String, _ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try Connection(path: path, mode: .create).execute(sql)
            try body(path)
        }
    }

    /// Adds a function that was not declared innocuous, as for a function with side effects.
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

            let connection = try Connection(path: path, mode: .immutable)
            addFunction(to: connection)
            try connection.distrust(.standard)
            #expect(try connection.integer(of: "SELECT evil()") == 1)
            let error = #expect(throws: SQLiteError.self) { try connection.execute("SELECT * FROM v") }
            #expect(error?.message.contains("unsafe use of evil()") == true)
        }
    }

    /// SQLite 3.40.1 calls its own JSON functions unsafe.
    @Test func storesWithJSON() throws {
        let document = #"{"name": "apple", "tags": ["red", "round"], "price": {"euro": 2}}"#
        let schema = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, document TEXT CHECK (document IS NULL OR json_valid(document)),
              name TEXT AS (json_extract(document, '$.name')),
              tags TEXT AS (json_set('{}', '$.tags', json_extract(document, '$.tags'))),
              both TEXT AS (json_array(json_extract(document, '$.name', '$.tags'), json('[1]'), '[1]')) STORED,
              euro AS (document -> '$.price' ->> 'euro'));
            CREATE INDEX i ON t(json_type(document, '$.tags'), upper(json_extract(document, '$.name')));
            CREATE VIEW v AS SELECT json_object('name', name, 'all', json(tags)) AS o, typeof(euro) AS type FROM t;
            INSERT INTO t(document) VALUES ('\(document)'), ('{}'), (NULL);
            """
        let queries = [
            "SELECT * FROM t", "SELECT * FROM v", "PRAGMA integrity_check",
            "SELECT id FROM t WHERE json_type(document, '$.tags') = 'array'",
            "SELECT json_patch(document, '{\"a\": null}'), json_quote(name), json(document) FROM t",
            "SELECT value FROM t, json_each(t.tags) ORDER BY 1",
        ]
        try withStore(schema) { path in
            let trusting = try Connection(path: path, mode: .readOnly)
            let connection = try Connection.untrusted(path)
            for query in queries {
                #expect(try rows(query, of: connection) == rows(query, of: trusting), "\(query)")
            }
            let error = #expect(throws: SQLiteError.self) { try connection.execute("SELECT json('{')") }
            #expect(error?.message == "malformed JSON")
        }
    }

    private func rows(_ sql: String, of connection: borrowing Connection) throws -> [[String]] {
        let statement = try connection.prepare(sql)
        var rows: [[String]] = []
        while try statement.step() {
            rows.append(statement.columnNames.indices.map { "\(statement.value(at: $0))" })
        }
        return rows
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
                // A database that is attached by its path could be opened for writing.
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

    /// Each of a few rows may take long, as with a slow function.
    @Test func fewStepsAfterADeadline() throws {
        try withStore(
            "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 20) SELECT x FROM c"
        ) { path in
            let connection = try Connection.untrusted(path)
            connection.setDeadline(.now)
            let error = #expect(throws: SQLiteError.self) {
                try connection.execute("SELECT max(x) FROM v")
            }
            #expect(error?.isInterrupted == true)
            connection.setDeadline(nil)
            #expect(try connection.integer(of: "SELECT max(x) FROM v") == 20)
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

/// Tables and columns that a statement reads.
@Suite struct StatementAccessTests {
    private func access(_ sql: String) throws -> StatementAccess {
        try withTemporaryDirectory { directory in
            let connection = try Connection(path: directory + "/a.sqlite", mode: .create)
            try connection.execute(
                """
                CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT, balance INTEGER);
                CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER, cents INTEGER);
                CREATE VIEW total AS
                SELECT account.name, sum(cents) AS cents FROM account JOIN entry ON account = account.id
                """)
            return try StatementAccess(of: sql, on: connection)
        }
    }

    @Test func columnsOfTables() throws {
        #expect(
            try access("SELECT Name FROM Account WHERE balance > 3").reads == [
                "account": ["name", "balance"]
            ])
        #expect(try access("SELECT count(*) FROM entry").reads == ["entry": []])
    }

    @Test func tablesOfAView() throws {
        let reads = try access("SELECT cents FROM total").reads
        #expect(reads["account"] == ["id", "name"] && reads["entry"] == ["account", "cents"])
    }

    @Test func functions() throws {
        #expect(
            try access("SELECT upper(name), random() FROM account").functions == ["upper", "random"])
    }

    @Test func anErrorIsThrown() {
        #expect(throws: SQLiteError.self) { try access("SELECT missing FROM account") }
    }
}

/// Limits of work that are the same on every machine.
@Suite struct StepBudgetTests {
    private static let endless =
        "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i) SELECT count(*) FROM i"

    private func withConnections(_ body: (borrowing Connection, borrowing Connection) throws -> Void)
        throws
    {
        try withTemporaryDirectory { directory in
            try body(
                Connection(path: directory + "/a.sqlite", mode: .create),
                Connection(path: directory + "/b.sqlite", mode: .create))
        }
    }

    @Test func anEndlessStatementIsInterrupted() throws {
        try withConnections { first, second in
            let budget = StepBudget(steps: 20_000)
            budget.limit(first)
            budget.limit(second)
            try first.execute("SELECT 1")
            #expect(!budget.isUsedUp)
            let error = #expect(throws: SQLiteError.self) { try first.execute(Self.endless) }
            #expect(error?.isInterrupted == true && budget.isUsedUp)
            // The connections share the steps.
            #expect(throws: SQLiteError.self) { try second.execute(Self.endless) }
        }
    }

    /// The number of rows that a statement gets to depends on the steps only.
    @Test func theSameStepsGiveTheSameRows() throws {
        func rows() throws -> Int64 {
            var count: Int64 = 0
            try withConnections { first, _ in
                let budget = StepBudget(steps: 50_000)
                budget.limit(first)
                let statement = try first.prepare(
                    "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i) SELECT n FROM i")
                while (try? statement.step()) == true { count += 1 }
            }
            return count
        }
        let first = try rows()
        #expect(try first > 1000 && rows() == first)
    }
}
