package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The states of a store in which a query returns a row, or in which its result differs from that in the first state.
package struct Bisection: Sendable {
    /// The first rows of a query's result.
    package struct Result: Equatable, Sendable {
        package var columns: [String] = []
        package var rows: [[StoredValue]] = []
        /// The number of all rows.
        package var rowCount = 0
    }

    /// A place in the sequence of states.
    package enum Place: Equatable, Sendable {
        /// The state before the first transaction.
        case start
        /// The state after a transaction of the history.
        case transaction(Int)
        /// The state that the open transaction saw.
        case openTransaction
    }

    /// The maximum number of rows that ``Result`` keeps.
    static let rowLimit = 5

    package let transactions: Int
    /// True if the last state has the changes of an open transaction.
    package let hasOpenTransaction: Bool
    /// The numbers of the states in question, from 0, as ranges in order.
    package fileprivate(set) var states: [ClosedRange<Int>] = []
    /// The numbers of the states whose result differs from the one before it, if results are compared.
    package fileprivate(set) var changes: [Int] = []
    /// The result in the state before the first one in question; nil without such a state.
    package fileprivate(set) var before: Result?
    /// The result in the first state in question; nil without one.
    package fileprivate(set) var after: Result?

    fileprivate init(transactions: Int, hasOpenTransaction: Bool) {
        self.transactions = transactions
        self.hasOpenTransaction = hasOpenTransaction
    }

    package func place(_ state: Int) -> Place {
        if state > transactions { return .openTransaction }
        return state == 0 ? .start : .transaction(state)
    }

    /// The first state in question; nil without one.
    package var first: Place? { states.first.map { place($0.lowerBound) } }

    /// The first state after those in question; nil if the last state is one of them.
    package var healed: Place? {
        let last = transactions + (hasOpenTransaction ? 1 : 0)
        return states.last.flatMap { $0.upperBound < last ? place($0.upperBound + 1) : nil }
    }
}

extension Timeline {
    /// Finds the states in which a query returns a row or, if `onChange` is true, another result than in the first
    /// state. Every state is tested, because a violation can heal. In a state without a table or column that the
    /// query names, the query returns no row, and such states have no result to compare with.
    ///
    /// - `onChange`: true to compare results.
    package func bisect(_ sql: String, onChange: Bool) throws -> Bisection {
        var bisection = Bisection(
            transactions: transactionCount, hasOpenTransaction: hasUncommittedState)
        let query = StateQuery(sql, isWhole: onChange, limits)
        var previous = Bisection.Result()
        // The hashes of the first result and of the previous one.
        var original: Int?
        var hash: Int?
        var missing: SQLiteError?
        var state = 0
        try forEachState { _, path in
            let isSearching = bisection.states.isEmpty
            var answer = StateQuery.Answer()
            switch try query.answer(in: path, countsRows: isSearching) {
            case .success(let found): answer = found
            case .failure(let error):
                missing = error
                if original == nil {
                    state += 1
                    return true
                }
            }
            let isFound = onChange ? answer.hash != original ?? answer.hash : !answer.result.rows.isEmpty
            if onChange, answer.hash != hash ?? answer.hash { bisection.changes.append(state) }
            original = original ?? answer.hash
            hash = answer.hash
            if isFound {
                if isSearching {
                    bisection.before = state == 0 ? nil : previous
                    bisection.after = answer.result
                }
                if let last = bisection.states.last, last.upperBound == state - 1 {
                    bisection.states[bisection.states.count - 1] = last.lowerBound...state
                } else {
                    bisection.states.append(state...state)
                }
            }
            previous = answer.result
            state += 1
            return true
        }
        if original == nil, let missing { throw missing }
        return bisection
    }
}

/// The processor time that remains for work on all states of a store.
struct TimeBudget {
    private let limits: UntrustedLimits
    private let end: Instant?

    init(_ limits: UntrustedLimits) {
        self.limits = limits
        end = limits.seconds.map { Instant.processorTime.advanced(bySeconds: $0) }
    }

    /// True if no time is left.
    var isUsedUp: Bool { end.map { Instant.processorTime > $0 } ?? false }

    /// Returns the limits for the next connection.
    func remaining() -> UntrustedLimits {
        var limits = limits
        limits.seconds = end.map { Instant.processorTime.seconds(until: $0) }
        return limits
    }
}

/// A query that is run in one state of a store after the other.
private struct StateQuery {
    /// A query's answer in one state.
    struct Answer {
        var result = Bisection.Result()
        /// The hash of all rows, if they were requested; 0 if there are none.
        var hash = 0
    }

    private let sql: String
    /// True to read all rows.
    private let isWhole: Bool
    private let budget: TimeBudget

    init(_ sql: String, isWhole: Bool, _ limits: UntrustedLimits) {
        self.sql = sql
        self.isWhole = isWhole
        budget = TimeBudget(limits)
    }

    /// Returns the answer in a state; an error if it has no table or column that the query names.
    func answer(in path: String, countsRows: Bool) throws -> Result<Answer, SQLiteError> {
        do {
            return .success(try run(in: path, countsRows: countsRows))
        } catch let error as SQLiteError where error.isMissingName {
            return .failure(error)
        }
    }

    private func run(in path: String, countsRows: Bool) throws -> Answer {
        let connection = try Connection.untrusted(path, limits: budget.remaining())
        let statement = try connection.prepare(sql)
        guard statement.isReadOnly else {
            throw CommandError(
                .usage, "'\(sql)' is not run: it changes the store. Pass a query, such as a SELECT.")
        }
        var answer = Answer()
        var hasher = Hasher()
        answer.result.columns = statement.columnNames
        while try statement.step() {
            answer.result.rowCount += 1
            if answer.result.rows.count < Bisection.rowLimit {
                answer.result.rows.append(
                    (0..<statement.columnCount).map { statement.storedValue(at: $0, limit: 256) })
            }
            guard isWhole else {
                if countsRows { continue }
                break
            }
            for column in 0..<statement.columnCount {
                hasher.combine(statement.storedValue(at: column, limit: .max))
            }
            answer.hash = 1
        }
        if answer.hash != 0 { answer.hash = hasher.finalize() }
        return answer
    }
}

extension Bisection {
    private static let maximumRows = 100

    /// Returns the JSON form.
    ///
    /// - `transaction`: the first transaction after which the query returns a row, or another result; nil if it is unknown.
    package func json(
        store: String, sql: String, isComparison: Bool, _ transaction: Timeline.Step?
    ) -> JSONObject {
        func rows(_ result: Result) -> [[JSONCell]] { result.rows.map { $0.map { JSONCell($0) } } }
        let query = after.map { after -> JSONObject in
            [
                "columns": after.columns.isEmpty ? before?.columns ?? [] : after.columns,
                "before": before.map(rows), "beforeCount": before?.rowCount, "after": rows(after),
                "afterCount": after.rowCount,
            ]
        }
        let healer: (any Encodable)? =
            switch healed {
            case .transaction(let number): number
            case .openTransaction: "open-transaction"
            case .start, nil: nil
            }
        return [
            "store": store, "sql": sql, "changed": isComparison, "transactionCount": transactions,
            "result": Self.name(of: first), "states": states.map { [$0.lowerBound, $0.upperBound] },
            "changedAfter": isComparison ? changes : nil,
            "transaction": first == nil ? nil : transaction?.number, "healedBy": healer,
            "query": query, "changes": transaction?.changes,
            "rows": transaction.map { Array($0.rows.prefix(Self.maximumRows)) },
            "rowCount": transaction.map { $0.tables.reduce(0) { $0 + $1.counts.total } },
            "statements": transaction?.statements.map(\.record),
        ]
    }

    private static func name(of place: Place?) -> String {
        switch place {
        case .start: "before-first-transaction"
        case .transaction: "transaction"
        case .openTransaction: "open-transaction"
        case nil: "none"
        }
    }
}
