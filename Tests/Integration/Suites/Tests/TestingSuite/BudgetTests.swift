import FailureArtifactsTesting
import Foundation
import Testing

/// Many tests that fail at the same time, in any number of processes.
///
/// Variables set the content of their stores, and the file that records the order of the failures.
@Suite(.failureArtifacts) struct BudgetTests {
    private static func number(_ name: String) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? 0
    }

    /// `own`: a row of `BUDGET_BYTES` random bytes; with `BUDGET_SAME`, the same bytes in every test.
    @Test(arguments: 0..<63) func fails(_ number: Int) throws {
        let store = try Connection(try freshPath("own.sqlite"))
        let bytes = Self.number("BUDGET_BYTES")
        let content =
            Self.number("BUDGET_SAME") > 0
            ? "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(bytes / 4)) "
                + "SELECT group_concat(i * i % 9973) FROM n)"
            : "randomblob(\(bytes))"
        try store.execute("CREATE TABLE content (value); INSERT INTO content VALUES (\(content))")
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
