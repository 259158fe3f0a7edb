package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The failing query and its results up to the failure.
package struct QuestionDocument: Encodable, Sendable {
    /// A result, from one transaction to the next one that changed it.
    package struct Period: Equatable, Encodable, Sendable {
        /// The number of the first transaction in the history after which the query returned it: 0 for the first state,
        /// absent for the transaction that was open at the failure.
        package let transaction: Int?
        package let result: String
        /// True if it is the value that the assertion expected; otherwise absent.
        package let isExpected: Bool?
    }

    package let store: String
    package let query: StatementRecord
    /// True if the query's result is the value that the assertion got; false if it is only the last query.
    package let isMatched: Bool
    /// The results, oldest first; empty without a history.
    package let results: [Period]

    /// The maximum number of results in ``sentence``.
    private static let maximumPeriods = 4

    init(_ question: Question, _ results: [Period]) {
        store = question.store.name
        query = question.record
        isMatched = question.isMatched
        self.results = results
    }

    package var title: String { isMatched ? "failing query" : "last query" }

    /// The results as a sentence, such as `It returned 5 before transaction 1, 8 after transaction 4`.
    package var sentence: String? {
        guard !results.isEmpty else { return nil }
        let shown = results.suffix(Self.maximumPeriods)
        let texts = shown.map { period in
            switch period.transaction {
            case nil: "\(period.result) in the open transaction"
            case 0: "\(period.result) before transaction 1"
            case let number?: "\(period.result) after transaction \(number)"
            }
        }
        return "It returned " + (results.count > shown.count ? "…, " : "")
            + texts.joined(separator: ", ") + "."
    }

    private enum CodingKeys: String, CodingKey {
        case store, sql, values, source, results
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encode(query.sql, forKey: .sql)
        try container.encodeIfPresent(query.values, forKey: .values)
        try container.encodeIfPresent(query.source, forKey: .source)
        if !results.isEmpty { try container.encode(results, forKey: .results) }
    }
}

extension Question {
    /// Asks the question in all states of the history. Empty if a state can't be read.
    func periods() -> [QuestionDocument.Period] {
        (try? states()) ?? []
    }

    private func states() throws -> [QuestionDocument.Period] {
        let budget = StepBudget(steps: 100_000_000)
        var periods: [QuestionDocument.Period] = []
        func add(_ number: Int?, _ result: QueryResult) {
            let text = text(of: result)
            guard text != periods.last?.result else { return }
            periods.append(
                .init(transaction: number, result: text, isExpected: isExpected(result) ? true : nil))
        }
        guard store.transactionCount > 0 else { return [] }
        var reads = StateReads(store)
        try store.forEachState { number, path in
            guard let number, !reads.areSame(after: number) else { return true }
            let connection = try Connection.untrusted(path, limits: store.limits)
            budget.limit(connection)
            reads.note(record.sql, on: connection)
            // Before a migration, the table need not exist.
            if let result = ask(connection) { add(number, result) }
            return !budget.isUsedUp
        }
        guard !budget.isUsedUp else { return [] }
        if let known, store.steps.last?.number == nil, !store.steps.isEmpty { add(nil, known) }
        return periods
    }
}
