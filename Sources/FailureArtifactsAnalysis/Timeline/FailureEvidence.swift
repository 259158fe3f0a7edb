internal import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A failed test's stores, statements and message, from which findings are derived.
package final class FailureEvidence {
    let metadata: BundleMetadata
    let message: FailureMessage
    package private(set) var stores: [Timeline] = []
    /// The reasons why stores are left out, as full sentences.
    package private(set) var notes: [String] = []
    /// The invariants that are or were broken, by the names of the stores.
    private(set) var invariants: [String: [InvariantEvidence]] = [:]
    /// A run of the same test that passed, in place of ``baselines``; nil if its bundle is unknown.
    package var passing: FailureEvidence? {
        didSet { baselines = passing.map { [$0.own] } ?? baselines }
    }
    /// The last passing runs of the same test, the newest one first.
    var baselines: [Baseline]
    /// The differences that tests that pass have from their last passing runs, too.
    var commonDifferences: Set<CommonDifference> { Set(baselines.first?.common ?? []) }
    /// The statements of the failing run.
    private(set) lazy var own = Baseline(of: bundle)
    private let bundle: BundleReader
    let scratch: String
    let effort: Effort

    /// The place of an assertion.
    struct Place {
        let file: String
        let line: Int

        /// True if the assertion's line called a statement, directly or through other functions.
        func isCaller(of record: StatementRecord) -> Bool {
            record.frames.contains { $0.file == file && $0.line == line }
        }
    }

    /// The place of the failed assertion, with a path relative to the package; nil if it is unknown.
    var place: Place? {
        guard let failure = metadata.failures.first, let line = failure.line else { return nil }
        return failure.sourceFile.map { Place(file: packageRoot.relativePath(of: $0), line: line) }
    }

    package init(
        _ bundle: BundleReader, scratch: String, checking invariants: [Invariant] = [],
        limits: UntrustedLimits = .standard, effort: Effort = .standard
    ) {
        self.scratch = scratch
        self.effort = effort
        metadata = bundle.metadata
        message = FailureMessage(metadata.failures.first?.message ?? "", of: metadata.test)
        self.bundle = bundle
        // Without a readable baseline, the other findings stay.
        baselines = (try? bundle.baselines) ?? []
        var results = InvariantResults()
        let choices = metadata.storeChoices.filter { !$0.isCommitted && $0.name == $0.store.name }
        for choice in choices.prefix(effort.stores) {
            let size = bundle.size(ofEntry: choice.entry) ?? 0
            guard size <= effort.storeBytes else {
                notes.append(
                    "Store '\(choice.name)' has \(Counted.bytes(size)), too much to be analysed here: 'failure-artifacts "
                        + "open', 'history' and 'explain' have no such limit.")
                continue
            }
            do {
                let store = try Timeline(
                    choice, of: bundle, scratch: scratch, limits: limits, transactions: effort.history)
                stores.append(store)
                if store.isOfOtherTest, let opener = store.store.openedBy {
                    notes.append(
                        "Store '\(choice.name)' is left out: \(SafeText.line("\(opener.suite).\(opener.name)")) opened it, "
                            + "and this test isn't known to have used it.")
                }
                self.invariants[store.name] = invariants.compactMap {
                    InvariantEvidence($0, in: store, effort, &results)
                }
            } catch {
                notes.append(
                    "Store '\(choice.name)' can't be analysed: \(CommandError(error).description)")
            }
        }
        notes += results.notes
    }

    /// The stores without those of other tests that this test didn't use.
    var usedStores: [Timeline] { stores.filter { !$0.isOfOtherTest } }

    /// True if the bundle has the statements of a passing run.
    package var hasBaseline: Bool { !baselines.isEmpty }

    package var packageRoot: PackageRoot { PackageRoot(metadata) }
}

/// An invariant that a store breaks at the failure.
struct InvariantEvidence {
    let invariant: Invariant
    private(set) var columns: [String] = []
    /// The rows that the query returns at the failure, of which a limited number is kept.
    private(set) var rows: [[StoredValue]] = []
    /// The number of all rows that the query returns at the failure, up to ``countLimit``.
    private(set) var count = 0
    /// The states in which the invariant is broken, from the first one; empty if they are unknown.
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
