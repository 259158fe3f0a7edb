internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The experiments about a failure: its questions, asked while one transaction after the other is undone, and asked in
/// other words.
struct Investigation {
    let questions: [Question]
    private(set) var findings: [Finding] = []
    /// The steps of the stores' own connections.
    private let budget: StepBudget

    /// Makes the experiments, and notes which tables the questions read.
    ///
    /// - Parameter failure: The failure.
    init(_ failure: FailureEvidence) {
        let effort = failure.effort
        budget = StepBudget(steps: effort.steps)
        questions = Question.all(of: failure, budget: budget)
        for (index, question) in questions.enumerated() {
            let budget = StepBudget(steps: effort.steps)
            let copy = Path.join(failure.scratch, "experiment-\(index).sqlite")
            var experiment = Experiment(question, effort)
            if let store = try? ScratchStore(
                copyOf: question.path, at: copy, limits: question.store.limits, budget: budget)
            {
                experiment.run(in: store, budget)
            }
            try? FileSystem.remove(copy)
            // Another question's view of a transaction says nothing new.
            let known = Set(findings.filter { $0.evidence < .query }.compactMap(\.transaction))
            findings += experiment.findings.filter { finding in
                !question.isSource || !(finding.transaction.map(known.contains) ?? false)
            }
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
            question.store.asked.optionalTables.formUnion(question.optionalTables)
            if question.isExpected(question.result) { question.store.asked.isAnswered = true }
        }
    }
}

/// The experiments about one question.
private struct Experiment {
    let question: Question
    let effort: Effort
    private var trials: [Trial] = []
    private var variants: [(variant: QueryVariants.Variant, result: QueryResult)] = []
    private var rowsLeft: Int

    private var store: StoreEvidence { question.store }

    /// A transaction that was undone, or only looked at.
    private struct Trial {
        let step: StoreEvidence.Step
        var effect: Effect
        /// The result without the transaction; nil if it wasn't undone.
        var result: QueryResult?
        /// The rows that matter, with the columns that matter; the first ones are the most important.
        var rows: [Finding.Row]
        /// The rows as they changed.
        var changes: [ScratchStore.Change]
        /// True if undoing one of several rows has the effect.
        var isPart = false
        /// True if later transactions changed the same numbers, and only the differences were taken back.
        var isDifference = false
        /// The term of the query without which it depends on the transaction.
        var term: String?
        /// True if the query returns the expected result without that term.
        var isExpectedWithoutTerm = false
    }

    /// The query without one of its terms.
    private struct Relaxed {
        let term: String
        let sql: String
        /// True if the term compares a column with a parameter, so that it leaves out what belongs to something else.
        let isIdentity: Bool
        let result: QueryResult
    }

    /// The effect of a transaction on the result, the strongest one first.
    private enum Effect: Int, Comparable {
        /// Without it, the result is the expected one.
        case fixes
        /// Without it, the result is closer to the expected one.
        case approaches
        /// It changed the schema, and with it rows that the query reads.
        case migrates
        /// Without it, the result is another one.
        case changes
        /// Without it, the result is further away from the expected one.
        case recedes
        /// Without it, the result is another one if the query lacks one of its terms.
        case excludes
        /// It changed a row that the query names by a value.
        case named
        /// Without it, the result is another one if the query is about something else.
        case excludesOther
        /// It changed a table that the query reads.
        case touches

        static func < (first: Effect, second: Effect) -> Bool { first.rawValue < second.rawValue }
    }

    init(_ question: Question, _ effort: Effort) {
        self.question = question
        self.effort = effort
        rowsLeft = effort.rows
    }

    mutating func run(in scratch: ScratchStore, _ budget: StepBudget) {
        let canAsk = question.known != nil && question.ask(scratch.connection) == question.known
        let keys = question.reads.keys.flatMap { store.keyColumns(of: $0) }.map(folded)
        let relaxed = QueryText(question.record.sql).relaxed(keys: Set(keys)).prefix(8).compactMap {
            relaxed -> Relaxed? in
            guard canAsk, let result = question.ask(scratch.connection, relaxed.sql) else { return nil }
            return Relaxed(
                term: relaxed.term, sql: relaxed.sql, isIdentity: relaxed.isIdentity, result: result)
        }
        let related = store.steps(before: question.statement).reversed().filter { step in
            step.tables.contains { question.reads[folded($0.table.name)] != nil }
                || step.changes.schema.contains { question.reads[folded($0.name)] != nil }
        }
        let migrations = related.contains { !$0.changes.schema.isEmpty }
        let changed = migrations && canAsk ? Set(question.periods().dropFirst().map(\.transaction)) : []
        let last = related.prefix(effort.transactions)
        let earlier = related.dropFirst(effort.transactions).filter { has(question.claim.tested, $0) }
        for step in last + earlier.prefix(effort.transactions / 2) {
            guard !budget.isUsedUp else { break }
            var trial = trial(of: step, canAsk ? relaxed : nil, in: scratch)
            // A change of the schema can't be undone, but the states before and after it can be compared.
            if trial.effect > .migrates, !migrated(in: step).isEmpty {
                trial.effect = .migrates
            } else if trial.effect > .changes, !step.changes.schema.isEmpty,
                changed.contains(step.number)
            {
                trial.effect = .changes
            }
            trials.append(trial)
        }
        if canAsk { vary(in: scratch, budget) }
    }

    // MARK: - Undoing

    private mutating func trial(
        of step: StoreEvidence.Step, _ relaxed: [Relaxed]?,
        in scratch: ScratchStore
    ) -> Trial {
        let changes = step.tables.filter { !$0.table.isShadow }.flatMap { table in
            table.rows.map { ScratchStore.Change(table: table, row: $0) }
        }
        let read = changes.filter { question.reads[folded($0.table.table.name)] != nil }
        var trial = Trial(step: step, effect: .touches, rows: read.prefix(5).map(row), changes: read)
        guard let relaxed, step.isComplete else {
            if read.contains(where: isNamed) { trial.effect = .named }
            return trial
        }
        var relaxedResults: [QueryResult?] = []
        let result = try? scratch.undoing(changes) { () -> QueryResult? in
            let result = question.ask(scratch.connection)
            if result == question.result {
                relaxedResults = relaxed.map { question.ask(scratch.connection, $0.sql) }
            }
            return result
        }
        trial.result = result ?? nil
        if let result = trial.result, result != question.result {
            trial.effect = effect(of: result)
            refine(&trial, in: scratch)
            // Without a new row, a query returns nothing.
            if trial.effect == .fixes, question.claim.expectsNothing,
                read.allSatisfy({ $0.row.kind == .inserted })
            {
                trial.effect = .changes
            }
            if result.rows.isEmpty, isOnlyFound(by: read) { trial.effect = .named }
        } else if let result = resultByDifference(of: read, in: scratch) {
            trial.effect = .approaches
            trial.result = result
            trial.isDifference = true
        } else if let index = firstAffected(relaxed, relaxedResults),
            !relaxed[index].isIdentity || !read.contains(where: isNamed)
        {
            trial.effect = relaxed[index].isIdentity ? .excludesOther : .excludes
            trial.term = relaxed[index].term
            trial.isExpectedWithoutTerm = question.isExpected(relaxed[index].result)
        } else if read.contains(where: isNamed) {
            trial.effect = .named
            trial.rows = read.filter(isNamed).prefix(5).map(row)
        }
        return trial
    }

    /// True if the changes inserted the row whose key another question's query needs: no key is wrong in its own row.
    private func isOnlyFound(by changes: [ScratchStore.Change]) -> Bool {
        guard let column = question.column else { return false }
        return changes.allSatisfy { change in
            change.row.kind == .inserted
                && store.keyColumns(of: change.table.table.name).map(folded) == [folded(column)]
        }
    }

    /// Returns the result after the differences that a transaction made to numbers were taken back; nil unless it is closer to
    /// the expected one.
    private func resultByDifference(of changes: [ScratchStore.Change], in scratch: ScratchStore)
        -> QueryResult?
    {
        guard !question.isSource, changes.contains(where: { $0.row.kind == .updated }) else {
            return nil
        }
        let updates = changes.filter { $0.row.kind == .updated }
        let result = try? scratch.undoing(updates, byDifference: true) {
            question.ask(scratch.connection)
        }
        guard let result = result ?? nil, result != question.result, effect(of: result) <= .approaches
        else { return nil }
        return result
    }

    /// Returns the first of the relaxed queries whose result has changed; identities come last.
    private func firstAffected(_ relaxed: [Relaxed], _ results: [QueryResult?]) -> Int? {
        let affected = results.indices.filter { results[$0] != nil && results[$0] != relaxed[$0].result }
        return affected.first { !relaxed[$0].isIdentity } ?? affected.first
    }

    private func effect(of result: QueryResult) -> Effect {
        if question.isExpected(result) { return .fixes }
        guard question.differ(result, question.result) else { return .named }
        if question.parts != [.all], !question.claim.expectsNothing, question.isNothing(result),
            !question.isNothing(question.result)
        {
            return .recedes
        }
        guard let part = question.parts.first, let new = part.distance(of: result, from: question.claim),
            let old = part.distance(of: question.result, from: question.claim), new != old
        else { return .changes }
        return new < old ? .approaches : .recedes
    }

    /// Undoes single rows and columns of a transaction.
    private mutating func refine(_ trial: inout Trial, in scratch: ScratchStore) {
        var found: [(effect: Effect, change: ScratchStore.Change)] = []
        for change in trial.changes.prefix(40) where rowsLeft > 0 {
            rowsLeft -= 1
            guard
                let result = (try? scratch.undoing([change]) { question.ask(scratch.connection) })
                    ?? nil,
                result != question.result
            else { continue }
            var best = (effect: effect(of: result), change: change)
            if change.row.kind == .updated, change.row.cells.count > 1 {
                for cell in change.row.cells.prefix(12) where rowsLeft > 0 {
                    rowsLeft -= 1
                    var part = change
                    part.columns = [folded(cell.column)]
                    guard
                        let result = (try? scratch.undoing([part]) { question.ask(scratch.connection) })
                            ?? nil,
                        result != question.result
                    else { continue }
                    let effect = effect(of: result)
                    if effect < best.effect || effect == best.effect && best.change.columns == nil {
                        best = (effect, part)
                    }
                }
            }
            found.append(best)
        }
        guard let best = found.map(\.effect).min() else { return }
        if best < trial.effect {
            trial.effect = best
            trial.isPart = true
        }
        let sorted = found.enumerated().sorted {
            ($0.element.effect, $0.offset) < ($1.element.effect, $1.offset)
        }
        trial.rows = sorted.prefix(5).map { row($0.element.change) }
    }

    /// Returns the statements of a transaction that changed existing rows of a table that the query reads, as parts of a
    /// change of the schema.
    private func migrated(in step: StoreEvidence.Step) -> [StatementRecord] {
        guard !step.changes.schema.isEmpty else { return [] }
        let renamed = Set(step.statements.map(\.outline).filter(\.alters).compactMap(\.table))
        return step.statements.filter { statement in
            guard statement.hasChangedRows, let table = statement.outline.table,
                question.reads[table] != nil || renamed.contains(table), !MigrationTables.contains(table)
            else { return false }
            return statement.outline.kind != .insert || statement.parts.words.contains("select")
        }.map(\.record)
    }

    private func row(_ change: ScratchStore.Change) -> Finding.Row {
        StoreEvidence.row(change.row, in: change.table, columns: change.columns)
    }

    /// True if a changed row has a value that the query or the assertion names.
    private func isNamed(_ change: ScratchStore.Change) -> Bool {
        if isNamedByQuery(change) { return true }
        let expected = (question.claim.expected?.values ?? []).filter {
            !$0.isCommon && $0.text != "nil"
        }
        return Self.values(of: change.row).contains { value in expected.contains { $0.matches(value) } }
    }

    private func isNamedByQuery(_ change: ScratchStore.Change) -> Bool {
        let bound = question.values.filter { $0 != .null }
        return !bound.isEmpty
            && Self.values(of: change.row).contains { $0.bindable.map(bound.contains) ?? false }
    }

    private static func values(of row: RowChange) -> [StoredValue] {
        row.key + row.cells.flatMap { [$0.old, $0.new].compactMap(\.self) }
    }

    /// True if a transaction wrote a value of an operand to a table that the query reads.
    private func has(_ operand: FailureMessage.Operand?, _ step: StoreEvidence.Step) -> Bool {
        let values = (operand?.values ?? []).filter { !$0.isCommon && $0.text != "nil" }
        return !values.isEmpty
            && step.tables.contains { table in
                question.reads[folded(table.table.name)] != nil
                    && table.rows.contains { row in
                        row.cells.contains { cell in
                            cell.new.map { new in values.contains { $0.matches(new) } } ?? false
                        }
                    }
            }
    }

    // MARK: - Other queries

    private mutating func vary(in scratch: ScratchStore, _ budget: StepBudget) {
        guard !question.isSource, !question.isExpected(question.result) else { return }
        let variants = QueryVariants(
            of: question.record.sql, in: store.schema,
            terms: store.conditions(besides: question.record.sql),
            values: { table, column in
                Experiment.values(of: column, of: table, in: scratch.connection)
            })
        for variant in variants.all where !budget.isUsedUp && self.variants.count < 5 {
            let isComplete = variant.family == .nulls && question.result.rows.isEmpty
            guard question.claim.shown != nil || isComplete,
                let result = question.ask(scratch.connection, variant.sql),
                question.isExpected(result) || isComplete && !result.rows.isEmpty
            else { continue }
            self.variants.append((variant, result))
        }
    }

    /// Returns the values of a column as literals, if they are at most four.
    private static func values(
        of column: TableShape.Column, of table: TableShape, in connection: borrowing Connection
    ) -> [String] {
        let name = quotedIdentifier(column.name)
        var values: [String] = []
        do throws(SQLiteError) {
            let statement = try connection.prepare(
                "SELECT DISTINCT quote(\(name)) FROM \(quotedIdentifier(table.name)) WHERE \(name) NOT NULL LIMIT 5"
            )
            while try statement.step() { values.append(statement.text(at: 0)) }
        } catch {
            return []
        }
        return values.count <= 4 && values.allSatisfy { $0.utf8.count <= 40 } ? values : []
    }

    // MARK: - Findings

    /// The findings, in no order.
    var findings: [Finding] {
        var findings = trials.map(finding)
        findings += variants.map { variant, result in finding(variant, result) }
        if !question.isSource { findings += withoutEffect }
        if trials.isEmpty, store.steps.isEmpty { findings += lastWrites }
        if !question.isSource { findings.append(query) }
        return findings
    }

    private func finding(_ trial: Trial) -> Finding {
        let name = store.title(of: trial.step)
        let after = trial.result.map(question.text)
        let subject =
            trial.step.number.map { "transaction \($0)" } ?? name.prefix(1).lowercased()
            + name.dropFirst()
        let part = trial.isPart ? "one change of " : ""
        let isOtherResult = trial.result != nil && trial.result != question.result
        let title: String
        var explanation = question.statedResult
        let evidence: Finding.Evidence
        switch trial.effect {
        case .fixes:
            title =
                "Without \(part)\(subject), the query returns \(expectedText(trial.result ?? question.result))"
            evidence = .fix
        case .approaches, .changes, .recedes, .named:
            if !isOtherResult, trial.effect == .changes {
                title = "\(name) changed the schema, and the query's result"
                evidence = .change
                break
            }
            guard isOtherResult || trial.isPart else {
                let isOfQuery = trial.changes.contains(where: isNamedByQuery)
                title =
                    "\(name) changed a row \(isOfQuery ? "that the query names" : "with the expected value")"
                explanation += " Its result is the same without the transaction."
                evidence = .named
                break
            }
            if trial.isDifference {
                explanation +=
                    " Later transactions changed the same numbers, so only the difference was taken back."
            }
            title =
                "Without \(part)\(subject), the query returns \(trial.isPart ? "another result" : after ?? "another result")"
            evidence =
                switch trial.effect {
                case .approaches: .approach
                case .changes: .change
                case .recedes: .recession
                default: .otherValue
                }
        case .migrates:
            title = "\(name) changed the schema, and rows that the query reads"
            evidence = .migration
        case .excludes, .excludesOther:
            title = "\(name) changed rows that the query leaves out"
            explanation += " It leaves them out because of \(SafeText.line(trial.term ?? "a term"))."
            evidence =
                trial.isExpectedWithoutTerm && !question.isCommon
                ? .expectedExclusion
                : trial.effect == .excludes || question.result.rows.isEmpty ? .exclusion : .touched
        case .touches:
            let isLoss =
                question.expectsRows && question.result.rows.isEmpty
                && trial.rows.contains { $0.change == .deleted }
            title = "\(name) \(isLoss ? "deleted rows of" : "changed") a table that the query reads"
            if trial.result != nil {
                explanation += " Its result is the same without the transaction."
            } else if !trial.step.isComplete {
                explanation += " The transaction has too many changes to be undone."
            }
            evidence = isLoss ? .exclusion : .touched
        }
        let kinds = Set(trial.rows.map(\.change))
        var finding = Finding(
            code: kinds == [.deleted] ? .unexpectedDelete : .resultChanged, title: title,
            confidence: evidence == .fix && trial.isPart && kinds != [.inserted] && isSignificant
                ? .likely : .possible, store: store.name, rows: trial.rows,
            transaction: trial.step.number, explanation: explanation)
        finding.evidence = question.isSource ? max(evidence, .source) : evidence
        if let result = trial.result, result != question.result || trial.effect == .fixes {
            finding.undone = Finding.Undone(
                transactions: trial.step.number.map { [$0] } ?? [],
                rows: trial.isPart ? Array(trial.rows.prefix(1)) : [],
                result: trial.isPart && trial.effect == .fixes
                    ? question.claim.shown ?? question.text(of: result) : question.text(of: result),
                isExpected: trial.effect == .fixes)
        }
        if trial.effect == .fixes { finding.query = check }
        if trial.effect == .migrates {
            finding.take(migrated(in: trial.step).suffix(StoreEvidence.maximumCandidates))
            return finding
        }
        let first = trial.rows.first.map { [$0] } ?? []
        let matching = trial.changes.filter { change in
            first.contains {
                $0.table == change.table.table.name && $0.key.map(\.value) == change.row.key
            }
        }
        let found = store.statements(
            of: trial.step, changing: matching.map { StoreEvidence.row($0.row, in: $0.table) },
            columns: Experiment.columns(of: first))
        finding.take(found.isEmpty ? writers(in: trial.step) : found)
        return finding
    }

    /// A query that returns a row as long as the question has another value than the expected one; nil if it can't be stated.
    private var check: String? {
        guard case .cell(let column, "", "")? = question.parts.first,
            question.statement.parts.words.first == "select",
            let name = question.result.columns[safe: column],
            let value = question.claim.expected?.values.first,
            value.text != "nil",
            question.record.sqlWithLiterals != question.record.sql || question.values.isEmpty
        else { return nil }
        let isQuoted = value.number == nil || question.claim.expected?.text.hasPrefix("\"") == true
        let literal = isQuoted ? "'" + value.text.replacing("'", with: "''") + "'" : value.text
        guard !["true", "false"].contains(literal) else { return nil }
        let sql = question.record.sqlWithLiterals.split(separator: ";").joined()
        return "SELECT * FROM (\(sql))\nWHERE \(quotedIdentifier(name)) IS NOT \(literal)"
    }

    /// The statements of a transaction that wrote to the tables that the query reads.
    private func writers(in step: StoreEvidence.Step) -> [StatementRecord] {
        step.statements.filter {
            $0.record.error == nil && ($0.outline.table.map { question.reads[$0] != nil } ?? false)
                && !$0.outline.isQuery
        }.map(\.record)
    }

    /// The changed columns of rows, by table; no columns for all.
    private static func columns(of rows: [Finding.Row]) -> [String: Set<String>] {
        var columns: [String: Set<String>] = [:]
        for (table, rows) in Dictionary(grouping: rows, by: { folded($0.table) }) {
            let isAny = rows.contains { $0.change != .updated }
            columns[table] = isAny ? [] : Set(rows.flatMap(\.columns).map { folded($0.column) })
        }
        return columns
    }

    /// True if an expected result is no coincidence.
    private var isSignificant: Bool {
        !question.isCommon && !question.parts.allSatisfy(\.isEmbedded)
    }

    /// An expected result as the end of a sentence.
    private func expectedText(_ result: QueryResult) -> String {
        question.claim.shown.map { "the expected \($0)" } ?? "\(question.text(of: result)), as expected"
    }

    private func finding(_ variant: QueryVariants.Variant, _ result: QueryResult) -> Finding {
        let isStrong = variant.family == .nulls || !question.isCommon && variant.family == .form
        let isFixed = trials.contains { $0.effect == .fixes }
        var finding = Finding(
            code: .wrongQuery,
            title:
                "The query returns \(question.claim.shown.map { "the expected \($0)" } ?? question.text(of: result)) "
                + SafeText.line(TextWidth.shortened(variant.text, to: 120)),
            confidence: isStrong && question.claim.shown != nil && !isFixed ? .likely : .possible,
            store: store.name, statement: question.record,
            explanation:
                "\(question.title) returned \(question.text(of: question.result))\(question.parameters)."
        )
        finding.evidence = isStrong ? .variant : .commonVariant
        return finding
    }

    /// The last statements on the tables of the query that changed no row.
    private var withoutEffect: [Finding] {
        let statements = store.testStatements
        var seen: Set<String> = []
        var findings: [Finding] = []
        for (index, statement) in statements.enumerated().reversed() where findings.count < 3 {
            guard statement.writes, statement.record.error == nil, statement.record.changes == 0,
                let table = statement.outline.table, question.reads[table] != nil,
                statement.order < question.statement.order || !question.isMatched
            else { continue }
            let next = statements[(index + 1)...].prefix(4).first(where: \.writes)
            let isUpsert =
                next?.outline.kind == .insert && next?.outline.table == table
                && statement.outline.kind == .update
            guard !isUpsert,
                seen.insert(statement.record.sql + (statement.record.source?.place ?? "")).inserted
            else { continue }
            let name = store.tableName(of: statement)
            let verb =
                switch statement.outline.kind {
                case .insert: "An INSERT into \(name) inserted no row"
                case .update: "An UPDATE of \(name) changed no row"
                default: "A DELETE of \(name) changed no row"
                }
            var finding = Finding(
                code: .noEffect, title: verb, confidence: .possible, store: store.name,
                statement: statement.record,
                explanation:
                    "\(question.title) reads this table. SQLite counted no changed row, and the log has no error."
            )
            let isRoutine = statements.contains {
                $0.record.sql == statement.record.sql && $0.record.changes ?? 0 > 0
            }
            let isMigration =
                store.step(of: statement).map { !store.steps[$0].changes.schema.isEmpty } ?? false
            let isNamed = (statement.record.values ?? []).contains {
                $0.value != .null && question.values.contains($0.value)
            }
            finding.evidence =
                statement.outline.kind == .update && isNamed && !isRoutine && !isMigration
                ? .noUpdate : .noEffect
            findings.append(finding)
        }
        return findings
    }

    /// The last statements that changed the tables of the query, in a store without a history.
    private var lastWrites: [Finding] {
        store.lastWrites(of: Set(question.reads.keys)).map { statement in
            var finding = Finding(
                code: .resultChanged,
                title: "A statement changed \(store.tableName(of: statement)), which the query reads",
                confidence: .possible, store: store.name, statement: statement.record,
                explanation: question.statedResult
                    + " \(store.missingSteps), so the effect of the statement is unknown.")
            finding.evidence = .touched
            return finding
        }
    }

    private var query: Finding {
        let isRight = question.known.map(question.isExpected) ?? false
        let title: String
        var explanation: String
        if isRight {
            title = "The query returns \(expectedText(question.result))"
            explanation =
                "The store has the expected value, so the code that reads it, "
                + "or what it does with the result, is wrong."
        } else {
            title =
                question.known.map { "The query returned \(question.text(of: $0))" }
                ?? "The query's result is unknown"
            explanation =
                "\(question.title) \(question.isMatched ? "has" : "may have") "
                + "the result that the assertion compared\(question.parameters)."
            if question.known == nil { explanation += " It can't run outside of the test." }
        }
        var finding = Finding(
            code: .failingQuery, title: title, confidence: .possible, store: store.name,
            statement: question.record, explanation: explanation)
        finding.evidence = isRight ? .rightData : .query
        finding.rows = namedRows
        return finding
    }

    /// The rows that the query names by their key, and those with a value that only one of the operands has.
    private var namedRows: [Finding.Row] {
        var rows: [Finding.Row] = []
        let words = Set(QueryText(question.record.sql).tokens.map(\.text))
        for table in store.tables where question.reads[folded(table.name)] != nil {
            let key = store.keyColumns(of: table.name)
            guard key.count == 1 else { continue }
            func add(where column: String, is value: Value) {
                let found = try? store.rows(
                    "SELECT \(quotedIdentifier(key[0])) FROM \(quotedIdentifier(table.name)) WHERE "
                        + "\(quotedIdentifier(column)) IS ?", [value], limit: 2)
                for values in found ?? [] {
                    let row = Finding.Row(
                        table: table.name, key: Finding.Row.key(key, values), change: .present)
                    if !rows.contains(row) { rows.append(row) }
                }
            }
            if words.contains(folded(key[0])) {
                for value in question.values.prefix(5) where value != .null {
                    add(where: key[0], is: value)
                }
            }
            guard case .list(let index, _) = question.parts[0],
                let name = question.result.columns[safe: index],
                let column = table.columns.first(where: { folded($0.name) == folded(name) })
            else { continue }
            let actual = question.claim.tested?.values ?? []
            let expected = question.claim.expected?.values ?? []
            for value in actual.filter({ !expected.contains($0) })
                + expected.filter({ !actual.contains($0) })
            {
                add(where: column.name, is: value.number.map { .real($0) } ?? .text(value.text))
            }
        }
        return Array(rows.prefix(5))
    }
}

extension Question {
    /// The query as the beginning of a sentence.
    var title: String {
        let place = record.source.map { " at \(SafeText.line($0.place))" } ?? ""
        return (isMatched ? "The failing query" : "The last query") + place
    }

    /// The result at the failure as a sentence.
    var statedResult: String {
        guard let known else {
            return "\(title) can't run outside of the test, so its result is unknown."
        }
        return "\(title) returned \(text(of: known)) at the failure\(parameters)."
    }

    /// The values of the parameters as a clause; empty without parameters.
    var parameters: String {
        guard !values.isEmpty else { return "" }
        let texts = (record.values ?? []).prefix(5).map {
            StoredText.text(of: StoredValue($0), width: 40)
        }
        let rest = values.count - texts.count
        return ", with " + texts.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
}

extension StoreEvidence {
    /// Returns the conditions without parameters that the test's other statements have, by the folded name of the table.
    func conditions(besides sql: String) -> [String: [String]] {
        var result: [String: [String]] = [:]
        var seen: Set<String> = [sql]
        for statement in testStatements
        where seen.insert(statement.record.sql).inserted && seen.count < 60 {
            let text = QueryText(statement.record.sql)
            let tables = text.sources.map(\.table) + [statement.outline.table].compactMap(\.self)
            guard Set(tables).count == 1, let table = tables.first else { continue }
            for condition in text.conditions {
                for term in condition.terms {
                    let tokens = text.tokens[term]
                    guard
                        !tokens.contains(where: {
                            $0.kind == .parameter || $0.text == "." || $0.isWord("select")
                        }),
                        tokens.count <= 12
                    else { continue }
                    let text = text.text(term)
                    if !(result[table] ?? []).contains(text), (result[table] ?? []).count < 10 {
                        result[table, default: []].append(text)
                    }
                }
            }
        }
        return result
    }
}

extension Finding {
    /// Takes statements that can have changed the rows: one as the cause, several as candidates.
    mutating func take(_ found: some BidirectionalCollection<StatementRecord>) {
        guard let last = found.last else { return }
        if found.allSatisfy({ $0.sql == last.sql && $0.source == last.source }) {
            statement = last
        } else if found.count <= StoreEvidence.maximumCandidates {
            statements = Array(found)
        }
    }
}
