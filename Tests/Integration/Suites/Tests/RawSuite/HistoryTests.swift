import Foundation
import XCTest

/// A store whose rows have a history.
final class RowHistoryTests: XCTestCase {
    /// `ledger`: several kinds of keys, and an open transaction.
    ///
    /// The statements have no parameters, so that the checks can run them again.
    func testLedger() throws {
        let database = try Database(try freshPath("ledger.sqlite"), journal: "wal", fruit: "apple")
        try database.execute(
            "CREATE TABLE account (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, cents INTEGER NOT NULL)")
        try database.execute(
            "CREATE TABLE rate (day TEXT, currency TEXT, value REAL, PRIMARY KEY (day, currency)) WITHOUT ROWID"
        )
        try database.execute("CREATE TABLE token (secret BLOB PRIMARY KEY, owner)")
        try database.execute("CREATE TABLE note (text)")
        for number in 1...8 {
            try database.execute(
                "INSERT INTO account VALUES (\(number), 'owner \(number)', \(number * 100))")
        }
        try database.execute(
            "INSERT INTO rate VALUES ('2026-03-01', 'EUR', 1.5), ('2026-03-01', 'SEK', 9)")
        try database.execute("INSERT INTO token VALUES (X'00FF', 1), (X'FF', 2)")
        try database.execute("INSERT INTO note VALUES ('first'), ('second')")
        try database.execute("UPDATE account SET cents = cents - 350 WHERE id = 3")
        try database.execute("UPDATE rate SET value = 1.25 WHERE currency = 'EUR'")
        try database.execute("BEGIN")
        try database.execute("UPDATE account SET cents = cents + 350 WHERE id = 3")
        try database.execute("DELETE FROM account WHERE id = 5")
        try database.execute("COMMIT")
        try database.execute("UPDATE token SET owner = 7 WHERE secret = X'00FF'")
        try database.execute("REPLACE INTO account VALUES (4, 'somebody', -1)")
        try database.execute("DELETE FROM note WHERE text = 'first'")
        try database.execute("INSERT INTO account VALUES (5, 'again', 5)")
        try database.execute("UPDATE account SET owner = upper(owner)")
        try database.execute("UPDATE account SET cents = 0 WHERE cents < 0")
        try database.execute("BEGIN")
        try database.execute("UPDATE account SET cents = -7 WHERE id = 8")
        XCTFail("with a history")
        try database.execute("ROLLBACK")
    }
}

/// A store whose transactions the checks choose.
final class SmallHistoryTests: XCTestCase {
    /// `small`: the steps in the variable `SUITE_STEPS`, each of which is the number of a connection and a statement.
    ///
    /// A statement may fail. It may be followed by a number of executions; `@` stands for the number of each one. The
    /// connection "memory" has a store in memory.
    func testSteps() throws {
        let text = try XCTUnwrap(ProcessInfo.processInfo.environment["SUITE_STEPS"])
        let path = try freshPath("small.sqlite")
        var databases: [String: Database] = [:]
        for step in try JSONDecoder().decode([[String]].self, from: Data(text.utf8)) {
            let database = try databases[step[0]] ?? Database(step[0] == "memory" ? ":memory:" : path)
            databases[step[0]] = database
            for number in 0..<(Int(step.last ?? "") ?? 1) {
                try? database.execute(step[1].replacingOccurrences(of: "@", with: "\(number)"))
            }
        }
        XCTFail("after the steps")
        for database in databases.values { try database.close() }
    }
}
