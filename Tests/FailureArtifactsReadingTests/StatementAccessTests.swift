import FailureArtifactsSQLite
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsReading

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
