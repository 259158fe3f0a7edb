import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestStores
import Testing

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
