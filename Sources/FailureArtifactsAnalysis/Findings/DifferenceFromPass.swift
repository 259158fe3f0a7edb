internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The first transaction that a passing run of the same test did differently, or else the rows that differ.
struct DifferenceFromPass: FindingRule {
    static let code = Finding.Code.differenceFromPass
    private static let maximumRows = 20

    private enum Result {
        /// The failing run made the first ones of the passing run's transactions, until it failed.
        case equal
        case different(Finding)
        /// The transactions can't be compared, for a reason given as a clause and further sentences.
        case unknown(String)
    }

    private let passing: Timeline
    private let store: Timeline
    private let differences: StoreDifferences

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        guard let run = failure.passing,
            let name = StoreCounterpart.name(
                of: store.name, among: failure.stores.map(\.name), in: run.stores.map(\.name)),
            let passing = run.stores.first(where: { $0.name == name })
        else { return [] }
        let rule = Self(
            passing: passing, store: store,
            differences: try StoreDifferences(
                from: passing, to: store, at: [run, failure].map(\.metadata.capture.at)))
        switch try rule.compareTransactions() {
        case .equal: return []
        case .different(let finding): return [finding]
        case .unknown(let reason): return rule.compareStores(because: reason)
        }
    }

    /// Compares the transactions one by one, from the states in which the test began.
    private func compareTransactions() throws -> Result {
        if let gap = Self.gap(in: passing, of: "passing") ?? Self.gap(in: store, of: "failed") {
            return .unknown(gap)
        }
        let (first, own) = (passing.stateBeforeTest, store.stateBeforeTest)
        guard try areEqual(first, own) else {
            // A checkpoint may have overwritten what the database held before the first transactions.
            let reasons = [passing, store].compactMap { $0.store.history?.reason }
            return .unknown(
                (["the histories don't begin with the same rows."] + reasons).joined(separator: " "))
        }
        for (count, index) in store.steps.indices.dropFirst(own).enumerated() {
            let step = store.steps[index]
            let other = passing.steps[safe: first + count]
            guard step.isComplete, other?.isComplete ?? true else {
                if let number = step.number, let otherNumber = other?.number,
                    try areEqual(otherNumber, number)
                {
                    continue
                }
                return .unknown("a transaction changed too many rows.")
            }
            let new = differences.changes(of: step.tables)
            let old = differences.changes(of: other?.tables ?? [])
            let added = new.removing(old, by: \.identity)
            let lacking = old.removing(new, by: \.identity)
            let hasSameSchema = step.changes.schema == other?.changes.schema ?? []
            if added.isEmpty, lacking.isEmpty, hasSameSchema { continue }
            // An open transaction may lack only what the test didn't reach.
            if step.number == nil, added.isEmpty { return .equal }
            return .different(
                finding(inStep: index, own: added, passing: lacking, isFurther: other == nil))
        }
        return .equal
    }

    /// Returns true if both runs had the same rows after transactions of their histories.
    private func areEqual(_ passingState: Int, _ failingState: Int) throws -> Bool {
        try differences.areEqual(
            passing.path(ofState: passingState), store.path(ofState: failingState),
            limits: store.limits)
    }

    /// Returns the reason why the transactions of a run's history are unknown, as a clause and further sentences; nil if
    /// they are known.
    private static func gap(in store: Timeline, of run: String) -> String? {
        guard let history = store.store.history, history.entry != nil else {
            let reason = store.store.missingHistory.map { " " + $0 } ?? ""
            return "the \(run) run has no history of the store.\(reason)"
        }
        guard store.steps.count(where: { $0.number != nil }) == history.transactions else {
            return "the \(run) run has more transactions than are read."
        }
        return nil
    }

    /// Returns the finding about a transaction that differs, by the rows that only one of the runs changed in this way.
    private func finding(
        inStep index: Int, own: [StoreDifferences.Row], passing: [StoreDifferences.Row], isFurther: Bool
    ) -> Finding {
        let step = store.steps[index]
        let other =
            if isFurther {
                "The passing run made no further changes."
            } else if let row = passing.first {
                "There, the passing run changed \(Counted.items(Int64(passing.count), "row")) differently or in addition: "
                    + row.finding.text(columns: 4) + "."
            } else if own.isEmpty {
                "They changed the schema differently."
            } else {
                "The passing run did not change \(own.count == 1 ? "this row" : "these rows") there."
            }
        let origin = (own.first ?? passing.first).map { row in
            store.origin(
                inStep: index, of: row.finding.table,
                by: row.finding.change == .deleted ? [.delete] : [.insert, .update])
        }
        // The failed run may have inserted a row later, or one with the same key.
        let missing = passing.filter { $0.finding.change == .inserted && differences.isMissing($0) }
            .map { $0.changed(to: .missing) }
        let unchanged = own.isEmpty ? passing.map(\.finding).filter { $0.change != .inserted } : []
        let first = store.stateBeforeTest
        let beginning =
            index > first
            ? "Both runs had the same rows before transaction \(first + 1) and changed the same ones until then."
            : "Both runs had the same rows before it."
        let columns = differences.wholeColumns.map(SafeText.line).joined(separator: ", ")
        return Finding(
            code: Self.code,
            title: "\(store.title(of: step)) is the first one that differs from the passing run",
            confidence: .likely, store: store.name,
            rows: Array((own.map(\.finding) + missing + unchanged).prefix(Self.maximumRows)),
            transaction: step.number, statement: origin?.statement?.record,
            explanation: "\(beginning) \(other)"
                + (columns.isEmpty ? "" : " Columns that differ in all rows are left out: \(columns)."),
            evidence: .difference)
    }

    /// Returns a finding if the stores differ at the end of both runs.
    private func compareStores(because reason: String) -> [Finding] {
        // The passing run's store is copied at the test's end, when a test may have dropped its tables.
        let tables = Set(passing.tables.map { folded($0.name) })
        let rows = differences.changes.filter { tables.contains(folded($0.finding.table)) }
        guard !rows.isEmpty else { return [] }
        // A passing run that closes its store leaves no history, but the failed run's own one shows who changed the rows.
        let changed = rows.prefix(Self.maximumRows).compactMap { row -> (index: Int, table: String)? in
            let key = row.finding.key.map(\.value)
            let last = store.lastStep(where: { _, change in change.key == key }, of: row.finding.table)
            return last.map { ($0.index, row.finding.table) }
        }
        let origin = changed.max { $0.index < $1.index }.map {
            store.origin(inStep: $0.index, of: $0.table, by: [.insert, .update, .delete])
        }
        let writer = origin?.transaction.map {
            " Transaction \($0) of the failed run changed \(rows.count == 1 ? "the row" : "one of them") last."
        }
        let count = Counted.items(Int64(rows.count), "row")
        let isAsked = rows.contains { store.asked.tables.contains(folded($0.finding.table)) }
        return [
            Finding(
                code: Self.code,
                title: "\(differences.isComplete ? "" : "At least ")\(count) "
                    + "\(rows.count == 1 ? "differs" : "differ") from the passing run",
                confidence: isAsked ? .likely : .possible, store: store.name,
                rows: rows.prefix(Self.maximumRows).map { row in
                    switch row.finding.change {
                    case .inserted: row.changed(to: .present)
                    case .deleted: row.changed(to: .missing)
                    default: row.changed(to: .updated)
                    }
                }, transaction: origin?.transaction, statement: origin?.statement?.record,
                explanation: "Before is the passing run, after the failed one. "
                    + "Their transactions can't be compared: \(reason)" + (writer ?? ""),
                evidence: .difference)
        ]
    }
}

extension Timeline {
    /// The state in which the test began, or the first one, as the number of the history's transactions before it.
    package var stateBeforeTest: Int { (steps.lastIndex(where: \.isEarlier) ?? -1) + 1 }
}
