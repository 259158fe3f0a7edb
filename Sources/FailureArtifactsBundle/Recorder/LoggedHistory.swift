internal import CFailureArtifactsShared
package import FailureArtifactsSQLite

/// The transactions of a store's history, whose statements stay in its log.
package enum LoggedHistory: Sendable {
    case none
    /// Those since the one that the statement with this number ended.
    case since(UInt64)
    /// A number of transactions, the last ones.
    case last(Int)

    package init(_ summary: WALHistory.Summary?) {
        let first = summary?.commits.lazy.map(\.order).first { $0 > 0 }
        self = first.map { .since($0) } ?? .last(summary?.transactions ?? 0)
    }

    /// Marks the statements of one connection that belong to these transactions.
    func keep(_ statements: inout [LoggedStatement]) {
        let end: Int?
        switch self {
        case .none: return
        case .since(let order): end = statements.firstIndex { $0.record.order >= order }
        case .last(let count):
            // A statement that ends a transaction writes its pages.
            let ends = statements.indices.filter {
                statements[$0].startedInTransaction != nil && statements[$0].record.pages ?? 1 > 0
            }
            end = ends.suffix(count).first
        }
        guard var first = end else { return }
        // The one that began the first transaction.
        while first > 0, statements[first].startedInTransaction != false { first -= 1 }
        for index in first..<statements.count where statements[index].startedInTransaction != nil {
            statements[index].isKept = true
        }
    }
}
