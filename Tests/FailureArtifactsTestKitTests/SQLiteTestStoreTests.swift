import CFailureArtifactsSQLite
import FailureArtifactsTestKit
import Foundation
import Testing

@Suite struct SQLiteTestStoreTests {
    private func store() throws -> SQLiteTestStore { try SQLiteTestStore(at: .memory(name: "test")) }

    @Test(
        arguments: [
            .null, 7, -1, 2.5, "果物", "", .blob([0, 255]), .blob([]), .integer(.max), .text("a\0b"),
        ] as [SQLiteValue])
    func valuesAreReadAsTheyWereBound(_ value: SQLiteValue) throws {
        #expect(try store().value("SELECT ?", value) == value)
    }

    @Test func literalsAreValues() {
        #expect([nil, 1, 1.5, "text"] == [SQLiteValue.null, .integer(1), .real(1.5), .text("text")])
    }

    @Test func textThatIsNotUTF8IsRepaired() throws {
        #expect(try store().value("SELECT CAST(X'61FF' AS TEXT)") == "a\u{FFFD}")
    }

    @Test func statementsRunInOrder() throws {
        let store = try store()
        try store.execute("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (2, NULL)")
        #expect(try store.rows("SELECT a, b FROM t ORDER BY a DESC") == [[2, nil], [1, "x"]])
        #expect(try store.rows("INSERT INTO t VALUES (?, ?)", 3, "z").isEmpty)
        #expect(try store.value("SELECT b FROM t WHERE a = ?", 3) == "z")
        #expect(try store.value("SELECT b FROM t WHERE a = 4") == .null)
    }

    @Test func aTransactionRunsAsAWhole() throws {
        let store = try store()
        try store.transaction("CREATE TABLE t (a PRIMARY KEY); INSERT INTO t VALUES (1)")
        #expect(throws: TestStoreError.self) {
            try store.transaction("INSERT INTO t VALUES (2); INSERT INTO t VALUES (1)")
        }
        #expect(try store.rows("SELECT a FROM t") == [[1]])
        try store.transaction("INSERT INTO t VALUES (2)")
        #expect(try store.rows("SELECT a FROM t") == [[1], [2]])
    }

    @Test func foreignKeysAreEnforced() throws {
        let store = try store()
        try store.execute("CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p)")
        expectError(.sqlite(SQLITE_CONSTRAINT | 3 << 8), "FOREIGN KEY constraint failed") {
            try store.execute("INSERT INTO c VALUES (1)")
        }
    }

    @Test func errorsNameTheStatement() throws {
        let store = try store()
        expectError(
            .sqlite(SQLITE_ERROR), "Cannot run 'SELECT * FROM missing': no such table: missing"
        ) { try store.rows("SELECT * FROM missing") }
        expectError(
            .sqlite(SQLITE_RANGE),
            "Cannot run 'SELECT ?, ?': it has 2 parameters, and 1 values (SQLite error 25)."
        ) {
            try store.rows("SELECT ?, ?", 1)
        }
    }

    @Test func missingDirectoryIsAnError() {
        let file = URL(filePath: "/no such directory/a.sqlite")
        expectError(.sqlite(SQLITE_CANTOPEN), "Cannot open '/no such directory/a.sqlite'") {
            _ = try SQLiteTestStore(at: .file(file))
        }
    }

    @Test func closedStoreRefusesCalls() throws {
        let store = try store()
        store.close()
        store.close()
        for call in [{ try store.execute("SELECT 1") }, { try store.withConnection { _ in } }] {
            expectError(.sqlite(SQLITE_MISUSE), "The store at ':memory:' is closed.") { try call() }
        }
    }

    @Test func connectionIsBorrowed() throws {
        let store = try store()
        #expect(try store.withConnection { sqlite3_get_autocommit($0) } == 1)
        #expect(throws: Rotten.self) { try store.withConnection { _ in throw Rotten() } }
    }

    @Test func storesInMemoryAreSeparate() throws {
        let (a, b) = (try store(), try store())
        try a.execute("CREATE TABLE t (a)")
        #expect(try b.value("SELECT count(*) FROM sqlite_schema") == 0)
    }

    @Test func severalStoresCanBeAtDevNull() throws {
        let (a, b) = (try SQLiteTestStore(at: .devNull), try SQLiteTestStore(at: .devNull))
        for store in [a, b] {
            try store.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
            #expect(try store.value("SELECT count(*) FROM t") == 1)
        }
    }

    @Test func storeWithoutAConnectionSaysSo() throws {
        let store = try OpaqueStore(at: .memory(name: "opaque"))
        expectError(.noConnection, "OpaqueStore cannot lend its connection") {
            try store.withConnection { _ in }
        }
        expectError(.noConnection) { try store.deleteAllRows() }
    }

    @Test func locationsHavePaths() {
        #expect(StoreLocation.file(URL(filePath: "/a b.sqlite")).path == "/a b.sqlite")
        #expect(StoreLocation.memory(name: "a").path == ":memory:")
        #expect(StoreLocation.devNull.path == "/dev/null")
        #expect(StorePlacement.allCases.map(\.rawValue) == ["disk", "memory", "null"])
    }

    @Test func errorsAreTheirMessage() {
        let error = TestStoreError(.leak, "A store was left changed.")
        #expect("\(error)" == "A store was left changed.")
        #expect(error.localizedDescription == "A store was left changed.")
        #expect(error == TestStoreError(.leak, "A store was left changed."))
        #expect(error != TestStoreError(.file, "A store was left changed."))
    }
}
