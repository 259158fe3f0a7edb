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
        /// The changed tables, with their first changed rows.
        package let tables: [ChangedTable]
        /// The statements; empty if they are unknown.
        package fileprivate(set) var statements: [StatementRecord] = []
    }

    package let store: BundleMetadata.Store
    /// The copy with the changes of the open transaction; nil if no transaction was open.
    let open: String?
    let limits: UntrustedLimits
    let history: ExtractedHistory
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
        if try history.forEachState(body), let open { _ = try body(nil, open) }
    }

    /// Returns the pages that a state's transaction wrote.
    ///
    /// - Parameter number: The number that ``forEachState(_:)`` passes on.
    /// - Returns: The pages that may differ from the state before; nil if any may.
    borrowing func changedPages(_ number: Int?) -> [UInt32]? {
        number.flatMap { history.changedPages($0) }
    }

    /// Returns one transaction, with its first changed rows.
    ///
    /// - Parameter number: Its number in the history; nil for the open one.
    /// - Returns: The transaction; nil if it doesn't exist.
    /// - Throws: An error if a state can't be rebuilt or read.
    package borrowing func transaction(_ number: Int?) throws -> Transaction? {
        guard let number else {
            guard let open else { return nil }
            let comparison = try StoreComparison(
                a: .init(path: history.copy, isPrivate: true), b: .init(path: open, isPrivate: true),
                limits: limits)
            let (changes, tables) = try comparison.changes(rowLimit: Transaction.rowLimit)
            return Transaction(
                number: nil, changes: changes, tables: tables, statements: try statements(of: [nil])[0])
        }
        var found: Transaction?
        try history.forEachTransaction(
            after: number - 1, rowLimit: Transaction.rowLimit, limits: limits
        ) { transaction in
            found = Transaction(
                number: number, changes: transaction.changes, tables: transaction.tables)
            return false
        }
        found?.statements = try statements(of: [number])[0]
        return found
    }

    /// Returns the statements of transactions.
    ///
    /// The changes of other transactions help to tell the statements apart. In a large history, only those are read for
    /// which there is time.
    ///
    /// - Parameters:
    ///   - numbers: The numbers of the transactions in the history; nil for the open one.
    ///   - seconds: The time limit for reading changes.
    /// - Returns: The statements of each transaction; empty if they are unknown.
    /// - Throws: An error if a state can't be rebuilt or read.
    borrowing func statements(
        of numbers: [Int?], seconds: Double = 0.5
    ) throws -> [[StatementRecord]] {
        guard !log.isEmpty else { return numbers.map { _ in [] } }
        let found = try history.statements(
            of: numbers.compactMap(\.self), among: log, of: store, limits: limits, seconds: seconds)
        return numbers.map { $0.map { found[$0] ?? [] } ?? uncommittedStatements }
    }

    /// The statements of the uncommitted transaction without its queries; empty if they are unknown.
    private var uncommittedStatements: [StatementRecord] {
        let outlined = log.map { (record: $0, outline: StatementOutline($0.sql)) }
        return UncommittedTransaction(in: outlined)
            .statements(beforeRollback: store.isBeforeRollback)
            .filter { !outlined[$0].outline.isQuery }.map { log[$0] }
    }
}

extension ExtractedHistory {
    /// Visits the states from a certain one to the last one.
    ///
    /// - Parameters:
    ///   - first: The first state.
    ///   - body: Receives the state's number and the path of a file with its content, which the next state overwrites.
    ///     It returns false to stop.
    /// - Returns: False if `body` stopped.
    /// - Throws: An error if a state can't be rebuilt, or the error that `body` throws.
    @discardableResult
    borrowing func forEachState(
        from first: Int = 0, _ body: (_ state: Int, _ path: String) throws -> Bool
    ) throws -> Bool {
        guard first <= reader.transactions.count else { return true }
        // A rebuilt file of the first state may exist.
        let path = try rebuild(first, to: copy + ".next")
        defer { try? FileSystem.remove(path) }
        for state in first...reader.transactions.count {
            if state > first { try advance(path, from: state - 1) }
            guard try body(state, path) else { return false }
        }
        return true
    }

    /// Returns the pages that a state's transaction wrote.
    ///
    /// - Parameter state: The number that ``forEachState(from:_:)`` passes on.
    /// - Returns: The pages that may differ from the state before; nil if any may.
    borrowing func changedPages(_ state: Int) -> [UInt32]? {
        state > 0 ? reader.transactions[state - 1].pages : nil
    }

    /// Returns the statements of transactions.
    ///
    /// The changes of other transactions help to tell the statements apart. In a large history, only those are read for
    /// which there is time.
    ///
    /// - Parameters:
    ///   - numbers: The numbers of the transactions.
    ///   - log: The statements of the store.
    ///   - store: The store.
    ///   - limits: The limits on resources that a state can use.
    ///   - seconds: The time limit for reading changes.
    /// - Returns: The statements of each transaction; empty if they are unknown.
    /// - Throws: An error if a state can't be rebuilt or read.
    borrowing func statements(
        of numbers: [Int], among log: [StatementRecord], of store: BundleMetadata.Store,
        limits: UntrustedLimits = .standard, seconds: Double
    ) throws -> [Int: [StatementRecord]] {
        let transactions = reader.transactions
        var changes = [StateChanges?](repeating: nil, count: transactions.count)
        let deadline = Instant.now.advanced(bySeconds: seconds)
        for number in numbers where Instant.now < deadline {
            try forEachTransaction(after: number - 1, limits: limits) { transaction in
                changes[number - 1] = transaction.changes
                return false
            }
        }
        if Instant.now < deadline, !numbers.isEmpty {
            try forEachTransaction(limits: limits) { transaction in
                changes[transaction.number - 1] = transaction.changes
                return Instant.now < deadline
            }
        }
        let found = LoggedTransactions(log, of: store).statements(
            of: zip(transactions.indices, changes).map {
                .init(number: $0 + 1, pages: transactions[$0].pages.count, changes: $1)
            },
            isWhole: store.history?.reason == nil)
        return Dictionary(
            numbers.map { ($0, found[$0 - 1]) }, uniquingKeysWith: { first, _ in first })
    }
}
