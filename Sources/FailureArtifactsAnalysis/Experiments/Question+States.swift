internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension Question {
    /// True if the result can be another one after a transaction.
    private func mayAffect(_ step: Timeline.Step) -> Bool {
        !step.changes.schema.isEmpty || step.changes.tables.contains { reads[folded($0.name)] != nil }
    }

    /// Asks the question in all states of the history; empty if a state can't be read.
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
        // A virtual table has its rows in others.
        let isOfTables = reads.keys.allSatisfy {
            store.schema.tables[$0].map { $0.kind != .virtual } ?? true
        }
        try store.forEachState { number, path in
            guard let number else { return true }
            if isOfTables, let step = store.step(ofTransaction: number), !mayAffect(step) { return true }
            let connection = try Connection.untrusted(path, limits: store.limits)
            budget.limit(connection)
            // Before a migration, the table need not exist.
            if let result = ask(connection) { add(number, result) }
            return !budget.isUsedUp
        }
        guard !budget.isUsedUp else { return [] }
        if let known, store.steps.last?.number == nil, !store.steps.isEmpty { add(nil, known) }
        return periods
    }
}
