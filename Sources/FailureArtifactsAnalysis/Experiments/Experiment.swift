internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The experiments about one question.
struct Experiment {
    let question: Question
    let effort: Effort
    private(set) var trials: [Trial] = []
    /// The variants of the query that return the expected result.
    private(set) var variants: [(variant: QueryVariants.Variant, result: QueryResult)] = []
    /// A result that is the expected one; nil if no experiment gave it.
    var expectedResult: QueryResult? {
        trials.first { $0.effect == .fixes }?.result ?? variants.first?.result ?? others?.result
    }
    /// The number of all variants that were tried.
    private(set) var variantCount = 0
    /// The results in all states, oldest first; they take time only once.
    private(set) lazy var periods = question.periods()
    /// The transactions of other tests, newest first, if the result is the expected one without all of them.
    private(set) var others: OtherTests?
    /// The result with the standard settings of a connection, if it is the expected one, and is another one with its own.
    private(set) var withoutSettings: QueryResult?
    /// True if the result was the expected one in an earlier state, which an outdated expectation may be about.
    private(set) var wasExpected = true
    /// The rows that the query names by a value.
    let named: NamedRows
    private var rowsLeft: Int

    private var store: Timeline { question.store }

    /// A transaction that was undone, or only looked at.
    struct Trial {
        let step: Timeline.Step
        var effect: Effect
        /// The result without the transaction, or without the part of it that matters; nil if it wasn't undone.
        var result: QueryResult?
        /// The reason why it can't be undone alone, as a clause; nil without one.
        var obstacle: String?
        /// True if all later transactions ran again for the result.
        var isReplayed = false
        /// The rows that matter, with the columns that matter; the first ones are the most important.
        var rows: [Finding.Row]
        var changes: [ScratchStore.Change]
        /// The number of changes that have the effect if they alone are undone; nil for all of the transaction.
        var partCount: Int?
        /// The columns of the only one of these changes, if only they are undone; nil for the whole row.
        var partColumns: [String]?
        /// The term of the query without which it depends on the transaction.
        var term: String?
        /// True if the query returns the expected result without that term.
        var isExpectedWithoutTerm = false
    }

    /// All that other tests wrote to what the query reads.
    struct OtherTests {
        let steps: [Timeline.Step]
        /// The result without it.
        let result: QueryResult
        /// True if rows that the test inserted get other numbers, which are the keys of their tables.
        let isRenumbered: Bool
    }

    /// The query without one of its terms, and its result.
    private struct Relaxed {
        let query: SQLText.RelaxedQuery
        let result: QueryResult
    }

    /// The effect of a transaction on the result, the strongest one first.
    enum Effect: Comparable {
        /// Without it, the result is the expected one.
        case fixes
        /// Before it, the result was the expected one.
        case leaves
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
    }

    init(_ question: Question, _ effort: Effort) {
        self.question = question
        self.effort = effort
        named = NamedRows(question)
        rowsLeft = effort.rows
    }

    mutating func run(in scratch: ScratchStore, _ budget: StepBudget) {
        let canAsk = question.known != nil && question.ask(scratch.connection) == question.known
        let keys = question.reads.keys.flatMap { store.keyColumns(of: $0) }.map(folded)
        let relaxed = SQLText(question.sql).relaxed(keys: Set(keys)).prefix(8).compactMap {
            relaxed -> Relaxed? in
            // A term that leaves out nothing is no reason.
            guard canAsk, let result = question.ask(scratch.connection, relaxed.sql),
                result != question.result
            else { return nil }
            return Relaxed(query: relaxed, result: result)
        }
        let related = store.steps(before: question.statement).reversed().filter { step in
            step.tables.contains { question.reads[folded($0.table.name)] != nil }
                || step.changes.schema.contains {
                    $0.change != .created && question.reads[folded($0.name)] != nil
                }
        }
        // Of older transactions, those that wrote a value that the assertion compared.
        let earlier = related.indices.dropFirst(effort.transactions).filter { index in
            related[index].tables.filter { question.reads[folded($0.table.name)] != nil }
                .contains { table in table.rows.contains { has(question.claim.tested, $0, in: table) } }
        }
        var later = LaterChanges(of: store, reading: Set(question.reads.keys))
        var left = effort.transactions + min(earlier.count, effort.transactions / 2)
        for (index, step) in related.enumerated() where left > 0 {
            guard !budget.isUsedUp else { break }
            defer { later.add(step) }
            guard index < effort.transactions || earlier.contains(index) else { continue }
            left -= 1
            var trial = trial(of: step, canAsk ? relaxed : nil, later, in: scratch)
            // A change of the schema can't be undone, but the states before and after it can be compared.
            if trial.effect > .migrates, !migrated(in: step).isEmpty, hadRows(before: step) {
                trial.effect = .migrates
            } else if canAsk, trial.effect > .changes, !step.changes.schema.isEmpty,
                periods.dropFirst().contains(where: { $0.transaction == step.number })
            {
                trial.effect = .changes
            }
            trials.append(trial)
        }
        if canAsk {
            replay(budget)
            // Only the undoing of a whole transaction asks for all states.
            if trials.contains(where: { $0.effect == .fixes && $0.partCount == nil }) {
                wasExpected = periods.isEmpty || periods.contains { $0.isExpected == true }
            }
            findEnd()
            undoOtherTests(in: scratch)
            if let result = question.ask(scratch.connection, hasSettings: false),
                question.isExpected(result), result != question.result
            {
                withoutSettings = result
            }
            vary(in: scratch, budget)
        }
    }

    /// Notes with which transaction the result ceased to be the expected one.
    ///
    /// Undoing that transaction alone doesn't bring the result back if a later one would have changed it, too.
    private mutating func findEnd() {
        guard question.isFailing, !question.claim.expectsNothing,
            !trials.contains(where: { $0.effect == .fixes }),
            let last = periods.lastIndex(where: { $0.isExpected == true }), last + 1 < periods.count,
            let index = trials.firstIndex(where: { $0.step.number == periods[last + 1].transaction }),
            trials[index].effect > .leaves
        else { return }
        trials[index].effect = .leaves
    }

    /// Runs the later transactions again without one that can't be undone alone, or whose rows they read.
    private mutating func replay(_ budget: StepBudget) {
        let doubtful = trials.indices.filter { trials[$0].obstacle != nil }
        guard !question.isSource, !doubtful.isEmpty, !trials.contains(where: { $0.effect == .fixes }),
            let replay = Replay(for: question, budget)
        else { return }
        for index in doubtful.prefix(Self.maximumReplays) {
            guard !budget.isUsedUp, let result = replay.result(without: trials[index].step),
                question.isExpected(result)
            else { continue }
            (trials[index].effect, trials[index].result) = (.fixes, result)
            (trials[index].obstacle, trials[index].partCount) = (nil, nil)
            trials[index].isReplayed = true
        }
    }

    private static let maximumReplays = 12

    // MARK: - Undoing

    /// Undoes all that other tests wrote to the tables that the query reads.
    private mutating func undoOtherTests(in scratch: ScratchStore) {
        guard !question.isExpected(question.result) else { return }
        var later = LaterChanges(of: store, reading: Set(question.reads.keys))
        var steps: [Timeline.Step] = []
        var changes: [[ScratchStore.Change]] = []
        // The keys of inserted rows.
        var (own, used): ([String: [Int64]], [String: [Int64]]) = ([:], [:])
        for step in store.steps(before: question.statement).reversed() {
            let read = Self.changes(of: step).filter {
                question.reads[folded($0.table.table.name)] != nil
            }
            for change in read where change.row.kind == .inserted {
                guard case .integer(let number)? = change.row.key.first?.content else { continue }
                let table = folded(change.table.table.name)
                if step.isOfOtherTest {
                    used[table, default: []].append(number)
                } else {
                    own[table, default: []].append(number)
                }
            }
            guard step.isOfOtherTest else {
                later.add(step)
                continue
            }
            guard !read.isEmpty else { continue }
            guard step.isComplete else { return }
            steps.append(step)
            changes.append(read.compactMap { later.rest(of: $0).change })
        }
        guard !steps.isEmpty else { return }
        try? scratch.undoing(transactions: changes) {
            for isRenumbered in [false, true] where others == nil {
                if isRenumbered { renumber(own, without: used, in: scratch) }
                guard let result = question.ask(scratch.connection), question.isExpected(result) else {
                    continue
                }
                others = OtherTests(steps: steps, result: result, isRenumbered: isRenumbered)
            }
        }
    }

    /// Gives rows the numbers that they would have got if those of other tests had never been used.
    private func renumber(
        _ own: [String: [Int64]], without used: [String: [Int64]], in scratch: ScratchStore
    ) {
        for (table, numbers) in used {
            guard let least = numbers.min(), let first = own[table]?.filter({ $0 > least }).min(),
                let key = store.schema.tables[table]?.integerKey.map(quotedIdentifier)
            else { continue }
            let table = quotedIdentifier(table)
            try? scratch.connection.execute(
                "UPDATE \(table) SET \(key) = \(key) - \(first) + 1 + "
                    + "(SELECT coalesce(max(\(key)), 0) FROM \(table) WHERE \(key) < \(first)) "
                    + "WHERE \(key) >= \(first)")
        }
    }

    private static func changes(of step: Timeline.Step) -> [ScratchStore.Change] {
        step.tables.filter { !$0.table.isShadow }.flatMap { table in
            table.rows.map { ScratchStore.Change(table: table, row: $0) }
        }
    }

    private mutating func trial(
        of step: Timeline.Step, _ relaxed: [Relaxed]?, _ later: LaterChanges,
        in scratch: ScratchStore
    ) -> Trial {
        let all = Self.changes(of: step)
        let read = all.filter { question.reads[folded($0.table.table.name)] != nil }
        let named = read.filter(isNamed)
        let wanted = read.filter(isWanted)
        let shown = wanted.isEmpty ? read : wanted + read.filter { !isWanted($0) }
        var trial = Trial(step: step, effect: .touches, rows: shown.prefix(5).map(row), changes: read)
        guard let relaxed, step.isComplete else {
            if !named.isEmpty { trial.effect = .named }
            return trial
        }
        let rests = all.map(later.rest)
        let changes = rests.compactMap(\.change)
        var isComplete = true
        var relaxedResults: [QueryResult?] = []
        let result = try? scratch.undoing(changes) { () -> QueryResult? in
            isComplete = scratch.hasUndoneAll
            let result = question.ask(scratch.connection)
            if result == question.result {
                relaxedResults = relaxed.map { question.ask(scratch.connection, $0.query.sql) }
            }
            return result
        }
        trial.result = result ?? nil
        trial.obstacle =
            rests.lazy.compactMap(\.obstacle).first
            ?? (isComplete ? nil : "not all of its changes can be restored")
        if let result = trial.result, result != question.result {
            trial.effect = effect(of: result)
            refine(
                &trial, changes.filter { question.reads[folded($0.table.table.name)] != nil },
                in: scratch)
            // Without a new row, a query returns nothing.
            if trial.effect == .fixes, question.claim.expectsNothing,
                read.allSatisfy({ $0.row.kind == .inserted })
            {
                trial.effect = .changes
            }
            return trial
        }
        if trial.obstacle == nil {
            trial.obstacle =
                step.changes.schema.isEmpty
                ? later.dependents(on: Set(read.map { folded($0.table.table.name) }))
                : "it changed the schema"
        }
        let present = read.filter { $0.row.kind != .deleted }
        let affected = relaxed.indices.filter { index in
            guard let result = relaxedResults[safe: index] ?? nil, result != relaxed[index].result else {
                return false
            }
            return present.contains { leavesOut(relaxed[index].query, $0, later) }
        }
        // Identities come last.
        if let index = affected.first(where: { !relaxed[$0].query.isIdentity }) ?? affected.first,
            !relaxed[index].query.isIdentity || named.isEmpty
        {
            let query = relaxed[index].query
            trial.effect = query.isIdentity ? .excludesOther : .excludes
            trial.term = query.term
            trial.isExpectedWithoutTerm = question.isExpected(relaxed[index].result)
        } else if !named.isEmpty {
            trial.effect = .named
            trial.rows = named.prefix(5).map(row)
        }
        return trial
    }

    /// True if a term can leave out a changed row because of the change: it applies to the row's table, and no later
    /// transaction changed the row.
    private func leavesOut(
        _ query: SQLText.RelaxedQuery, _ change: ScratchStore.Change, _ later: LaterChanges
    ) -> Bool {
        let table = folded(change.table.table.name)
        // The rows of a view or of a common table expression are those of other tables.
        let isOfTable = query.tables.map { tables in
            tables.contains { $0 == table || store.schema.tables[$0] == nil }
        }
        return isOfTable ?? true && !later.changed(change)
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
    private mutating func refine(
        _ trial: inout Trial, _ changes: [ScratchStore.Change], in scratch: ScratchStore
    ) {
        var found: [(effect: Effect, change: ScratchStore.Change, result: QueryResult)] = []
        for change in changes.prefix(40) where rowsLeft > 0 {
            rowsLeft -= 1
            let known = trial.changes.count == 1 ? trial.result : nil
            guard
                let result = known
                    ?? (try? scratch.undoing([change]) { question.ask(scratch.connection) }) ?? nil,
                result != question.result
            else { continue }
            var best = (effect: effect(of: result), change: change, result: result)
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
                        best = (effect, part, result)
                    }
                }
            }
            found.append(best)
        }
        found.sort { $0.effect < $1.effect }
        guard let best = found.first else { return }
        if best.effect < trial.effect {
            (trial.effect, trial.result) = (best.effect, best.result)
            trial.partCount = 1
            trial.partColumns = best.change.columns.map { columns in
                best.change.row.cells.map(\.column).filter { columns.contains(folded($0)) }
            }
        }
        // Each of several changes may have a part in a wrong number or list.
        let closer = found.map(\.change).prefix(found.count { $0.effect == .approaches })
        if trial.effect != .fixes, closer.count > 1 {
            for count in 2...closer.count where rowsLeft > 0 && trial.effect != .fixes {
                rowsLeft -= 1
                let part = Array(closer.prefix(count))
                guard
                    let result = (try? scratch.undoing(part) { question.ask(scratch.connection) })
                        ?? nil,
                    question.isExpected(result)
                else { continue }
                (trial.effect, trial.result, trial.partCount) = (.fixes, result, count)
                trial.partColumns = nil
            }
        }
        trial.rows = found.prefix(max(5, trial.partCount ?? 0)).map { row($0.change) }
    }

    /// True if a table that the query reads, or that a transaction dropped or renamed, had a row before it.
    private func hadRows(before step: Timeline.Step) -> Bool {
        let changed = step.statements.map(\.outline).filter { $0.alters || $0.drops }.compactMap(\.table)
        let tables = Set(question.reads.keys).union(changed)
        var hasRow = true
        store.forEachState(before: [step]) { _, path in
            guard let connection = try? Connection.untrusted(path, limits: store.limits) else { return }
            hasRow = tables.contains { table in
                let query = "SELECT EXISTS (SELECT 1 FROM \(quotedIdentifier(table)))"
                return (try? connection.integer(of: query)) == 1
            }
        }
        return hasRow
    }

    /// Returns the statements of a transaction that changed existing rows of a table that the query reads, as parts of a
    /// change of the schema.
    func migrated(in step: Timeline.Step) -> [StatementRecord] {
        guard !step.changes.schema.isEmpty, let first = step.statements.first else { return [] }
        let renamed = Set(step.statements.map(\.outline).filter(\.alters).compactMap(\.table))
        return store.statements(ofTransactionWith: first).filter { statement in
            guard let table = statement.outline.table, statement.record.error == nil,
                question.reads[table] != nil || renamed.contains(table), !LibraryTables.contains(table)
            else { return false }
            // A copy of no rows may have lost all.
            return statement.outline.isCopy
                || statement.hasChangedRows && statement.outline.kind != .insert
        }.map(\.record)
    }

    private func row(_ change: ScratchStore.Change) -> Finding.Row {
        Timeline.row(change.row, in: change.table, columns: change.columns)
    }

    /// True if a changed row has a value that the query or the assertion names.
    private func isNamed(_ change: ScratchStore.Change) -> Bool {
        named.contains(change) || isWanted(change)
    }

    /// True if a changed row has the value that the assertion expects.
    private func isWanted(_ change: ScratchStore.Change) -> Bool {
        has(question.wanted, change.row, in: change.table)
    }

    /// True if a changed row had or got a value of an operand.
    private func has(
        _ operand: FailureMessage.Operand?, _ row: RowChange, in table: ChangedTable
    ) -> Bool {
        guard let operand, !operand.telling.isEmpty else { return false }
        let keys = Set(store.keyColumns(of: table.table.name).map(folded))
        return row.cells.contains { cell in
            [cell.old, cell.new].compactMap(\.self).contains {
                operand.names($0, in: cell.column, isKey: keys.contains(folded(cell.column)))
            }
        }
    }

    // MARK: - Other queries

    private mutating func vary(in scratch: ScratchStore, _ budget: StepBudget) {
        guard !question.isSource, !question.isExpected(question.result) else { return }
        let hasTexts = question.values.contains { if case .text = $0 { true } else { false } }
        let context = QueryVariants.Context(store, of: question)
        let isLimited = SQLText(question.sql).tokens.contains { $0.isWord("limit") }
        let rows = ResultPart.properties(isOrdered: false)
        for variant in QueryVariants(of: question.sql, hasTexts: hasTexts, in: context).all
        where !budget.isUsedUp {
            let isComplete = variant.family == .nulls && question.result.rows.isEmpty
            guard question.claim.shown != nil || isComplete,
                let result = question.ask(scratch.connection, variant.sql)
            else { continue }
            variantCount += 1
            guard question.isExpected(result) || isComplete && !result.rows.isEmpty,
                variant.family != .order || isLimited
                    || rows.texts(of: result) == rows.texts(of: question.result)
            else { continue }
            self.variants.append((variant, result))
        }
    }
}
