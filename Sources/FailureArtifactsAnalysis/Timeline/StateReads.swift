internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

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
        guard let tables, let step = transaction.flatMap(store.step(ofTransaction:)) else { return false }
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
