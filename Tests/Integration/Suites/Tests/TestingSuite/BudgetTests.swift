import Foundation
import Testing

/// Many tests that fail at the same time, in any number of processes.
///
/// Variables set the content of their stores, and the file that records the order of the failures.
@Suite struct BudgetTests {
    private static func number(_ name: String) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? 0
    }

    /// `own`: a row of `BUDGET_BYTES` random bytes.
    @Test(arguments: 0..<63) func fails(_ number: Int) throws {
        let store = try Connection(try freshPath("own.sqlite"))
        let bytes = Self.number("BUDGET_BYTES")
        try store.execute(
            "CREATE TABLE content (value); INSERT INTO content VALUES (randomblob(\(bytes)))")
        try store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        Self.note(number)
        Issue.record("budget \(number)")
        store.close()
    }

    /// Writes a line to the file `BUDGET_LOG`, which all processes share.
    private static func note(_ number: Int) {
        guard let path = ProcessInfo.processInfo.environment["BUDGET_LOG"] else { return }
        let file = open(path, O_WRONLY | O_APPEND)
        let line = "\(ProcessInfo.processInfo.processIdentifier) \(number)\n"
        _ = line.withCString { write(file, $0, strlen($0)) }
        close(file)
    }
}
