package import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The repetition of a store's logged statements, and the place where its result differs from the captured store.
package struct Replay {
    /// The state that the repetition begins with.
    package enum Start: String, Encodable, Sendable {
        /// The state before the first transaction of the history.
        case history
        /// The state when the test began to use the store.
        case baseline
        /// A store without tables.
        case empty
    }

    package enum Result: String, Encodable, Sendable {
        /// The result is the captured store.
        case same
        /// The result differs from the captured store.
        case different
        /// Some statements couldn't be run, and there was no difference otherwise.
        case incomplete
    }

    /// A statement that can't be run again.
    package struct Skipped: Sendable {
        /// The number of the transaction; nil without a history.
        package let transaction: Int?
        /// The statement; nil if the statements of the transaction are unknown.
        package let sql: String?
        /// The reason, as a clause.
        package let reason: String
    }

    /// The first difference.
    package struct Difference: Sendable {
        /// The number of the transaction; nil without a history.
        package let transaction: Int?
        /// The rows that differ: from the replayed to the captured value.
        package let rows: [Finding.Row]
        /// The number of all rows that differ.
        package let rowCount: Int
        /// Descriptions of differences in the schema.
        package let schema: [String]
        /// The statements of the transaction.
        package let statements: [StatementRecord]
        /// A word in the statements that makes their result depend on the time or on chance; nil without one.
        package let unsteadyWord: String?
    }

    package let store: String
    package let start: Start
    /// The number of transactions of the history, or of the log if there is no history.
    package private(set) var transactionCount = 0
    /// The number of transactions that were replayed.
    package private(set) var replayedCount = 0
    package private(set) var skipped: [Skipped] = []
    package private(set) var difference: Difference?
    /// The path of the replayed store.
    package let path: String

    package var result: Result {
        difference != nil ? .different : skipped.isEmpty ? .same : .incomplete
    }

    /// The maximum number of rows of a difference to keep.
    private static let rowLimit: Int64 = 20

    private let limits: UntrustedLimits
    private let budget: TimeBudget
    /// True if the application enforced foreign keys.
    private let enforcesForeignKeys: Bool

    /// Replays the statements of a store.
    ///
    /// - Parameters:
    ///   - choice: The store's copy with the content that the test saw.
    ///   - bundle: The bundle.
    ///   - scratch: An existing directory for temporary files.
    ///   - limits: The resource limits.
    /// - Throws: An error if the store can't be read, or if the bundle has no statements of it.
    package init(
        of choice: StoreChoice, in bundle: BundleReader, scratch: String, limits: UntrustedLimits
    ) throws {
        let choices = bundle.metadata.storeChoices
        let records = StatementLines.applied(to: try bundle.statements(of: choice.store))
        guard !records.isEmpty else {
            throw CommandError(
                .noInput,
                "The bundle has no statements of the store '\(choice.store.name)', so none can be replayed."
            )
        }
        store = choice.store.name
        self.limits = limits
        budget = TimeBudget(limits)
        enforcesForeignKeys = records.contains { record in
            let words = StatementOutline.words(of: record.sql, limit: 8)
            return words.contains("foreign_keys")
                && !["on", "1", "true", "yes"].filter(words.contains).isEmpty
        }
        path = Path.join(scratch, "replayed.sqlite")
        let committed = choice.committed(among: choices) ?? choice
        if choice.store.history?.entry != nil {
            start = .history
            let evidence = try StoreEvidence(
                choice, of: bundle, scratch: scratch, limits: limits,
                deadline: Instant.now.advanced(bySeconds: limits.seconds ?? 86_400))
            try replayHistory(
                bundle.extractHistory(of: committed, below: scratch), evidence.steps, scratch: scratch)
            return
        }
        if let first = choice.start(among: choices) {
            start = .baseline
            try FileSystem.rename(try bundle.extract(first, below: scratch), to: path)
        } else {
            start = .empty
            let encoding = try Connection.untrusted(
                try bundle.extract(committed, below: scratch), limits: limits
            ).text(of: "PRAGMA encoding")
            try DatabaseCopy.createEmpty(at: path, encoding: encoding)
        }
        try replayLog(records, against: try bundle.extract(committed, below: scratch))
    }

    // MARK: - With a history

    /// Replays one transaction after the other, until the result differs from the recorded state.
    private mutating func replayHistory(
        _ history: borrowing ExtractedHistory, _ steps: [StoreEvidence.Step], scratch: String
    ) throws {
        transactionCount = history.reader.transactions.count
        let recorded = try history.rebuild(0, to: Path.join(scratch, "recorded.sqlite"))
        try FileSystem.copy(recorded, toNewFile: path)
        for number in 1..<transactionCount + 1 {
            try history.advance(recorded, from: number - 1)
            let step = steps.first { $0.number == number }
            if let obstacle = try obstacle(step?.statements.map(\.record) ?? []) {
                skipped.append(
                    Skipped(transaction: number, sql: obstacle.sql, reason: obstacle.reason))
                // The next transactions begin with the recorded state.
                try FileSystem.remove(path)
                try FileSystem.copy(recorded, toNewFile: path)
                continue
            }
            replayedCount += 1
            difference = try difference(
                from: recorded, transaction: number, step?.statements.map(\.record) ?? [])
            if difference != nil { return }
        }
    }

    // MARK: - Without a history

    private mutating func replayLog(_ records: [StatementRecord], against captured: String) throws {
        let groups = LoggedTransactions(
            start == .baseline ? records.filter { $0.phase == .test } : records
        ).groups
        transactionCount = groups.count
        for group in groups {
            if let obstacle = try obstacle(group.records) {
                skipped.append(Skipped(transaction: nil, sql: obstacle.sql, reason: obstacle.reason))
            } else {
                replayedCount += 1
            }
        }
        difference = try difference(from: captured, transaction: nil, groups.flatMap(\.records))
        // What is missing explains a difference.
        if !skipped.isEmpty { difference = nil }
    }

    // MARK: - Transactions

    /// Runs the statements of a transaction.
    ///
    /// - Returns: The reason why they can't be run, with the statement; nil if they were run.
    private func obstacle(
        _ records: [StatementRecord]
    ) throws -> (sql: String?, reason: String)? {
        guard !records.isEmpty else { return (nil, "the log has no statements that can have made it") }
        let connection = try Connection.untrustedForWriting(path, limits: budget.remaining())
        try connection.enableTriggers(foreignKeys: enforcesForeignKeys)
        try connection.execute("BEGIN")
        for record in records where record.error == nil {
            do {
                try ReplayedStatement(record).run(in: connection)
            } catch let obstacle as ReplayedStatement.Obstacle {
                try connection.execute("ROLLBACK")
                return (record.sql, obstacle.reason)
            } catch let error as SQLiteError {
                if error.isInterrupted { throw error }
                // Some errors have rolled the transaction back already.
                try? connection.execute("ROLLBACK")
                return (record.sql, "it fails: \(error.message)")
            }
        }
        do throws(SQLiteError) {
            try connection.execute("COMMIT")
        } catch {
            if error.isInterrupted { throw error }
            try? connection.execute("ROLLBACK")
            return (nil, "its commit fails: \(error.message)")
        }
        return nil
    }

    /// Compares the replayed store with a recorded one.
    private func difference(
        from recorded: String, transaction: Int?, _ records: [StatementRecord]
    ) throws -> Difference? {
        let comparison = try StoreComparison(
            a: .init(path: path, isPrivate: true), b: .init(path: recorded, isPrivate: true),
            limits: budget.remaining())
        let (changes, tables) = try comparison.changes(rowLimit: Self.rowLimit)
        // ROWIDs of new rows depend on rows that were deleted before the log begins.
        let changed = tables.filter { $0.table.name != "sqlite_sequence" }
        let count = changed.reduce(0) { $0 + Int($1.counts.total) }
        guard count > 0 || !changes.schema.isEmpty || changes.userVersion != nil else { return nil }
        let schema = changes.schema.map { "\($0.type) \($0.name) \($0.change.rawValue)" }
        return Difference(
            transaction: transaction,
            rows: changed.flatMap { table in table.rows.map { StoreEvidence.row($0, in: table) } },
            rowCount: count, schema: schema, statements: records,
            unsteadyWord: records.lazy.compactMap { ReplayedStatement($0).unsteadyWord }.first)
    }
}
