internal import FailureArtifactsBundle

/// The locks that statements may have found or taken, derived from the order in which the statements started.
struct StatementLocks {
    /// For each statement, the number of the first later statement that is known to have started after its end.
    ///
    /// That is the next statement on the same connection or thread, because each runs one statement at a time.
    private var ends: [UInt64: UInt64] = [:]
    /// The statements during which another connection may have had a lock.
    ///
    /// The other connection was in a transaction, or one of its writing statements hadn't ended.
    private(set) var contended: Set<UInt64> = []
    /// The statements that began a transaction and failed, because the connection began another one at once.
    private var failedBegins: Set<UInt64> = []
    /// The statements that the same connection ran again at once, and that had an effect then.
    private(set) var retried: Set<UInt64> = []

    init(_ statements: [StoreEvidence.Statement]) {
        var nextOnConnection: [UInt64: UInt64] = [:]
        var nextOnThread: [String: UInt64] = [:]
        for statement in statements.reversed() {
            let record = statement.record
            ends[record.order] = min(
                nextOnConnection[record.connection] ?? .max, nextOnThread[record.thread] ?? .max)
            nextOnConnection[record.connection] = record.order
            nextOnThread[record.thread] = record.order
        }
        // The number of the statement at which each connection's lock has ended at the latest; .max in a transaction.
        var locks: [UInt64: UInt64] = [:]
        // The BEGIN that nothing has confirmed yet.
        var begins: [UInt64: UInt64] = [:]
        // The connections whose BEGIN no COMMIT or ROLLBACK has ended.
        var open: Set<UInt64> = []
        var lastWrites: [UInt64: StoreEvidence.Statement] = [:]
        for statement in statements {
            let (order, connection) = (statement.order, statement.record.connection)
            if statement.writes {
                if let last = lastWrites[connection], statement.hasChangedRows,
                    last.record.sql == statement.record.sql, last.record.changes == 0
                {
                    retried.insert(last.order)
                }
                lastWrites[connection] = statement
            }
            if locks.contains(where: { $0.key != connection && $0.value > order }) {
                contended.insert(order)
            }
            switch statement.outline.kind {
            case .begin:
                if let begin = begins[connection] { failedBegins.insert(begin) }
                begins[connection] = order
                open.insert(connection)
                locks[connection] = .max
            case .savepoint: locks[connection] = .max
            case .release where open.contains(connection): break
            case .commit, .rollback, .release:
                if statement.record.leftOpen == true { break }
                begins[connection] = nil
                open.remove(connection)
                locks[connection] = ends[order]
            default:
                if statement.hasChangedRows { begins[connection] = nil }
                guard statement.writes || statement.outline.kind == .definition,
                    locks[connection] != .max
                else { break }
                locks[connection] = ends[order]
            }
        }
    }

    /// True if a statement is known to have ended before another one started.
    func hasEnded(_ statement: StoreEvidence.Statement, before later: StoreEvidence.Statement) -> Bool {
        ends[statement.order].map { $0 <= later.order } ?? false
    }

    /// True if a statement is known to have begun a transaction, or to have written, before another one started.
    ///
    /// A `BEGIN IMMEDIATE` that waits for the lock doesn't have it yet.
    func hasSucceeded(
        _ statement: StoreEvidence.Statement, before later: StoreEvidence.Statement
    ) -> Bool {
        guard statement.record.error == nil, hasEnded(statement, before: later) else { return false }
        return switch statement.outline.kind {
        case .begin: !failedBegins.contains(statement.order)
        case .definition: true
        default: statement.hasChangedRows
        }
    }
}
