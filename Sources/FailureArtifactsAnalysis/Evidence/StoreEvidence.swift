package import FailureArtifactsBundle
internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A store of a failure, with everything that findings are derived from.
package final class StoreEvidence {
    /// A transaction that changed the store, or the one that was open at the failure.
    package struct Step {
        /// The transaction's number in the history; nil for the transaction that was open at the failure, or that was
        /// rolled back by the error that failed the test.
        package let number: Int?
        /// The number of pages that the transaction wrote; 0 if unknown.
        package let pages: Int
        package let changes: StateChanges
        package let tables: [ChangedTable]
        /// The transaction's statements; empty if they are unknown.
        package fileprivate(set) var statements: [Statement] = []

        /// True if it ran before the test.
        var isEarlier: Bool {
            !statements.isEmpty && statements.allSatisfy { $0.record.phase == .earlier }
        }

        /// True if ``tables`` has all rows that it changed.
        var isComplete: Bool {
            tables.allSatisfy(\.isComplete) && changes.tables.allSatisfy { $0.problem == nil }
        }

        func table(_ name: String) -> ChangedTable? {
            tables.first { folded($0.table.name) == folded(name) }
        }

        func counts(of name: String) -> StateChanges.Table? {
            changes.tables.first { folded($0.name) == folded(name) }
        }
    }

    /// A logged statement.
    package struct Statement {
        package internal(set) var record: StatementRecord
        let outline: StatementOutline
        let parts: StatementOutline.Parts

        init(_ record: StatementRecord) {
            self.record = record
            outline = StatementOutline(record.sql)
            parts = StatementOutline.Parts(record.sql)
        }

        var order: UInt64 { record.order }
        /// True if it inserts, updates or deletes rows.
        var writes: Bool { outline.isWrite }

        /// True for a `DELETE` that names the table.
        func deletes(from table: String) -> Bool {
            outline.kind == .delete && outline.table == folded(table)
        }
    }

    let store: BundleMetadata.Store
    /// The path of the copy with the content that the test saw.
    package let path: String
    /// The copy with the content that the test saw, for reading.
    let connection: Connection
    package let schema: DatabaseSchema
    /// The statements on the store's connections, oldest first.
    package let statements: [Statement]
    /// The last transactions of the history, oldest first, and the transaction that was open at the failure.
    ///
    /// All of the history's transactions are there unless the time was up. If there was no time for the last ones, or for
    /// the open transaction, none are there.
    package let steps: [Step]
    /// The changes since the test's last snapshot, if there are no ``steps``; nil without a snapshot.
    ///
    /// The statements of the step are those of the test since then.
    let sinceSnapshot: (label: String, step: Step)?
    /// The number of transactions that the history has.
    package let transactionCount: Int
    let limits: UntrustedLimits
    let bundle: BundleReader
    /// True if the log could be read.
    let hasLog: Bool
    /// True if a transaction was open at the failure, of which the history has no state.
    private let isOpen: Bool
    /// The copy that the history belongs to.
    private let committed: StoreChoice
    private let scratch: String
    /// The maximum number of changed rows to keep for a table and a transaction.
    static let rowLimit: Int64 = 500

    private var knownRelevance: Relevance?
    private var knownResult: AssertedResult??
    private var knownQuotation: Statement??
    /// The statements that ran during the test.
    private(set) lazy var testStatements = statements.filter { $0.record.phase == .test }
    /// The transactions of all connections, as indices of ``statements``.
    private(set) lazy var connectionTransactions = ConnectionTransaction.all(in: statements.outlined)
    private(set) lazy var transactions = StatementTransactions(
        statements, connectionTransactions, steps)
    private(set) lazy var effects = StatementEffects(self)
    private(set) lazy var locks = StatementLocks(statements)
    /// The tables whose statements can change rows of other tables; nil if triggers were added or dropped.
    private(set) lazy var linked: LinkedTables? = {
        let isSteady = steps.allSatisfy { $0.changes.schema.allSatisfy { $0.type != "trigger" } }
        guard isSteady else { return nil }
        var linked = LinkedTables()
        linked.add(schema)
        return linked
    }()
    /// True if the log has all statements of the test, as far as SQLite reports them.
    private(set) lazy var hasWholeLog: Bool = {
        guard hasLog, let log = store.statements, log.reason == nil else { return false }
        return log.limit == nil || statements.contains { $0.record.phase == .earlier }
    }()
    /// True if ``steps`` has all changes of the test: it begins before the test, or has all statements that may have changed
    /// something.
    private(set) lazy var hasWholeTest: Bool =
        steps.contains(where: \.isEarlier)
        || hasWholeLog && !steps.isEmpty
            && testStatements.allSatisfy {
                !$0.mayHaveChanged || step(of: $0) != nil || isRolledBack($0)
            }
    /// The point in time after which ``checkTime()`` fails; nil for no limit.
    var deadline: Instant? {
        didSet { connection.setDeadline(deadline) }
    }

    package var name: String { store.name }

    /// Reads a store.
    ///
    /// - Parameters:
    ///   - choice: The store's copy with the content that the test saw.
    ///   - bundle: The bundle.
    ///   - scratch: An existing directory for temporary files, which the caller removes after the last use of the value.
    ///   - limits: The limits on resources that a state can use.
    ///   - deadline: The point in time after which the remaining transactions are left out.
    /// - Throws: An error if the copy can't be read. A history that can't be read is left out.
    init(
        _ choice: StoreChoice, of bundle: BundleReader, scratch: String, limits: UntrustedLimits,
        deadline: Instant
    ) throws {
        let committed = choice.committed(among: bundle.metadata.storeChoices)
        store = choice.store
        self.bundle = bundle
        self.committed = committed ?? choice
        isOpen = committed != nil
        self.scratch = scratch
        self.limits = limits
        path = try bundle.extract(choice, below: scratch)
        connection = try Connection.untrusted(path, limits: limits)
        schema = try DatabaseSchema("main", of: connection)
        let log = try? bundle.statements(of: choice.store)
        hasLog = log != nil && choice.store.statements != nil
        let records = StatementLines.applied(to: log ?? [])
        let statements = records.map { Statement($0) }
        self.statements = statements
        var steps: [Step] = []
        var count = 0
        if choice.store.history?.entry != nil,
            let history = try? bundle.extractHistory(of: self.committed, below: scratch)
        {
            count = history.reader.transactions.count
            steps = (try? Self.steps(of: history, self.committed.store, limits, deadline, records)) ?? []
        }
        if let committed {
            do {
                let path = try bundle.extract(committed, below: scratch)
                let open = try Self.openTransaction(from: path, to: self.path, limits, deadline)
                if let open { steps.append(open) }
            } catch {
                // The other steps would look as if they led to the state at the failure.
                steps = []
            }
        }
        if let last = steps.indices.last, steps[last].number == nil {
            steps[last].statements = UncommittedTransaction(in: statements.outlined)
                .statements(beforeRollback: store.isBeforeRollback).map { statements[$0] }
        }
        self.steps = steps
        transactionCount = count
        sinceSnapshot =
            steps.isEmpty
            ? try? Self.changes(
                since: choice.snapshot(in: bundle.metadata), in: bundle, to: path, statements,
                below: scratch, limits, deadline) : nil
    }

    /// Returns the changes since a snapshot of the test; nil without one, or without changes.
    private static func changes(
        since snapshot: (snapshot: BundleMetadata.Snapshot, choice: StoreChoice)?,
        in bundle: BundleReader, to path: String, _ statements: [Statement], below scratch: String,
        _ limits: UntrustedLimits, _ deadline: Instant
    ) throws -> (label: String, step: Step)? {
        guard let (snapshot, choice) = snapshot,
            var step = try openTransaction(
                from: bundle.extract(choice, below: scratch), to: path, limits, deadline)
        else { return nil }
        // A statement of the same millisecond may have run before it.
        let start = MetadataTime.milliseconds(of: snapshot.at) ?? 0
        step.statements = statements.filter { statement in
            statement.record.phase == .test
                && MetadataTime.milliseconds(of: statement.record.at) ?? 0 >= start
        }
        return (snapshot.label, step)
    }

    /// The number of transactions that are read first, because they matter most.
    private static let recentCount = 40

    /// Reads the last transactions, and then the ones before them if there is time for all of those.
    private static func steps(
        of history: borrowing ExtractedHistory, _ store: BundleMetadata.Store, _ limits: UntrustedLimits,
        _ deadline: Instant, _ records: [StatementRecord]
    ) throws -> [Step] {
        let count = history.reader.transactions.count
        let first = max(0, count - recentCount)
        let recent = try steps(of: history, first..<count, limits, deadline)
        // Without the last transactions, the others would look as if they led to the state at the failure.
        guard recent.count == count - first else { return [] }
        let earlier = first > 0 ? (try? steps(of: history, 0..<first, limits, deadline)) ?? [] : []
        var steps = earlier.count == first ? earlier + recent : recent
        let found = LoggedTransactions(records, of: store).statements(
            of: steps.map { .init(number: $0.number, pages: $0.pages, changes: $0.changes) },
            isWhole: steps.count == count && store.history?.reason == nil)
        for (index, statements) in found.enumerated() {
            steps[index].statements = statements.map { Statement($0) }
        }
        return steps
    }

    private static func steps(
        of history: borrowing ExtractedHistory, _ range: Range<Int>, _ limits: UntrustedLimits,
        _ deadline: Instant
    ) throws -> [Step] {
        var steps: [Step] = []
        guard !range.isEmpty else { return steps }
        do {
            try history.forEachTransaction(
                after: range.lowerBound, rowLimit: rowLimit, limits: limits, deadline: deadline
            ) { transaction in
                steps.append(
                    Step(
                        number: transaction.number, pages: transaction.pages,
                        changes: transaction.changes, tables: transaction.tables))
                return steps.count < range.count && Instant.now < deadline
            }
        } catch let error as SQLiteError where error.isInterrupted {
            // The transactions before this one are known.
        }
        return steps
    }

    private static func openTransaction(
        from committed: String, to seen: String, _ limits: UntrustedLimits, _ deadline: Instant
    ) throws -> Step? {
        let comparison = try StoreComparison(
            a: .init(path: committed, isPrivate: true), b: .init(path: seen, isPrivate: true),
            deadline: deadline, limits: limits)
        let (changes, tables) = try comparison.changes(rowLimit: rowLimit)
        guard !tables.isEmpty || !changes.schema.isEmpty else { return nil }
        return Step(number: nil, pages: 0, changes: changes, tables: tables)
    }

    /// Extracts the history again, to rebuild the states between its transactions.
    ///
    /// - Returns: The history.
    /// - Throws: An error if it is missing or damaged, or if a file can't be read or written.
    func extractHistory() throws(BundleError) -> ExtractedHistory {
        try bundle.extractHistory(of: committed, below: scratch)
    }

    /// Returns the relation between findings about the store and a failure, which takes time only once.
    ///
    /// It lifts the connection's deadline, so a rule must not be the first to ask for it.
    ///
    /// - Parameters:
    ///   - message: The failure's message, which is the same in all calls.
    ///   - seconds: The time limit for searching for sums.
    /// - Returns: The relation.
    func relevance(to message: FailureMessage, seconds: Double = 0.1) -> Relevance {
        if let knownRelevance { return knownRelevance }
        let relevance = Relevance(self, message, deadline: Instant.now.advanced(bySeconds: seconds))
        knownRelevance = relevance
        return relevance
    }

    /// Returns the last statement of the test whose text is in a message, as in GRDB's errors, which takes time only once.
    ///
    /// - Parameter message: The failure's message, which is the same in all calls.
    /// - Returns: The statement; nil for other messages.
    func statement(namedIn message: FailureMessage) -> Statement? {
        if let knownQuotation { return knownQuotation }
        let found = testStatements.last { message.quotes($0.record.sql) }
        knownQuotation = .some(found)
        return found
    }

    /// Returns the results that the failing query had in the states of the history, which takes time only once.
    ///
    /// It is the last one of the last queries that returns the actual value of the assertion.
    ///
    /// - Parameters:
    ///   - message: The failure's message, which is the same in all calls.
    ///   - seconds: The time limit.
    /// - Returns: The results; nil if there is no such query or no history, or if the time was up.
    func assertedResult(for message: FailureMessage, seconds: Double = 1) -> AssertedResult? {
        if let knownResult { return knownResult }
        let end = Instant.now.advanced(bySeconds: seconds)
        connection.setDeadline(end)
        defer { connection.setDeadline(deadline) }
        var result: AssertedResult?
        for query in relevance(to: message).queries where result == nil && Instant.now < end {
            // A query that fails, or that has a function of the application, has no results.
            guard let query = try? AssertedQuery(query, in: self, message) else { continue }
            result = try? extractHistory().results(
                of: query, open: isOpen ? path : nil, tables: tables, limits: limits, deadline: end)
        }
        knownResult = result
        return result
    }

    /// Throws ``TimeIsUp`` after the deadline, for loops that run no query.
    func checkTime() throws(TimeIsUp) {
        if let deadline, Instant.now > deadline { throw TimeIsUp() }
    }

    struct TimeIsUp: Error {}
}
