internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

// What the history and the log have, so that a conclusion about something that didn't happen is known to be true.
extension StoreEvidence {
    /// The reason why ``steps`` has no transactions, as a clause at the start of a sentence.
    var missingSteps: String {
        store.history?.entry == nil
            ? "The store has no history" : "The history can't be read, or not in time"
    }

    /// The beginning of a sentence about the last queries of the test.
    var lastQueries: String { "The last queries " + (hasWholeLog ? "before the failure" : "in the log") }

    /// Returns the keys of the rows that the test inserted into a table; nil if it may have inserted others.
    func insertedKeys(of table: String) -> Set<[StoredValue]>? {
        if hasWholeTest {
            let own = steps.filter { !$0.isEarlier }
            let isComplete = own.allSatisfy {
                $0.table(table)?.isComplete ?? true && $0.counts(of: table)?.problem == nil
            }
            if isComplete {
                let rows = own.compactMap { $0.table(table) }.flatMap(\.rows)
                return Set(rows.filter { $0.kind == .inserted }.map(\.key))
            }
        }
        return hasWholeLog && !testStatements.contains { mayInsert($0, into: folded(table)) } ? [] : nil
    }

    /// True if a statement may have inserted rows into a table, or given rows another key.
    private func mayInsert(_ statement: Statement, into table: String) -> Bool {
        let outline = statement.outline
        guard statement.mayHaveChanged else { return false }
        guard outline.isWrite, let target = outline.table else {
            return outline.kind == .other || statement.parts.words.contains(table)
        }
        guard let linked, !linked.hasTriggers(target) else { return true }
        switch outline.kind {
        case .delete: return false
        case .update:
            // A foreign key's action may change a key, too.
            guard target == table else { return !linked.isSetDirectly(table) }
            let key = Set(keyColumns(of: table).map(folded))
            return statement.parts.hasRowAssignment || !key.isDisjoint(with: statement.parts.assigned)
        default: return target == table
        }
    }

    /// True if the log has all statements that wrote to a table since it was created.
    func hasAllWrites(of table: String) -> Bool {
        hasLog && store.statements?.reason == nil
            && statements.contains { $0.outline.creates && $0.outline.table == folded(table) }
    }

    /// True if no other statement of a step may have changed the table that a statement writes to.
    func isOnlyWriter(_ statement: Statement, inStep step: Int) -> Bool {
        guard let table = statement.outline.table else { return false }
        return steps[step].statements.allSatisfy { other in
            other.order == statement.order || !other.mayHaveChanged
                || other.outline.isWrite && other.outline.table != table
                    && !(linked?.mayChangeOthers(other.outline) ?? true)
        }
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

extension StoreEvidence.Statement {
    /// True unless it can't have changed rows or the schema.
    var mayHaveChanged: Bool {
        guard record.error == nil, !outline.isQuery else { return false }
        return outline.kind == .definition || outline.mayWrite && record.changes != 0
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
