package import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The states of a store in which a query returns a row, or in which its result differs from that in the first state.
package struct Bisection: Sendable {
    /// The first rows of a query's result.
    package struct Result: Equatable, Sendable {
        package var columns: [String] = []
        package var rows: [[StoredValue]] = []
        package var rowCount = 0
    }

    /// A place in the sequence of states.
    package enum Place: Equatable, Sendable {
        case start
        case transaction(Int)
        /// The state that the open transaction saw.
        case openTransaction
    }

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
    package fileprivate(set) var after: Result?

    fileprivate init(transactions: Int, hasOpenTransaction: Bool) {
        self.transactions = transactions
        self.hasOpenTransaction = hasOpenTransaction
    }

    package func place(_ state: Int) -> Place {
        if state > transactions { return .openTransaction }
        return state == 0 ? .start : .transaction(state)
    }

    package var first: Place? { states.first.map { place($0.lowerBound) } }

    /// The first state after those in question; nil if the last state is one of them.
    package var healed: Place? {
        let last = transactions + (hasOpenTransaction ? 1 : 0)
        return states.last.flatMap { $0.upperBound < last ? place($0.upperBound + 1) : nil }
    }
}

extension Timeline {
    /// Finds the states in which a query returns a row, or another result than in the first state that has its names.
    ///
    /// Every state is tested, because a violation can heal.
    package func bisect(_ sql: String, onChange: Bool) throws -> Bisection {
        var bisection = Bisection(
            transactions: transactionCount, hasOpenTransaction: hasUncommittedState)
        let budget = TimeBudget(limits)
        var previous = Bisection.Result()
        // The hashes of the first result and of the previous one.
        var original: Int?
        var hash: Int?
        var missing: SQLiteError?
        var state = 0
        try forEachState { _, path in
            let isSearching = bisection.states.isEmpty
            var answer = (result: Bisection.Result(), hash: 0)
            do {
                answer = try Bisection.Result.of(
                    sql, in: path, limits: budget.remaining(), countsRows: isSearching,
                    hashesRows: onChange)
            } catch let error as SQLiteError where error.isMissingName {
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

extension Bisection.Result {
    /// Runs a query in a state; returns its result with a hash of all rows, if they are requested, which is 0 if there
    /// are none.
    fileprivate static func of(
        _ sql: String, in path: String, limits: UntrustedLimits, countsRows: Bool, hashesRows: Bool
    ) throws -> (result: Self, hash: Int) {
        let connection = try Connection.untrusted(path, limits: limits)
        let statement = try connection.query(sql)
        var result = Self()
        var hasher = Hasher()
        result.columns = statement.columnNames
        while try statement.step() {
            result.rowCount += 1
            if result.rows.count < Bisection.rowLimit {
                result.rows.append(
                    (0..<statement.columnCount).map { statement.storedValue(at: $0, limit: 256) })
            }
            guard countsRows || hashesRows else { break }
            for column in 0..<statement.columnCount where hashesRows {
                hasher.combine(statement.storedValue(at: column, limit: .max))
            }
        }
        return (result, hashesRows && result.rowCount > 0 ? hasher.finalize() : 0)
    }
}

extension Connection {
    /// Prepares a query of the user.
    borrowing func query(_ sql: String) throws -> Statement {
        let statement = try prepare(sql)
        guard statement.isReadOnly else {
            throw CommandError(
                .usage, "'\(sql)' is not run: it changes the store. Pass a query, such as a SELECT.")
        }
        return statement
    }
}

extension Bisection {
    private static let maximumRows = 100

    /// Returns the JSON form.
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
