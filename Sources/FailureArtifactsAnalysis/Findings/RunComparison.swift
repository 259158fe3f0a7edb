internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A comparison of the transactions of a passing and a failing run of the same test, from a state that both runs had.
///
/// A history may lack the first transactions: a checkpoint overwrites what the database held before them. So the
/// comparison begins where the rows of both runs are the same, and says nothing about the transactions before.
struct RunComparison: ~Copyable {
    /// A state of each run, as the number of the history's transactions before it.
    struct Start: Equatable {
        let passing: Int
        let failing: Int
    }

    /// The first pair of transactions that differ.
    struct Difference {
        let start: Start
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

    /// A run's store with its history.
    private struct Run: ~Copyable {
        let store: Timeline
        let history: ExtractedHistory

        var steps: [Timeline.Step] { store.steps }
        /// The reason why the history isn't complete, as a full sentence.
        var reason: String? { store.store.history?.reason }
    }

    private let passing: Run
    private let failing: Run
    private let differences: StoreDifferences
    /// The states in which the test began, or with which the histories begin.
    let first: Start

    /// Opens the histories.
    init(_ passing: Timeline, _ failing: Timeline, _ differences: StoreDifferences) throws {
        let passingHistory = try passing.extractHistory()
        let failingHistory = try failing.extractHistory()
        self.passing = Run(store: passing, history: passingHistory)
        self.failing = Run(store: failing, history: failingHistory)
        self.differences = differences
        first = Start(passing: passing.stateBeforeTest, failing: failing.stateBeforeTest)
    }

    /// Compares the transactions from each state that both runs had, and returns the result with the most equal ones.
    borrowing func result() throws -> Result {
        var best: (count: Int, result: Result)?
        var isUnique = true
        for start in try commonStates() {
            let found = try comparison(from: start)
            if let best, found.count <= best.count {
                if found.count == best.count { isUnique = false }
                continue
            }
            best = found
            isUnique = true
        }
        guard let best else {
            let incomplete = [("passing", passing.reason), ("failed", failing.reason)]
                .compactMap { run, reason in
                    reason.map { " The history of the \(run) run isn't complete. \($0)" }
                }
            return .unknown("the histories have no state with the same rows." + incomplete.joined())
        }
        return isUnique ? best.result : .unknown("several states of the histories have the same rows.")
    }

    /// The maximum number of states of a run that are compared with the first one of the other.
    private static let stateLimit = 100

    /// Returns the states that both runs had and of which one is the first of its run.
    private borrowing func commonStates() throws -> [Start] {
        let isWhole = passing.reason == nil && failing.reason == nil
        var starts: [Start] = []
        let passingState = try passing.history.rebuild(first.passing)
        defer { try? FileSystem.remove(passingState) }
        try failing.history.forEachState(from: first.failing) { state, path in
            if try areEqual(passingState, path) {
                starts.append(Start(passing: first.passing, failing: state))
            }
            return (!isWhole || starts.isEmpty) && state - first.failing < Self.stateLimit
        }
        guard starts.isEmpty else { return starts }
        let failingState = try failing.history.rebuild(first.failing)
        defer { try? FileSystem.remove(failingState) }
        try passing.history.forEachState(from: first.passing) { state, path in
            if try areEqual(path, failingState) {
                starts.append(Start(passing: state, failing: first.failing))
            }
            return state - first.passing < Self.stateLimit
        }
        return starts
    }

    private borrowing func areEqual(_ passingState: String, _ failingState: String) throws -> Bool {
        try differences.areEqual(passingState, failingState, limits: failing.store.limits)
    }

    /// Compares transactions one by one, and returns the number of equal ones with the result.
    private borrowing func comparison(from start: Start) throws -> (count: Int, result: Result) {
        for (count, index) in failing.steps.indices.dropFirst(start.failing).enumerated() {
            let step = failing.steps[index]
            let place = start.passing + count
            let other = place < passing.steps.count ? passing.steps[place] : nil
            guard step.isComplete, other?.isComplete ?? true else {
                if let own = step.number, let number = other?.number, try isSameState(number, own) {
                    continue
                }
                let isProblem = (step.changes.tables + (other?.changes.tables ?? [])).contains {
                    $0.problem != nil
                }
                let reason =
                    isProblem
                    ? "the rows of a table can't be compared." : "a transaction changed too many rows."
                return (count, .unknown(reason))
            }
            let new = differences.changes(of: step.tables)
            let old = differences.changes(of: other?.tables ?? [])
            let own = new.removing(old, by: \.identity)
            let lacking = old.removing(new, by: \.identity)
            let isEqual =
                own.isEmpty && lacking.isEmpty && step.changes.schema == other?.changes.schema ?? []
            if isEqual { continue }
            // An open transaction may lack only what the test didn't reach.
            if step.number == nil, own.isEmpty { return (count, .equal) }
            let difference = Difference(
                start: start, step: index, own: own, passing: lacking, isFurther: other == nil)
            return (count, .different(difference))
        }
        return (failing.steps.count - start.failing, .equal)
    }

    /// Returns true if both runs had the same rows after a transaction.
    private borrowing func isSameState(_ passingState: Int, _ failingState: Int) throws -> Bool {
        let old = try passing.history.rebuild(passingState)
        defer { try? FileSystem.remove(old) }
        let new = try failing.history.rebuild(failingState)
        defer { try? FileSystem.remove(new) }
        return try areEqual(old, new)
    }
}

extension Timeline {
    /// The state in which the test began, or the first one, as the number of the history's transactions before it.
    fileprivate var stateBeforeTest: Int { (steps.lastIndex(where: \.isEarlier) ?? -1) + 1 }
}
