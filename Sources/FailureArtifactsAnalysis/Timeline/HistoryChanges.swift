package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension ExtractedHistory {
    /// Visits the transactions with the changes that each one made.
    ///
    /// Two files follow the history, one of them a transaction behind the other.
    ///
    /// - `rowLimit`: the maximum number of changed rows to keep for a table; 0 to count them only.
    /// - `body`: receives the transaction. It returns false to stop.
    package borrowing func forEachTransaction(
        after first: Int = 0, rowLimit: Int64 = 0,
        limits: UntrustedLimits = .standard,
        _ body: (Timeline.Step) throws -> Bool
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
                limits: limits, reusing: schema)
            let (changes, tables) = try comparison.changes(
                comparison.changedRows(pages: Set(transaction.pages), &trees), rowLimit: rowLimit)
            schema = comparison.b
            let visited = Timeline.Step(
                number: index + 1, pages: transaction.pages.count,
                size: UInt64(transaction.databaseSize) * UInt64(reader.pageSize), changes: changes,
                tables: tables)
            guard try body(visited) else { return }
            try advance(old, from: index)
        }
    }

    /// Visits the states from a certain one to the last one.
    ///
    /// False if `body` stopped.
    ///
    /// - `body`: receives the state's number and the path of a file with its content, which the next state
    ///   overwrites. It returns false to stop.
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
}
