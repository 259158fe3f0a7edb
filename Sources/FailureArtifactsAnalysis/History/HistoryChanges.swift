package import FailureArtifactsReading
package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// A transaction of a history, with the changes that it made.
package struct TransactionChanges: Sendable {
    /// The number, from 1.
    package let number: Int
    /// The number of pages that the transaction wrote.
    package let pages: Int
    /// The size of the store after the transaction, in bytes.
    package let size: UInt64
    package let changes: StateChanges
    /// The changed rows, if they were requested.
    package let tables: [ChangedTable]
}

extension ExtractedHistory {
    /// Visits the transactions with the changes that each one made.
    ///
    /// Two files follow the history, one of them a transaction behind the other.
    ///
    /// - Parameters:
    ///   - first: The number of the state before the first transaction to visit.
    ///   - rowLimit: The maximum number of changed rows to keep for a table; 0 to count them only.
    ///   - limits: The limits on resources that a state can use.
    ///   - deadline: The point in time at which comparing two states is interrupted; nil for none.
    ///   - body: Receives the transaction. It returns false to stop.
    /// - Throws: An error if a state can't be rebuilt or read, or the error that `body` throws.
    package borrowing func forEachTransaction(
        after first: Int = 0, rowLimit: Int64 = 0,
        limits: UntrustedLimits = .standard, deadline: Instant? = nil,
        _ body: (TransactionChanges) throws -> Bool
    ) throws {
        let old = try rebuild(first)
        let new = try rebuild(first, to: old + ".next")
        defer { for path in [old, new] { try? FileSystem.remove(path) } }
        var schema: DatabaseSchema?
        var trees: ChangedRows.Trees?
        for index in first..<reader.transactions.count {
            let transaction = reader.transactions[index]
            try advance(new, from: index)
            let comparison = try StoreComparison(
                a: .init(path: old, isPrivate: true), b: .init(path: new, isPrivate: true),
                deadline: deadline, limits: limits, reusing: schema)
            let (changes, tables) = try comparison.changes(
                comparison.changedRows(pages: Set(transaction.pages), &trees), rowLimit: rowLimit)
            schema = comparison.b
            let visited = TransactionChanges(
                number: index + 1, pages: transaction.pages.count,
                size: UInt64(transaction.databaseSize) * UInt64(reader.pageSize), changes: changes,
                tables: tables)
            guard try body(visited) else { return }
            try advance(old, from: index)
        }
    }
}

extension StoreComparison {
    /// Returns the changes of the schema and of rows.
    ///
    /// - Parameters:
    ///   - changed: The rows that may differ; nil if all may.
    ///   - rowLimit: The maximum number of changed rows to return for a table; 0 to count them only.
    /// - Returns: The changes, and the tables with their first changed rows.
    /// - Throws: An error if a file is damaged or a limit is exceeded.
    borrowing func changes(
        _ changed: ChangedRows? = nil, rowLimit: Int64
    ) throws -> (changes: StateChanges, tables: [ChangedTable]) {
        var changes = StateChanges()
        var tables: [ChangedTable] = []
        try changes.add(self, changed: changed) { comparison, table in
            guard rowLimit > 0 else { return try comparison.countRowChanges(in: table) }
            var rows: [RowChange] = []
            let counts = try comparison.forEachRowChange(
                in: table, limit: rowLimit, valueLimit: 256
            ) { rows.append($0) }
            if counts.total > 0 {
                tables.append(ChangedTable(table: table, rows: rows, counts: counts))
            }
            return counts
        }
        changes.tables.sort { $0.name < $1.name }
        return (changes, tables)
    }
}
