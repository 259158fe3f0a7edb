internal import FailureArtifactsBundle
internal import FailureArtifactsReading

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
