internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// An invariant that a store breaks at the failure, or that it broke earlier.
struct InvariantEvidence {
    let invariant: Invariant
    /// The names of the query's columns.
    fileprivate(set) var columns: [String] = []
    /// The rows that the query returns at the failure, of which a limited number is kept.
    fileprivate(set) var rows: [[StoredValue]] = []
    /// The number of all rows that the query returns at the failure, up to ``countLimit``; 0 if the invariant holds.
    fileprivate(set) var count = 0
    /// The states of the history in which the invariant is broken, from the one before the first transaction.
    ///
    /// It is empty if there is no history or the time didn't suffice.
    fileprivate(set) var history: [Bool] = []

    /// The number of rows after which a query is ended.
    static let countLimit = 1000
    private static let rowLimit = 20

    /// The time limits for the history of a store, and for one query, in seconds.
    private static let seconds = (history: 3.0, query: 0.5)

    /// Checks invariants in a store and in its history.
    ///
    /// - Returns: The invariants that are or were broken.
    static func all(
        _ invariants: [Invariant], in store: StoreEvidence, _ choice: StoreChoice,
        of bundle: BundleReader,
        scratch: String, limits: UntrustedLimits, _ results: inout InvariantResults
    ) -> [InvariantEvidence] {
        var checks: [InvariantEvidence] = []
        for invariant in invariants {
            if store.store.isRedacted(for: invariant) {
                results.add(
                    .failed("redactions changed a table that it names"), of: invariant, in: store.name)
                continue
            }
            var check = InvariantEvidence(invariant: invariant)
            let result = invariant.check(store.connection, deadline: queryEnd, limit: countLimit) {
                row in
                check.columns = row.columnNames
                guard check.rows.count < rowLimit else { return }
                check.rows.append((0..<row.columnCount).map { row.storedValue(at: $0, limit: 256) })
            }
            results.add(result, of: invariant, in: store.name)
            switch result {
            case .broken(let rows): check.count = rows
            case .failed: continue
            case .holds, .notApplicable: break
            }
            checks.append(check)
        }
        let committed = choice.committed(among: bundle.metadata.storeChoices) ?? choice
        if store.store.history?.entry != nil, !checks.isEmpty {
            // A history that can't be read leaves the time of the break unknown.
            try? addHistory(to: &checks, of: committed, in: bundle, scratch: scratch, limits)
        }
        return checks.filter { $0.count > 0 || $0.history.contains(true) }
    }

    private static var queryEnd: Instant { Instant.now.advanced(bySeconds: seconds.query) }

    private static func addHistory(
        to checks: inout [InvariantEvidence], of choice: StoreChoice, in bundle: BundleReader,
        scratch: String, _ limits: UntrustedLimits
    ) throws {
        let end = Instant.now.advanced(bySeconds: seconds.history)
        let directory = try FileSystem.createUniqueDirectory(in: scratch, prefix: "invariants-")
        defer { try? FileSystem.remove(directory) }
        let history = try bundle.extractHistory(of: choice, below: directory)
        let state = try history.rebuild(0)
        var states = checks.map { _ in [Bool]() }
        var isUnknown = checks.map { _ in false }
        let count = history.reader.transactions.count
        for number in 0...count {
            if number > 0 { try history.advance(state, from: number - 1) }
            let connection = try Connection.untrusted(state, limits: limits)
            for index in checks.indices where !isUnknown[index] {
                let deadline = min(queryEnd, end)
                switch checks[index].invariant.check(connection, deadline: deadline, limit: 1) {
                case .broken: states[index].append(true)
                // Before a migration, the tables of the invariant need not exist.
                case .holds, .notApplicable: states[index].append(false)
                case .failed: isUnknown[index] = true
                }
            }
            if Instant.now >= end { return }
        }
        for index in checks.indices where !isUnknown[index] { checks[index].history = states[index] }
    }
}
