internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The first transaction that a passing run of the same test did differently. If the transactions of a run are
/// unknown, or the runs began with different rows, the stores are compared.
enum DifferenceFromPass: FindingRule {
    static let code = Finding.Code.differenceFromPass
    private static let maximumRows = 20

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        guard let run = failure.passing,
            let name = StoreCounterpart.name(
                of: store.name, among: failure.stores.map(\.name), in: run.stores.map(\.name)),
            let passing = run.stores.first(where: { $0.name == name })
        else { return [] }
        let differences = try StoreDifferences(
            from: passing, to: store, at: [run, failure].map(\.metadata.capture.at))
        return try findings(differences, of: passing, in: store, failure)
    }

    private static func findings(
        _ differences: StoreDifferences, of passing: Timeline, in store: Timeline,
        _ failure: FailureEvidence
    ) throws -> [Finding] {
        var reason = gap(in: passing, of: "passing") ?? gap(in: store, of: "failed")
        if reason == nil {
            let comparison = RunComparison(
                passing: passing, failing: store, differences: differences)
            switch try comparison.result() {
            case .equal: return []
            case .different(let difference): return [finding(difference, differences, in: store)]
            case .unknown(let clause): reason = clause
            }
        }
        // The passing run's store is copied at the test's end, when a test may have dropped its tables.
        let tables = Set(passing.tables.map { folded($0.name) })
        let rows = differences.changes.filter { tables.contains(folded($0.finding.table)) }
        let count = Counted.items(Int64(rows.count), "row")
        return finding(
            rows, in: store,
            title:
                "\(differences.isComplete ? "" : "At least ")\(count) \(rows.count == 1 ? "differs" : "differ") from the passing run",
            explanation:
                "Before is the passing run, after the failed one. Their transactions can't be compared: "
                + (reason ?? ""),
            confidence: rows.contains {
                store.asked.tables.contains(folded($0.finding.table))
            }
                ? .likely : .possible)
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

    private static func finding(
        _ difference: RunComparison.Difference, _ differences: StoreDifferences,
        in store: Timeline
    ) -> Finding {
        let step = store.steps[difference.step]
        let (own, passing) = (difference.own, difference.passing)
        let other =
            if difference.isFurther {
                "The passing run made no further changes."
            } else if let row = passing.first {
                "There, the passing run changed \(Counted.items(Int64(passing.count), "row")) differently or in addition: "
                    + text(of: row) + "."
            } else if own.isEmpty {
                "They changed the schema differently."
            } else {
                "The passing run did not change \(own.count == 1 ? "this row" : "these rows") there."
            }
        // The failed run may have inserted a row later, or one with the same key.
        let lacking = passing.filter {
            $0.finding.change == .inserted ? differences.isMissing($0) : own.isEmpty
        }
        let rows =
            own.map(\.finding)
            + lacking.map { row in
                var row = row.finding
                if row.change == .inserted { row.change = .missing }
                return row
            }
        let table = (own.first ?? passing.first)?.finding
        let origin = table.map {
            store.origin(
                inStep: difference.step, of: $0.table,
                by: $0.change == .deleted ? [.delete] : [.insert, .update])
        }
        // Two transactions may have changed places.
        let isUndone = !(own + passing).isEmpty && differences.haveSameRows(own + passing)
        let columns = differences.wholeColumns.map(SafeText.line)
        let first = store.stateBeforeTest
        let beginning =
            difference.step > first
            ? "Both runs had the same rows before transaction \(first + 1) and changed the same ones until then."
            : "Both runs had the same rows before it."
        return Finding(
            code: code,
            title: "\(store.title(of: step)) is the first one that differs from the passing run",
            confidence: isUndone ? .possible : .likely, store: store.name,
            rows: Array(rows.prefix(maximumRows)), transaction: step.number,
            statement: origin?.statement?.record,
            explanation: "\(beginning) \(other)"
                + (isUndone ? " At the end, these rows are the same in both runs." : "")
                + (columns.isEmpty
                    ? ""
                    : " Columns that differ in all rows are left out: \(columns.joined(separator: ", "))."),
            evidence: .difference)
    }

    private static func finding(
        _ rows: [StoreDifferences.Row], in store: Timeline, title: String, explanation: String,
        confidence: Finding.Confidence = .possible
    ) -> [Finding] {
        guard !rows.isEmpty else { return [] }
        // A passing run that closes its store leaves no history, but the failed run's own one shows who changed the rows.
        let changed = rows.prefix(maximumRows).compactMap { row -> (index: Int, table: String)? in
            let key = row.finding.key.map(\.value)
            let last = store.lastStep(where: { _, change in change.key == key }, of: row.finding.table)
            return last.map { ($0.index, row.finding.table) }
        }
        let last = changed.max { $0.index < $1.index }
        let origin = last.map {
            store.origin(inStep: $0.index, of: $0.table, by: [.insert, .update, .delete])
        }
        return [
            Finding(
                code: code,
                title: title, confidence: confidence, store: store.name,
                rows: rows.prefix(maximumRows).map { row in
                    var row = row.finding
                    row.change =
                        row.change == .inserted ? .present : row.change == .deleted ? .missing : .updated
                    return row
                }, transaction: origin?.transaction, statement: origin?.statement?.record,
                explanation:
                    explanation
                    + (origin?.transaction.map {
                        " Transaction \($0) of the failed run changed \(rows.count == 1 ? "the row" : "one of them") last."
                    } ?? ""),
                evidence: .difference)
        ]
    }

    private static func text(of row: StoreDifferences.Row) -> String {
        let cells = row.finding.columns.prefix(4).map { cell in
            let values = [cell.old, cell.new].compactMap { $0 }
                .map { StoredText.text(of: $0, width: 30) }
            return "\(SafeText.line(cell.column)) \(values.joined(separator: " → "))"
        }
        return row.finding.title + " " + row.finding.change.rawValue
            + (cells.isEmpty ? "" : " (" + cells.joined(separator: ", ") + ")")
    }
}

/// A comparison of the transactions of a passing and a failing run of the same test, from the states in which the test
/// began.
struct RunComparison {
    /// The first pair of transactions that differ.
    struct Difference {
        /// The index of the failing run's step.
        let step: Int
        /// The rows that only the failing run changed in this way.
        let own: [StoreDifferences.Row]
        /// The rows that only the passing run changed in this way.
        let passing: [StoreDifferences.Row]
        /// True if the passing run made no further changes.
        let isFurther: Bool
    }

    enum Result {
        /// The failing run made the first ones of the passing run's transactions, until it failed.
        case equal
        case different(Difference)
        /// The transactions can't be compared, for a reason given as a clause and further sentences.
        case unknown(String)
    }

    let passing: Timeline
    let failing: Timeline
    let differences: StoreDifferences

    /// Compares the transactions one by one.
    func result() throws -> Result {
        let (first, own) = (passing.stateBeforeTest, failing.stateBeforeTest)
        guard try areEqual(first, own) else {
            // A checkpoint may have overwritten what the database held before the first transactions.
            let reasons = [passing, failing].compactMap { $0.store.history?.reason }
            return .unknown(
                (["the histories don't begin with the same rows."] + reasons).joined(separator: " "))
        }
        for (count, index) in failing.steps.indices.dropFirst(own).enumerated() {
            let step = failing.steps[index]
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
            let isEqual =
                added.isEmpty && lacking.isEmpty
                && step.changes.schema == other?.changes.schema ?? []
            if isEqual { continue }
            // An open transaction may lack only what the test didn't reach.
            if step.number == nil, added.isEmpty { return .equal }
            return .different(
                Difference(step: index, own: added, passing: lacking, isFurther: other == nil))
        }
        return .equal
    }

    /// Returns true if both runs had the same rows after transactions of their histories.
    private func areEqual(_ passingState: Int, _ failingState: Int) throws -> Bool {
        try differences.areEqual(
            passing.path(ofState: passingState), failing.path(ofState: failingState),
            limits: failing.limits)
    }
}

extension Timeline {
    /// The state in which the test began, or the first one, as the number of the history's transactions before it.
    var stateBeforeTest: Int { (steps.lastIndex(where: \.isEarlier) ?? -1) + 1 }
}
