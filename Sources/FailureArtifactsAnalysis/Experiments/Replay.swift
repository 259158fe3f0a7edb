internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Later transactions that run again without an earlier one, with the statements and values of the log.
///
/// Undoing the rows of a transaction isn't enough if later ones wrote them again, or read them in order to write.
struct Replay {
    private let question: Question
    /// The transactions before the question.
    private let steps: ArraySlice<Timeline.Step>
    private let budget: StepBudget
    /// The recorded content of the tables that the question reads.
    private let content: [QueryResult]

    private var store: Timeline { question.store }

    /// Returns nil if a table has too many rows to be compared.
    init?(for question: Question, _ budget: StepBudget) {
        self.question = question
        self.budget = budget
        steps = question.store.steps(before: question.statement)
        guard let connection = try? Connection.untrusted(question.path, limits: question.store.limits)
        else { return nil }
        budget.limit(connection)
        guard let content = Self.content(of: question, on: connection) else { return nil }
        self.content = content
    }

    /// Returns the result of the question without a transaction; nil if that can't be known.
    ///
    /// It is known if running all again, with that transaction, gives the recorded content of the tables that the question
    /// reads, and if no later statement fails without it or gives a row another key.
    func result(without step: Timeline.Step) -> QueryResult? {
        guard let first = steps.firstIndex(where: { $0.number == step.number }), step.number != nil
        else {
            return nil
        }
        let all = steps[first...]
        guard all.allSatisfy({ $0.isComplete && $0.changes.schema.isEmpty && !$0.statements.isEmpty })
        else { return nil }
        var result: QueryResult?
        store.forEachState(before: [step]) { _, path in
            let replayed = try? run(all, on: path) { Self.content(of: question, on: $0) }
            guard replayed == content else { return }
            result = (try? run(all.dropFirst(), on: path) { question.ask($0) }) ?? nil
        }
        return result
    }

    /// Returns nil if a table has too many rows to be compared.
    private static func content(
        of question: Question, on connection: borrowing Connection
    ) -> [QueryResult]? {
        var content: [QueryResult] = []
        for name in question.reads.keys.sorted() {
            guard let table = question.store.schema.tables[name] else { continue }
            let sql = "SELECT * FROM \(quotedIdentifier(table.name))"
            guard let rows = (try? QueryResult.of(sql, [], on: connection)) ?? nil else { return nil }
            content.append(rows)
        }
        return content
    }

    /// Runs transactions, and returns the result of `body` then.
    private func run<Result>(
        _ steps: ArraySlice<Timeline.Step>, on path: String,
        _ body: (borrowing Connection) -> Result
    ) throws -> Result {
        let connection = try Connection.untrustedForWriting(path, limits: store.limits)
        connection.enforce(foreignKeys: store.hasForeignKeys(at: steps.first?.statements.first))
        budget.limit(connection)
        try connection.execute("BEGIN")
        defer { try? connection.execute("ROLLBACK") }
        for step in steps {
            for statement in step.statements where statement.record.error == nil {
                for _ in 0..<(statement.record.repeated ?? 1) {
                    try statement.run(on: connection)
                    try checkKey(of: statement, in: step, on: connection)
                }
            }
        }
        return body(connection)
    }

    /// Throws if a statement inserted a row with another key than in the test: later statements would name the wrong row.
    private func checkKey(
        of statement: Timeline.Statement, in step: Timeline.Step, on connection: borrowing Connection
    ) throws {
        guard statement.outline.kind == .insert, !statement.outline.isCopy,
            let shape = statement.outline.table.flatMap({ store.schema.tables[$0] }),
            shape.integerKey != nil, try connection.integer(of: "SELECT changes()") == 1
        else { return }
        let key = try connection.integer(of: "SELECT last_insert_rowid()")
        let keys = step.table(shape.name)?.rows.map(\.key) ?? []
        // A later statement of the transaction may have deleted it again.
        guard keys.isEmpty || keys.contains([StoredValue(.integer(key))]) else {
            throw SQLiteError("insert", code: 1)
        }
    }
}
