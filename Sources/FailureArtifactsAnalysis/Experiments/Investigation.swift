internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The experiments about a failure: its questions, asked while one transaction after the other is undone, and asked in
/// other words.
struct Investigation {
    private(set) var questions: [Question]
    /// The first question with its results; nil without one.
    private(set) var document: QuestionDocument?
    private(set) var findings: [Finding] = []

    /// Makes the experiments, and notes which tables the questions read.
    init(_ failure: FailureEvidence) {
        let effort = failure.effort
        questions = Question.all(of: failure, budget: StepBudget(steps: effort.steps))
        // Most questions are about the same state.
        var copies: [String: ScratchStore] = [:]
        var index = 0
        while index < questions.count {
            let question = questions[index]
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
            let assertion =
                question.isSource
                ? nil : RowAssertion(question, expected: experiment.expectedResult, effort)
            if index == 0 { document = QuestionDocument(question, experiment.periods, assertion) }
            // Another question's view of a transaction says nothing new.
            let known = Set(findings.filter { $0.evidence < .query }.compactMap(\.transaction))
            let place = question.record.source?.place
            var found = ExperimentFindings(
                experiment: experiment, isFirst: index == 0,
                hasLineOfFirst: place == questions[0].record.source?.place
            ).all.filter { finding in
                !question.isSource || !(finding.transaction.map(known.contains) ?? false)
            }
            for index in found.indices { found[index].assertion = assertion }
            if questions.count < Self.maximumQuestions {
                addSource(of: &found, StepBudget(steps: effort.steps), of: question)
            }
            findings += found
            index += 1
        }
        for index in questions.indices {
            try? FileSystem.remove(Path.join(failure.scratch, "experiment-\(index).sqlite"))
        }
        if questions.isEmpty {
            let claims = Claim.all(in: failure.message)
            // The store that the test used last comes first.
            findings = failure.usedStores.sorted { $0.lastOrder > $1.lastOrder }
                .flatMap { LastChanges(store: $0, claims: claims).findings }
        }
        for question in questions {
            question.store.asked.tables.formUnion(question.reads.keys)
            question.store.asked.optionalTables.formUnion(question.optionalTables)
            if question.isExpected(question.result) { question.store.asked.isAnswered = true }
            if question.isFailing { question.store.asked.failingQueries.append(question.record.order) }
        }
    }
}

extension Investigation {
    private static let maximumQuestions = 6

    /// Adds the question from whose result the strongest finding has its values, and says so.
    private mutating func addSource(
        of findings: inout [Finding], _ budget: StepBudget, of question: Question
    ) {
        let strongest = findings.indices.filter {
            findings[$0].transaction != nil && findings[$0].evidence < .touched
        }.sorted { findings[$0].evidence < findings[$1].evidence }
        for index in strongest.prefix(3) {
            let finding = findings[index]
            guard let write = finding.statement ?? finding.statements.first,
                var source = Question.source(
                    of: finding.rows.map { row in
                        // What the query doesn't read can't have changed its result.
                        var row = row
                        let read = question.reads[folded(row.table)] ?? []
                        if !read.isEmpty { row.columns.removeAll { !read.contains(folded($0.column)) } }
                        return row
                    }, writtenBy: write, in: question.store, budget),
                !questions.contains(where: { $0.record.order == source.record.order })
            else { continue }
            source.writer = finding
            questions.append(source)
            if let line = source.record.source {
                findings[index].explanation +=
                    " The query at \(SafeText.line(line.place)) had returned what was written."
            }
            return
        }
    }
}

/// The last changes of a store whose queries are unknown, for example because its library reports no statements.
struct LastChanges {
    let store: Timeline
    let claims: [Claim]
    /// The numbers of rows of the tables, and those that statements changed: other values are the same by chance.
    private let counts: Set<Double?>

    private static let limit = 3

    init(store: Timeline, claims: [Claim]) {
        self.store = store
        self.claims = claims
        let sizes = store.tables.compactMap {
            try? store.count("SELECT count(*) FROM \(quotedIdentifier($0.name))")
        }
        counts = Set(
            (sizes + store.testStatements.compactMap { $0.record.changedRows.map(Int64.init) }).map(
                Double.init))
    }

    var findings: [Finding] {
        let steps = store.steps.reversed().filter { !$0.isOfOtherTest }
        var found: [Finding] = []
        for step in steps where found.count < Self.limit {
            let rows = Self.tables(of: step).flatMap { table in
                table.rows.compactMap { row -> Finding.Row? in
                    let columns = row.cells.filter { isNamed($0, of: table) }
                        .map { folded($0.column) }
                    return columns.isEmpty
                        ? nil : Timeline.row(row, in: table, columns: Set(columns))
                }
            }
            if !rows.isEmpty { found.append(finding(step, rows, .named)) }
        }
        guard found.isEmpty else { return found }
        if store.steps.isEmpty { return lastWrites }
        let changing = steps.filter { !Self.tables(of: $0).allSatisfy(\.rows.isEmpty) }
        return changing.prefix(Self.limit).map { step in
            let rows = Self.tables(of: step).flatMap { table in
                table.rows.prefix(5).map { Timeline.row($0, in: table) }
            }
            return finding(step, rows, .last)
        }
    }

    /// The changed tables without those of libraries, such as a migrator's.
    private static func tables(of step: Timeline.Step) -> [ChangedTable] {
        step.tables.filter { !LibraryTables.contains($0.table.name) }
    }

    /// True if a column got the value that the assertion got, or lost the expected one.
    private func isNamed(_ cell: RowChange.Cell, of table: ChangedTable) -> Bool {
        let isKey = store.keyColumns(of: table.table.name).contains { folded($0) == folded(cell.column) }
        return claims.contains { claim in
            func has(_ operand: FailureMessage.Operand?, _ value: StoredValue?) -> Bool {
                guard let value, let operand, !counts.contains(operand.values.first?.number) else {
                    return false
                }
                return operand.names(value, in: cell.column, isKey: isKey)
            }
            return has(claim.tested, cell.new) && !has(claim.tested, cell.old)
                || has(claim.expected, cell.old) && !has(claim.expected, cell.new)
        }
    }

    private func finding(_ step: Timeline.Step, _ rows: [Finding.Row], _ evidence: Finding.Evidence)
        -> Finding
    {
        let tables = Set(rows.map(\.table)).sorted()
        let object = tables.prefix(3).joined(separator: ", ")
        var finding = Finding(
            code: Set(rows.map(\.change)) == [.deleted] ? .unexpectedDelete : .resultChanged,
            title:
                "\(store.title(of: step)) changed \(evidence == .named ? "a value that the message names, in " : "")\(object)",
            confidence: .possible, store: store.name, rows: Array(rows.prefix(5)),
            transaction: step.number,
            explanation: "\(store.missingQuery), so the question of the assertion is unknown.",
            evidence: evidence)
        finding.take(step.statements.filter(\.hasChangedRows).map(\.record))
        return finding
    }

    /// The last statements that changed the store, without a history.
    private var lastWrites: [Finding] {
        store.lastWrites(of: nil).map { statement in
            Finding(
                code: .resultChanged, title: "A statement changed \(store.tableName(of: statement))",
                confidence: .possible, store: store.name, statement: statement.record,
                explanation: "\(store.missingSteps). \(store.missingQuery).")
        }
    }
}

extension Timeline {
    /// The number of the test's last statement on the store; 0 without one.
    var lastOrder: UInt64 {
        testStatements.last.map { $0.record.lastOrder ?? $0.order } ?? 0
    }

    /// Returns the last three statements of the test that changed rows of some tables, or of all, newest first; each
    /// text of a line once.
    func lastWrites(of tables: Set<String>?) -> [Statement] {
        var seen: Set<String> = []
        let writes = testStatements.reversed().filter { statement in
            statement.hasChangedRows
                && (tables == nil
                    || statement.outline.table.map { tables?.contains($0) == true } ?? false)
                && seen.insert(statement.record.textAndPlace).inserted
        }
        return Array(writes.prefix(3))
    }

    func tableName(of statement: Statement) -> String {
        let table = statement.outline.table ?? "a table"
        return schema.tables[table]?.name ?? table
    }
}
