internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

// The transactions that were rolled back, or that were open at the failure.
extension Timeline {
    /// A transaction that was rolled back, or the part of one since a savepoint.
    package struct RolledBackTransaction {
        /// The statements, from the one that began it to the one that ended it.
        package let statements: [Statement]
        /// The statement that rolled it back.
        var end: Statement { statements[statements.count - 1] }
        /// True if the whole transaction was rolled back.
        package var isWhole: Bool { end.outline.kind != .rollbackTo }
        var writes: [Statement] { statements.filter(\.hasChangedRows) }
        var error: Statement? { statements.last { $0.record.hasFailed && $0.order != end.order } }
    }

    /// Returns the test's transactions that were rolled back, in the order in which they ended.
    package func rolledBackTransactions() -> [RolledBackTransaction] {
        var found: [RolledBackTransaction] = []
        for transaction in transactions {
            let own = transaction.statements.map { statements[$0] }.filter { $0.record.phase == .test }
            for (index, statement) in own.enumerated() {
                let isLast = transaction.end == .rolledBack && index == own.count - 1
                guard statement.outline.kind == .rollbackTo || isLast else { continue }
                let start =
                    isLast && statement.outline.kind != .rollbackTo
                    ? 0
                    : own[..<index].lastIndex {
                        $0.outline.kind == .savepoint && $0.outline.table == statement.outline.table
                    }
                guard let start else { continue }
                found.append(RolledBackTransaction(statements: Array(own[start...index])))
            }
        }
        return found.sorted { $0.end.order < $1.end.order }
    }

    /// The transactions with changes that were open at the failure, each from the statement that began it. Closing a
    /// connection ends its transaction, too, which the log doesn't show. But only one connection can write at a time.
    var openTransactions: [[Statement]] {
        guard store.transactionOpen != false || bundle.hasOtherWriter(of: store),
            store.statements?.reason == nil || store.transactionOpen == true
        else { return [] }
        return transactions.filter { $0.end == .open }.map { $0.statements.map { statements[$0] } }
            .filter { open in
                guard let first = open.first(where: \.hasChangedRows) else { return false }
                return !statements.contains {
                    $0.order > first.order && $0.record.connection != first.record.connection
                        && $0.hasChangedRows && !$0.outline.isElsewhere
                }
            }
    }

    /// True if a transaction is known to have been open at the failure.
    var isKnownToBeOpen: Bool {
        store.transactionOpen == true || store.committedEntry != nil || bundle.hasOtherWriter(of: store)
    }
}

extension BundleReader {
    /// True if the capture found that another connection was writing to a store.
    fileprivate func hasOtherWriter(of store: BundleMetadata.Store) -> Bool {
        metadata.warnings.contains { warning in
            (warning.is(.otherWriter) || warning.is(.halfTransaction))
                && warning.parameters["path"] == store.originalPath.map { .text($0) }
        }
    }
}
