internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Statements of the log that a test runs on its store, as one transaction, with their values.
package struct FixtureRun {
    /// The statements of the culprit; empty if the store is the one that the query read.
    package let statements: [String]
    /// The statements that the failed test ran between them and the query; empty if the result is the same without them.
    package private(set) var later: [String] = []
    /// A statement that sets up the connection as the failed test's was; nil without one.
    package private(set) var setting: String?
    /// True if the statements fail, and the failed test went on.
    package private(set) var ignoresErrors = false

    /// Makes the runs to try, the simplest one first; empty if a value is unknown.
    static func all(
        of statements: [Timeline.Statement], later: [Timeline.Statement], ignoresErrors: Bool = false
    ) -> [FixtureRun] {
        let own = statements.compactMap { text(of: $0, isFailing: $0.record.error != nil) }
        guard !own.isEmpty, own.count == statements.count else { return [] }
        var run = FixtureRun(statements: own)
        run.ignoresErrors = ignoresErrors
        var runs = [run]
        run.later = later.compactMap { text(of: $0, isFailing: false) }
        if run.later.count == later.count, !later.isEmpty { runs.append(run) }
        // It isn't recorded whether a connection enforced foreign keys.
        return [nil, "PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON"].flatMap {
            setting in
            runs.map { run in
                var run = run
                run.setting = setting
                return run
            }
        }
    }

    /// Returns a statement with its values; nil if one is unknown.
    private static func text(of statement: Timeline.Statement, isFailing: Bool) -> String? {
        var record = statement.record
        guard let sql = statement.localSQL, record.repeated ?? 1 == 1 else { return nil }
        record.sql = sql
        // A statement that names something missing has failed before it got its values.
        return (record.sqlWithLiterals ?? (isFailing && record.cut != true ? sql : nil))?.trimmed
    }

    /// Returns the value of an assertion after the statements have run on a copy of a store; nil if one of them fails.
    func value(
        of assertion: RowAssertion, onCopyOf path: String, _ limits: UntrustedLimits,
        prepared prepare: (borrowing Connection) throws -> Void = { _ in }
    ) -> RowAssertion.Part? {
        try? withCopy(of: path, limits) { connection in
            try prepare(connection)
            try run(on: connection)
            return try assertion.value(in: connection)
        }
    }

    /// Returns the error with which the statements fail on a copy of a store; nil without one.
    func error(onCopyOf path: String, _ limits: UntrustedLimits) -> StatementRecord.Failure? {
        do {
            try withCopy(of: path, limits, run)
        } catch let error as SQLiteError {
            return StatementRecord.Failure(code: error.code, message: error.message)
        } catch {}
        return nil
    }

    private func withCopy<Result>(
        of path: String, _ limits: UntrustedLimits,
        _ body: (borrowing Connection) throws -> Result
    ) throws -> Result {
        let copy = path + ".try"
        defer { try? FileSystem.remove(copy) }
        try FileSystem.copy(path, toNewFile: copy)
        let budget = StepBudget(steps: Effort.standard.steps)
        defer { withExtendedLifetime(budget) {} }
        let connection = try Connection.untrustedForWriting(copy, limits: limits)
        budget.limit(connection)
        return try body(connection)
    }

    private func run(on connection: borrowing Connection) throws {
        connection.enforce(foreignKeys: true)
        if let setting { try connection.execute(setting) }
        do {
            try run(statements, on: connection)
        } catch {
            guard ignoresErrors else { throw error }
            try? connection.execute("ROLLBACK")
        }
        try run(later, on: connection)
    }

    private func run(_ transaction: [String], on connection: borrowing Connection) throws {
        try connection.execute("BEGIN")
        for sql in transaction {
            // A text of several statements is an error.
            let statement = try connection.prepare(sql)
            while try statement.step() {}
        }
        try connection.execute("COMMIT")
    }
}
