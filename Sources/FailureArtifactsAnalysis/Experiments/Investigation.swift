internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The experiments about a failure: its questions, asked while one transaction after the other is undone, and asked in
/// other words.
struct Investigation {
    let questions: [Question]
    /// The first question with its results; nil without one.
    private(set) var document: QuestionDocument?
    private(set) var findings: [Finding] = []

    /// Makes the experiments, and notes which tables the questions read.
    init(_ failure: FailureEvidence) {
        let effort = failure.effort
        questions = Question.all(of: failure, budget: StepBudget(steps: effort.steps))
        // Most questions are about the same state.
        var copies: [String: ScratchStore] = [:]
        for (index, question) in questions.enumerated() {
            var experiment = Experiment(question, effort)
            let copy = Path.join(failure.scratch, "experiment-\(index).sqlite")
            if let store = try? copies[question.path]
                ?? ScratchStore(copyOf: question.path, at: copy, limits: question.store.limits)
            {
                copies[question.path] = store
                let budget = StepBudget(steps: effort.steps)
                store.limit(budget)
                experiment.run(in: store, budget)
            }
            if index == 0 { document = QuestionDocument(question, experiment.periods) }
            // Another question's view of a transaction says nothing new.
            let known = Set(findings.filter { $0.evidence < .query }.compactMap(\.transaction))
            findings += ExperimentFindings(experiment: experiment).all.filter { finding in
                !question.isSource || !(finding.transaction.map(known.contains) ?? false)
            }
        }
        for index in questions.indices {
            try? FileSystem.remove(Path.join(failure.scratch, "experiment-\(index).sqlite"))
        }
        if questions.isEmpty {
            let claims = Claim.all(in: failure.message)
            // The store that the test used last comes first.
            let stores = failure.stores.enumerated().sorted { first, second in
                let (a, b) = (first.element.lastOrder, second.element.lastOrder)
                return a != b ? a > b : first.offset < second.offset
            }
            findings = stores.flatMap { LastChanges(store: $0.element, claims: claims).findings }
        }
        for question in questions {
            question.store.asked.tables.formUnion(question.reads.keys)
            question.store.asked.columns.merge(question.reads) { $0.union($1) }
            question.store.asked.optionalTables.formUnion(question.optionalTables)
            if question.isExpected(question.result) { question.store.asked.isAnswered = true }
        }
    }
}
