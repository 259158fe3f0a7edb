internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// An invariant that a store breaks at the failure.
struct InvariantEvidence {
    let invariant: Invariant
    private(set) var columns: [String] = []
    /// The rows that the query returns at the failure, of which a limited number is kept.
    private(set) var rows: [[StoredValue]] = []
    /// The number of all rows that the query returns at the failure, up to ``countLimit``.
    private(set) var count = 0
    /// The states of the history in which the invariant is broken, from the one before the first transaction. It is
    /// empty if there is no history or if the query needs too many steps.
    private(set) var history: [Bool] = []

    /// The number of rows after which a query is ended.
    static let countLimit = 1000
    private static let rowLimit = 20

    /// Checks an invariant in a store and then in its history; nil if it holds, or can't be checked.
    init?(
        _ invariant: Invariant, in store: Timeline, _ effort: Effort,
        _ results: inout InvariantResults
    ) {
        self.invariant = invariant
        if Self.isRedacted(store, for: invariant) {
            results.add(
                .failed("redactions changed a table that it names"), of: invariant, in: store.name)
            return nil
        }
        let budget = StepBudget(steps: effort.steps / 10)
        let result = withExtendedLifetime(budget) { check(in: store, budget) }
        results.add(result, of: invariant, in: store.name)
        guard case .broken = result else { return nil }
        // A history that can't be read leaves the time of the break unknown.
        history = withExtendedLifetime(budget) { (try? states(in: store, budget)) ?? [] }
    }

    /// True if redactions changed a table that an invariant names, directly or through a view.
    private static func isRedacted(_ store: Timeline, for invariant: Invariant) -> Bool {
        let views = store.schema.objects.filter { $0.type == "view" }.map(\.sql)
        let text = ([invariant.sql] + views).joined(separator: " ").lowercased()
        return (store.store.redactions ?? []).contains { redaction in
            // Each is `table.column: hashed` or `table: dropped`.
            guard redaction != RedactionRules.statementSummary, let end = redaction.lastIndex(of: ":")
            else { return false }
            let table = redaction[..<end].split(separator: ".").first ?? ""
            return text.contains(table.lowercased())
        }
    }

    private mutating func check(in store: Timeline, _ budget: StepBudget) -> Invariant.Result {
        guard let connection = try? Connection.untrusted(store.path, limits: store.limits) else {
            return .failed("the store can't be read")
        }
        budget.limit(connection)
        return invariant.check(connection, limit: Self.countLimit) { row in
            count += 1
            columns = row.columnNames
            guard rows.count < Self.rowLimit else { return }
            rows.append((0..<row.columnCount).map { row.storedValue(at: $0, limit: 256) })
        }
    }

    private func states(in store: Timeline, _ budget: StepBudget) throws -> [Bool] {
        guard store.transactionCount > 0 else { return [] }
        var states: [Bool] = []
        var isKnown = true
        try store.forEachState { number, path in
            // The last copy was checked.
            guard number != nil else { return true }
            let connection = try Connection.untrusted(path, limits: store.limits)
            budget.limit(connection)
            switch invariant.check(connection, limit: 1) {
            case .broken: states.append(true)
            // Before a migration, the tables of the invariant need not exist.
            case .holds, .notApplicable: states.append(false)
            case .failed: isKnown = false
            }
            return isKnown
        }
        return isKnown ? states : []
    }
}
