package import FailureArtifactsBundle
internal import FailureArtifactsReading
package import FailureArtifactsSQLite

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

        /// True if it changed a cell of a certain kind.
        ///
        /// - Parameter isMatch: Returns true for the folded name of a table and a cell of one of its rows.
        /// - Returns: True if there is such a cell.
        func wrote(_ isMatch: (_ table: String, _ cell: RowChange.Cell) -> Bool) -> Bool {
            tables.contains { table in
                let name = folded(table.table.name)
                return table.rows.contains { row in row.cells.contains { isMatch(name, $0) } }
            }
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
    }

    /// Facts about the questions of the failed assertion.
    struct Asked {
        /// The folded names of the tables that the queries read.
        var tables: Set<String> = []
        /// The folded names of those of which they need no row, because they read them with `LEFT JOIN`.
        var optionalTables: Set<String> = []
        /// True if a query has the expected result.
        var isAnswered = false
    }

    let store: BundleMetadata.Store
    /// The questions about the store.
    var asked = Asked()
    /// The path of the copy with the content that the test saw.
    package let path: String
    /// The copy with the content that the test saw, for reading.
    let connection: Connection
    package let schema: DatabaseSchema
    /// The statements on the store's connections, oldest first.
    package let statements: [Statement]
    /// The last transactions of the history, oldest first, and the transaction that was open at the failure.
    ///
    /// If the history or the open transaction can't be read, none are there.
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
    /// The files with earlier states, by the numbers of their transactions.
    private var rebuilt: [Int: String] = [:]
    /// The history from which they are rebuilt; nil before the first one.
    private var extracted: ExtractedHistory?
    /// The maximum number of changed rows to keep for a table and a transaction.
    static let rowLimit: Int64 = 2000

    private var knownQuotation: Statement??
    /// The statements that ran during the test.
    private(set) lazy var testStatements = statements.filter { $0.record.phase == .test }
    /// The transactions of all connections, as indices of ``statements``.
    private(set) lazy var connectionTransactions = ConnectionTransaction.all(in: statements.outlined)
    private(set) lazy var transactions = StatementTransactions(
        statements, connectionTransactions, steps)
    /// The references between the tables; empty if a table's definition can't be read.
    private(set) lazy var references = (try? Reference.all(in: schema, of: connection)) ?? []
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
    package var name: String { store.name }

    /// Reads a store.
    ///
    /// - Parameters:
    ///   - choice: The store's copy with the content that the test saw.
    ///   - bundle: The bundle.
    ///   - scratch: An existing directory for temporary files, which the caller removes after the last use of the value.
    ///   - limits: The limits on resources that a state can use.
    ///   - transactions: The maximum number of transactions that are read, the last ones of the history.
    /// - Throws: An error if the copy can't be read. A history that can't be read is left out.
    init(
        _ choice: StoreChoice, of bundle: BundleReader, scratch: String, limits: UntrustedLimits,
        transactions: Int
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
            steps =
                (try? Self.steps(of: history, self.committed.store, limits, transactions, records)) ?? []
        }
        if let committed {
            do {
                let path = try bundle.extract(committed, below: scratch)
                let open = try Self.openTransaction(from: path, to: self.path, limits)
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
                below: scratch, limits) : nil
    }

    /// Returns the changes since a snapshot of the test; nil without one, or without changes.
    private static func changes(
        since snapshot: (snapshot: BundleMetadata.Snapshot, choice: StoreChoice)?,
        in bundle: BundleReader, to path: String, _ statements: [Statement], below scratch: String,
        _ limits: UntrustedLimits
    ) throws -> (label: String, step: Step)? {
        guard let (snapshot, choice) = snapshot,
            var step = try openTransaction(
                from: bundle.extract(choice, below: scratch), to: path, limits)
        else { return nil }
        // A statement of the same millisecond may have run before it.
        let start = MetadataTime.milliseconds(of: snapshot.at) ?? 0
        step.statements = statements.filter { statement in
            statement.record.phase == .test
                && MetadataTime.milliseconds(of: statement.record.at) ?? 0 >= start
        }
        return (snapshot.label, step)
    }

    /// Reads the last transactions.
    private static func steps(
        of history: borrowing ExtractedHistory, _ store: BundleMetadata.Store, _ limits: UntrustedLimits,
        _ maximum: Int, _ records: [StatementRecord]
    ) throws -> [Step] {
        let count = history.reader.transactions.count
        let first = max(0, count - maximum)
        var steps: [Step] = []
        try history.forEachTransaction(after: first, rowLimit: rowLimit, limits: limits) { transaction in
            steps.append(
                Step(
                    number: transaction.number, pages: transaction.pages,
                    changes: transaction.changes, tables: transaction.tables))
            return true
        }
        let found = LoggedTransactions(records, of: store).statements(
            of: steps.map { .init(number: $0.number, pages: $0.pages, changes: $0.changes) },
            isWhole: steps.count == count && store.history?.reason == nil)
        for (index, statements) in found.enumerated() {
            steps[index].statements = statements.map { Statement($0) }
        }
        return steps
    }

    private static func openTransaction(
        from committed: String, to seen: String, _ limits: UntrustedLimits
    ) throws -> Step? {
        let comparison = try StoreComparison(
            a: .init(path: committed, isPrivate: true), b: .init(path: seen, isPrivate: true),
            limits: limits)
        let (changes, tables) = try comparison.changes(rowLimit: rowLimit)
        guard !tables.isEmpty || !changes.schema.isEmpty else { return nil }
        return Step(number: nil, pages: 0, changes: changes, tables: tables)
    }

    /// Returns the steps that had ended when a statement ran, as far as it is known.
    func steps(before statement: Statement) -> ArraySlice<Step> {
        let order = statement.record.lastOrder ?? statement.order
        let end = steps.firstIndex { step in
            step.statements.contains(where: \.writes) && step.statements.allSatisfy { $0.order > order }
        }
        return steps[..<(end ?? steps.endIndex)]
    }

    /// Returns the path of a file with the state in which a statement ran: the copy, unless later transactions changed the
    /// store.
    func path(at statement: Statement) -> String {
        let earlier = steps(before: statement)
        guard earlier.count < steps.count, let next = steps[earlier.endIndex].number else { return path }
        let number = next - 1
        if let known = rebuilt[number] { return known }
        if extracted == nil { extracted = try? extractHistory() }
        let state = (try? extracted?.rebuild(number)) ?? path
        rebuilt[number] = state
        return state
    }

    /// Extracts the history again, to rebuild the states between its transactions.
    ///
    /// - Returns: The history.
    /// - Throws: An error if it is missing or damaged, or if a file can't be read or written.
    func extractHistory() throws(BundleError) -> ExtractedHistory {
        try bundle.extractHistory(of: committed, below: scratch)
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

}
