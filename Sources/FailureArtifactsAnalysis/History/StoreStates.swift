package import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The states of a store up to the failure: those of its history and, if a transaction was open, what that one saw.
package struct StoreStates: ~Copyable {
    /// A transaction with its changed rows and its statements.
    package struct Transaction: Sendable {
        /// The maximum number of changed rows to keep of each table in a single transaction.
        static let rowLimit: Int64 = 100

        /// The number in the history, from 1; nil for the transaction that was open at the failure.
        package let number: Int?
        package let changes: StateChanges
        /// The changed tables, with the rows that were selected.
        package let tables: [ChangedTable]
        /// The statements; empty if they are unknown.
        package fileprivate(set) var statements: [StatementRecord] = []
    }

    package let store: BundleMetadata.Store
    /// The copy with the changes of the open transaction; nil if no transaction was open.
    let open: String?
    let limits: UntrustedLimits
    private let history: ExtractedHistory
    private let log: [StatementRecord]

    /// Extracts the history of a store.
    ///
    /// - Parameters:
    ///   - choice: The store's copy. The one with the content that the test saw includes an open transaction.
    ///   - log: The store's statements.
    ///   - bundle: The bundle.
    ///   - scratch: An existing directory for temporary files, which the caller removes.
    ///   - limits: The limits on resources that a state can use.
    /// - Throws: An error if there is no history, or if a file is damaged.
    package init(
        of choice: StoreChoice, log: [StatementRecord], in bundle: BundleReader, scratch: String,
        limits: UntrustedLimits
    ) throws {
        let history = try bundle.extractHistory(of: choice, below: scratch)
        let isOpen = choice.committed(among: bundle.metadata.storeChoices) != nil
        let open = isOpen ? try bundle.extract(choice, below: scratch) : nil
        store = choice.store
        self.log = log
        self.limits = limits
        self.history = history
        self.open = open
    }

    /// The copy with the last state.
    package var lastCopy: String { open ?? history.copy }

    /// The number of transactions in the history.
    package var transactionCount: Int { history.reader.transactions.count }

    /// Visits the states, oldest first.
    ///
    /// One file follows the history.
    ///
    /// - Parameter body: Receives the number of the transaction before the state, which is 0 for the first state and
    ///   nil for the open transaction, and the path of the state. It returns false to stop.
    /// - Throws: An error if a state can't be rebuilt, or the error that `body` throws.
    borrowing func forEachState(
        _ body: (_ number: Int?, _ path: String) throws -> Bool
    ) throws {
        let path = try history.rebuild(0)
        defer { try? FileSystem.remove(path) }
        for number in 0...transactionCount {
            if number > 0 { try history.advance(path, from: number - 1) }
            guard try body(number, path) else { return }
        }
        if let open { _ = try body(nil, open) }
    }

    /// Visits the transactions in order, and then finds their statements.
    ///
    /// - Parameters:
    ///   - rows: The changed rows to keep.
    ///   - isOver: Returns true when the time is up.
    /// - Returns: All transactions, with the open one last.
    /// - Throws: An error if a state can't be rebuilt or read, or if the time is up.
    borrowing func transactions(
        keeping rows: RowSelection, isOver: () -> Bool
    ) throws -> [Transaction] {
        var found: [Transaction] = []
        try history.forEachTransaction(limits: limits, keeping: rows) { transaction, _ in
            found.append(
                Transaction(
                    number: transaction.number, changes: transaction.changes, tables: transaction.tables)
            )
            return !isOver()
        }
        guard found.count == transactionCount else {
            throw CommandError(
                .inputOutput,
                "The history took too long: transactions from \(found.count + 1) on were not read. "
                    + CommandError.limitsHint)
        }
        let statements = statements(of: found.map(\.changes))
        for index in found.indices { found[index].statements = statements[index] }
        if let open = try openTransaction(keeping: rows) { found.append(open) }
        return found
    }

    /// Returns one transaction.
    ///
    /// - Parameters:
    ///   - number: Its number in the history; nil for the open one.
    ///   - seconds: The time limit for reading other transactions, which help to tell the statements apart.
    /// - Returns: The transaction; nil if it doesn't exist.
    /// - Throws: An error if a state can't be rebuilt or read.
    package borrowing func transaction(
        _ number: Int?, seconds: Double = 0.5
    ) throws -> Transaction? {
        let rows = RowSelection(limit: Transaction.rowLimit)
        guard let number else { return try openTransaction(keeping: rows) }
        var changes = [StateChanges?](repeating: nil, count: transactionCount)
        var found: Transaction?
        try history.forEachTransaction(after: number - 1, limits: limits, keeping: rows) { first, _ in
            found = Transaction(number: number, changes: first.changes, tables: first.tables)
            return false
        }
        changes[number - 1] = found?.changes
        if !log.isEmpty {
            let deadline = Instant.now.advanced(bySeconds: seconds)
            // The neighbours are the most likely to be mistaken for it.
            for first in [number, 0] where Instant.now < deadline {
                try history.forEachTransaction(after: first, limits: limits) { other, _ in
                    changes[other.number - 1] = other.changes
                    return Instant.now < deadline && (first > 0 || other.number < number)
                }
            }
            found?.statements = statements(of: changes)[number - 1]
        }
        return found
    }

    private borrowing func statements(of changes: [StateChanges?]) -> [[StatementRecord]] {
        let pages = history.reader.transactions.map(\.pages.count)
        return LoggedTransactions(log, of: store).statements(
            of: zip(pages, changes).map { .init(pages: $0, changes: $1) },
            isWhole: store.history?.reason == nil)
    }

    private borrowing func openTransaction(keeping rows: RowSelection) throws -> Transaction? {
        guard let open else { return nil }
        let comparison = try StoreComparison(
            a: .init(path: history.copy, isPrivate: true), b: .init(path: open, isPrivate: true),
            limits: limits)
        let (changes, tables) = try comparison.changes(keeping: rows)
        return Transaction(
            number: nil, changes: changes, tables: tables,
            statements: StatementOutline.openTransaction(in: log))
    }
}

extension StatementOutline {
    /// Returns the statements of the transaction that was open at the end of a log.
    ///
    /// - Parameter log: The statements of a store's connections, oldest first.
    /// - Returns: The statements since the `BEGIN`; empty if several connections had a transaction open in which they
    ///   wrote.
    static func openTransaction(in log: [StatementRecord]) -> [StatementRecord] {
        var open: [UInt64: [(record: StatementRecord, outline: StatementOutline)]] = [:]
        for record in log {
            let outline = StatementOutline(record.sql)
            switch outline.kind {
            case .begin: open[record.connection] = []
            case .savepoint: if open[record.connection] == nil { open[record.connection] = [] }
            case .commit, .rollback: open[record.connection] = nil
            default: open[record.connection]?.append((record, outline))
            }
        }
        let writing = open.values.filter { statements in
            statements.contains {
                [.insert, .update, .delete].contains($0.outline.kind) && $0.record.changes != 0
            }
        }
        guard writing.count == 1 else { return [] }
        return writing[0].filter { !$0.outline.isQuery }.map(\.record)
    }
}
