internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

extension StoreEvidence {
    /// Returns the name of a step's transaction, for the start of a sentence.
    func title(of step: Step) -> String { title(ofTransaction: step.number) }

    /// Returns the name of a transaction, for the start of a sentence.
    ///
    /// - Parameter number: The number in the history; nil for the one whose changes only the copy has.
    /// - Returns: The name.
    func title(ofTransaction number: Int?) -> String {
        if let number { return "Transaction \(number)" }
        return store.isBeforeRollback ? "The transaction that was rolled back" : "The open transaction"
    }

    /// A transaction that was rolled back, or the part of one since a savepoint.
    package struct RolledBackTransaction {
        /// The statements, from the one that began it to the one that ended it.
        package let statements: [Statement]
        /// The statement that rolled it back.
        var end: Statement { statements[statements.count - 1] }
        /// True if the whole transaction was rolled back.
        package var isWhole: Bool { end.outline.kind != .rollbackTo }
        /// The statements that changed rows.
        var writes: [Statement] { statements.filter(\.hasChangedRows) }
        /// The last statement that failed.
        var error: Statement? { statements.last { $0.record.hasFailed && $0.order != end.order } }
    }

    /// Returns the test's transactions that were rolled back, in the order in which they ended.
    package func rolledBackTransactions() -> [RolledBackTransaction] {
        let log = testStatements
        var found: [RolledBackTransaction] = []
        for transaction in ConnectionTransaction.all(in: log.outlined) {
            let statements = transaction.statements.map { log[$0] }
            for (index, statement) in statements.enumerated()
            where statement.outline.kind == .rollbackTo
                || transaction.end == .rolledBack && index == statements.count - 1
            {
                var start = 0
                if statement.outline.kind == .rollbackTo {
                    let savepoint = statements[..<index].lastIndex {
                        $0.outline.kind == .savepoint && $0.outline.table == statement.outline.table
                    }
                    guard let savepoint else { continue }
                    start = savepoint
                }
                found.append(RolledBackTransaction(statements: Array(statements[start...index])))
            }
        }
        return found.sorted { $0.end.order < $1.end.order }
    }

    /// Returns the index of the step that a statement was part of; nil if it is unknown.
    func step(of statement: Statement) -> Int? { transactions.steps[statement.order] }

    /// Returns the number of the first statement of the transaction that a statement was part of.
    ///
    /// Without a transaction, it is the statement's own number.
    func transactionStart(of statement: Statement) -> UInt64 {
        transactions.starts[statement.order] ?? statement.order
    }

    /// True if the transaction of a statement ended with a rollback.
    func isRolledBack(_ statement: Statement) -> Bool {
        transactions.rolledBack.contains(statement.order)
    }
}

extension [StoreEvidence.Statement] {
    /// The records with their outlines.
    var outlined: [(record: StatementRecord, outline: StatementOutline)] {
        map { ($0.record, $0.outline) }
    }
}

extension StoreEvidence.Statement {

    /// True if it inserted, updated or deleted rows, as far as known.
    var hasChangedRows: Bool { writes && record.error == nil && record.changes != 0 }
}

extension BundleMetadata.Store {
    /// True if the copy has the content that an error's rollback discarded before the failure.
    package var isBeforeRollback: Bool {
        Snapshot.Method(rawValue: capture.method) == .beforeRollback
    }
}
