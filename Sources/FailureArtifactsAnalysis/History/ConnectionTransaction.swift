internal import FailureArtifactsBundle

/// A transaction of one connection, as the statements of a log tell.
///
/// Statements outside of transactions aren't part of any.
struct ConnectionTransaction {
    enum End {
        /// The log ends before the transaction does.
        case open
        case committed
        case rolledBack
    }

    /// The statements, as indices in the log: from the one that began the transaction to the one that ended it.
    private(set) var statements: [Int]
    private(set) var end = End.open
    private var savepoints = Savepoints()
    /// True if the transaction began with a savepoint, whose release commits it.
    private let beganWithSavepoint: Bool

    /// Creates a transaction that begins with a statement.
    private init(at index: Int, _ outline: StatementOutline) {
        statements = [index]
        beganWithSavepoint = outline.kind == .savepoint
        if beganWithSavepoint { savepoints.begin(outline.table, after: 1) }
    }

    /// Finds the transactions of all connections.
    ///
    /// - Parameter log: The statements with their outlines, oldest first.
    /// - Returns: The transactions, in the order in which they began.
    static func all(in log: [(record: StatementRecord, outline: StatementOutline)])
        -> [ConnectionTransaction]
    {
        var transactions: [ConnectionTransaction] = []
        // The connections' open transactions, as indices.
        var open: [UInt64: Int] = [:]
        // Of the older statements, some are missing.
        for (index, (record, outline)) in log.enumerated() where record.repeated == nil {
            if let current = open[record.connection] {
                transactions[current].add(index, record, outline)
                if transactions[current].end != .open { open[record.connection] = nil }
            } else if [.begin, .savepoint].contains(outline.kind), record.error == nil {
                open[record.connection] = transactions.count
                transactions.append(ConnectionTransaction(at: index, outline))
            }
        }
        return transactions
    }

    private mutating func add(_ index: Int, _ record: StatementRecord, _ outline: StatementOutline) {
        statements.append(index)
        switch outline.kind {
        case .commit where record.leftOpen == true: break
        // If a commit fails in any other way, SQLite rolls the transaction back.
        case .commit: end = record.error == nil ? .committed : .rolledBack
        case .rollback: end = .rolledBack
        case .savepoint: savepoints.begin(outline.table, after: statements.count)
        case .rollbackTo: _ = savepoints.rollBack(to: outline.table)
        case .release where record.error == nil:
            if savepoints.release(outline.table), beganWithSavepoint, savepoints.isEmpty {
                end = .committed
            }
        default: break
        }
    }
}

/// The transaction whose changes only a store's copy has: it was open at the failure, or was rolled back before.
struct UncommittedTransaction {
    private let log: [(record: StatementRecord, outline: StatementOutline)]
    private let transactions: [ConnectionTransaction]

    /// Creates the transaction.
    ///
    /// - Parameter log: The store's statements with their outlines, oldest first.
    init(in log: [(record: StatementRecord, outline: StatementOutline)]) {
        self.log = log
        transactions = ConnectionTransaction.all(in: log)
    }

    /// Returns the statements whose changes a copy has.
    ///
    /// - Parameter isBeforeRollback: True if the copy has the content before the last rollback, or before a close that
    ///   rolled back; false if it has the content at the end of the log.
    /// - Returns: The statements, as indices in the log; empty if they are uncertain.
    func statements(beforeRollback isBeforeRollback: Bool) -> [Int] {
        guard isBeforeRollback, let (transaction, end) = lastRollback else { return open }
        // A connection that was closed inside a later transaction has rolled that one back.
        if let last = open.last, last > transaction.statements[end] { return open }
        // Of several rollbacks in a row, of savepoints and then of the transaction, the first loses the most.
        let lost = transaction.statements[..<end].reversed().drop(while: unwinds).reversed()
        return hasWritten(lost) ? remaining(of: lost) : []
    }

    /// The statements of the open transaction; empty if several connections wrote in transactions that are open.
    private var open: [Int] {
        let writing = transactions.filter { $0.end == .open && hasWritten($0.statements) }
        return writing.count == 1 ? remaining(of: writing[0].statements) : []
    }

    /// The transaction with the last rollback, and the rollback's index among its statements.
    private var lastRollback: (ConnectionTransaction, Int)? {
        transactions.compactMap { transaction in
            transaction.statements.lastIndex(where: isRollback).map { (transaction, $0) }
        }.max { $0.0.statements[$0.1] < $1.0.statements[$1.1] }
    }

    private func isRollback(_ index: Int) -> Bool {
        [.rollback, .rollbackTo].contains(log[index].outline.kind) && log[index].record.error == nil
    }

    /// True for a statement that undoes or ends a savepoint or a transaction without committing it.
    private func unwinds(_ index: Int) -> Bool {
        switch log[index].outline.kind {
        case .rollback, .rollbackTo, .release: true
        case .commit: log[index].record.hasFailed
        default: false
        }
    }

    private func hasWritten(_ statements: some Sequence<Int>) -> Bool {
        statements.contains { index in
            log[index].outline.isWrite && log[index].record.changes != 0
        }
    }

    /// Returns the statements of a transaction except for the one that began it and those that a savepoint undid.
    ///
    /// Empty if it is unknown what a savepoint undid.
    private func remaining(of statements: some Collection<Int>) -> [Int] {
        var remaining: [Int] = []
        var savepoints = Savepoints()
        for index in statements {
            let outline = log[index].outline
            remaining.append(index)
            if outline.kind == .savepoint { savepoints.begin(outline.table, after: remaining.count) }
            guard outline.kind == .rollbackTo else { continue }
            guard let count = savepoints.rollBack(to: outline.table) else { return [] }
            remaining.removeSubrange(count...)
        }
        return Array(remaining.dropFirst())
    }
}
