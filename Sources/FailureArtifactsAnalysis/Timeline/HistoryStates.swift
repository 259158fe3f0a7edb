package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension ExtractedHistory {
    /// Visits the transactions with the changes that each one made. Two files follow the history, one of them a
    /// transaction behind the other.
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

    /// Visits the states, oldest first. False if `body` stopped.
    ///
    /// - `body`: receives the state's number and the path of a file with its content, which the next state
    ///   overwrites. It returns false to stop.
    @discardableResult
    borrowing func forEachState(
        _ body: (_ state: Int, _ path: String) throws -> Bool
    ) throws -> Bool {
        // A rebuilt file of the first state may exist.
        let path = try rebuild(0, to: copy + ".next")
        defer { try? FileSystem.remove(path) }
        for state in 0...reader.transactions.count {
            if state > 0 { try advance(path, from: state - 1) }
            guard try body(state, path) else { return false }
        }
        return true
    }
}

/// The tables that a query reads, for telling whether it has the same result in a state as in the one before.
struct StateReads {
    private let store: Timeline
    /// The folded names of the tables; nil before the first state, or if the result may depend on something else.
    private var tables: Set<String>?

    init(_ store: Timeline) {
        self.store = store
    }

    /// True if a transaction changed none of the tables, so that the query has the same result after it as before it.
    func areSame(after transaction: Int?) -> Bool {
        guard let tables, let step = transaction.flatMap(store.step(ofTransaction:)) else {
            return false
        }
        return step.changes.schema.isEmpty
            && !step.changes.tables.contains { tables.contains(folded($0.name)) }
    }

    /// Notes the tables that a query reads in a state.
    mutating func note(_ sql: String, on connection: borrowing Connection) {
        let reads = (try? StatementAccess(of: sql, on: connection))?.reads ?? [:]
        // The content of virtual tables, of SQLite's own tables and of pragmas can change without a change of theirs.
        let isKnown = reads.allSatisfy { name, columns in
            let isView = store.schema.object("view", named: name) != nil
            let isRowTable = store.schema.tables[name].map { $0.kind != .virtual } ?? isView
            return isRowTable && !name.hasPrefix("sqlite_") && !columns.contains("rowid")
        }
        tables = isKnown && !reads.isEmpty ? Set(reads.keys) : nil
    }
}
