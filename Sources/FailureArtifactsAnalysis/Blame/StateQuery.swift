internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A query that is run in one state of a store after the other.
///
/// It isn't run again if no table changed that it reads.
struct StateQuery {
    /// A query's answer in one state.
    struct Answer {
        var result = Bisection.Result()
        /// The hash of all rows, if they were requested; 0 if there are none.
        var hash = 0
    }

    /// The maximum number of rows that are counted.
    private static let countLimit = 10_000
    /// The time limit for counting rows, in seconds.
    private static let countSeconds = 1.0

    private let sql: String
    /// True to read all rows.
    private let isWhole: Bool
    private let budget: TimeBudget
    private var reads: StateReads
    /// The last answer; an error if the state doesn't have a table or column that the query names.
    private var last: Result<Answer, SQLiteError>?

    init(_ sql: String, isWhole: Bool, in store: Timeline) {
        self.sql = sql
        self.isWhole = isWhole
        budget = TimeBudget(store.limits)
        reads = StateReads(store)
    }

    /// Returns the answer in the state after a transaction.
    mutating func answer(
        in path: String, after transaction: Int?, keeping rowLimit: Int
    ) throws -> Result<Answer, SQLiteError> {
        if let last, reads.areSame(after: transaction) { return last }
        let answer: Result<Answer, SQLiteError>
        do {
            answer = .success(try run(in: path, keeping: rowLimit))
        } catch let error as SQLiteError where error.isMissingName {
            answer = .failure(error)
        }
        last = answer
        return answer
    }

    private mutating func run(in path: String, keeping rowLimit: Int) throws -> Answer {
        let connection = try Connection.untrusted(path, limits: budget.remaining())
        reads.note(sql, on: connection)
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
            if answer.result.rows.count < rowLimit {
                answer.result.rows.append(
                    (0..<statement.columnCount).map { statement.storedValue(at: $0, limit: 256) })
            } else if !isWhole {
                answer.result.isCounted = rowLimit > 1 && Self.count(statement, &answer.result.rowCount)
                break
            }
            guard isWhole else { continue }
            for column in 0..<statement.columnCount {
                hasher.combine(statement.storedValue(at: column, limit: .max))
            }
            answer.hash = 1
        }
        if answer.hash != 0 { answer.hash = hasher.finalize() }
        return answer
    }

    /// Counts the rows that follow, without those beyond a limit.
    ///
    /// True if all rows were counted. An error doesn't matter, because the query has returned rows already.
    private static func count(_ statement: borrowing Statement, _ count: inout Int) -> Bool {
        let deadline = Instant.now.advanced(bySeconds: countSeconds)
        while count < countLimit, Instant.now < deadline {
            guard let isRow = try? statement.step() else { return false }
            guard isRow else { return true }
            count += 1
        }
        return false
    }
}
