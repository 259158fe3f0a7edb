internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

// What the history and the log have, so that a conclusion about something that didn't happen is known to be true.
extension StoreEvidence {
    /// The reason why ``steps`` has no transactions, as a clause at the start of a sentence.
    var missingSteps: String {
        store.history?.entry == nil
            ? "The store has no history" : "The history can't be read"
    }

    /// True if the log has all statements that wrote to a table since it was created.
    func hasAllWrites(of table: String) -> Bool {
        hasLog && store.statements?.reason == nil
            && statements.contains { $0.outline.creates && $0.outline.table == folded(table) }
    }

    /// The transactions with changes that were open at the failure, each from the statement that began it.
    ///
    /// Closing a connection ends its transaction, too, which the log doesn't show. But only one connection can write at a
    /// time.
    var openTransactions: [[Statement]] {
        guard store.transactionOpen != false || bundle.hasOtherWriter(of: store),
            store.statements?.reason == nil || store.transactionOpen == true
        else { return [] }
        return connectionTransactions.filter { $0.end == .open }.map {
            $0.statements.map { statements[$0] }
        }
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
