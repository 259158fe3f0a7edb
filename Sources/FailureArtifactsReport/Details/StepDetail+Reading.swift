internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension ChangeDetail {
    /// Creates the changes of a step.
    ///
    /// - `coreData`: the names of entities; nil unless Core Data created the store.
    init(_ step: Timeline.Step, _ coreData: CoreDataChanges?) {
        schema = step.changes.schemaTexts
        tables = step.tables.map { changed in
            Table(
                name: coreData?.title(of: changed.table) ?? changed.table.name,
                source: changed.table.name,
                keyColumns: coreData?.keyColumns(of: changed.table) ?? changed.table.keyColumns,
                counts: changed.counts,
                rows: changed.rows.map { coreData?.change($0, in: changed.table) ?? $0 })
        }
        tables += step.changes.tables.compactMap { table in
            table.problem.map {
                Table(name: table.name, source: table.name, counts: RowCounts(), problem: $0)
            }
        }
    }

    /// A summary such as `4 rows inserted into posting, 1 row updated in transfer`.
    var summary: String {
        var items = tables.prefix(6).flatMap { table -> [String] in
            if let problem = table.problem { return ["\(table.name): \(problem)"] }
            let parts = [
                (table.counts.inserted, "inserted into"), (table.counts.updated, "updated in"),
                (table.counts.deleted, "deleted from"),
            ]
            return parts.filter { $0.0 > 0 }.map {
                "\(Counted.number($0.0)) \($0.0 == 1 ? "row" : "rows") \($0.1) \(table.name)"
            }
        }
        if tables.count > 6 { items.append("\(tables.count - 6) more tables") }
        items += schema.prefix(4)
        if schema.count > 4 { items.append("\(schema.count - 4) more changes of the schema") }
        return items.isEmpty ? "no change of rows" : items.joined(separator: ", ")
    }
}

extension StoreDetail {
    /// Returns a summary of a step's changes, which only the log has if they were rolled back.
    func summary(of step: StepDetail) -> String {
        guard step.kind == .rolledBack, step.change.isEmpty else { return step.change.summary }
        let rows = statements(of: step).reduce(0) { $0 + ($1.changedRows ?? 0) }
        return Counted.items(Int64(rows), "changed row") + " discarded"
    }

    /// Takes the steps of a store.
    mutating func addSteps(of evidence: Timeline) {
        statements = evidence.statements.map(\.record)
        let indices = Dictionary(
            statements.enumerated().map { ($1.order, $0) }, uniquingKeysWith: { first, _ in first })
        transactionCount = evidence.transactionCount
        if transactionCount > 0, !evidence.steps.contains(where: { $0.number != nil }) {
            notes.append(
                "Reading the history took too long: 'failure-artifacts history' has all of it.")
        }
        let changes = coreData.map { CoreDataChanges($0, namesReferences: false) }
        steps = evidence.steps.map { step in
            StepDetail(
                kind: step.number != nil
                    ? .transaction : store.isBeforeRollback ? .rolledBack : .uncommitted,
                number: step.number,
                pages: step.pages, change: ChangeDetail(step, changes),
                statements: step.statements.compactMap { indices[$0.record.order] })
        }
        // The changes of the last step are only in the copy, so no other step comes after it.
        let hasLast = evidence.steps.last.map { $0.number == nil } ?? false
        let lost = store.isBeforeRollback ? Set(steps.last?.statements ?? []) : []
        for transaction in evidence.rolledBackTransactions() where transaction.isWhole {
            let step = StepDetail(
                kind: .rolledBack,
                statements: transaction.statements.compactMap { indices[$0.record.order] })
            guard let last = step.statements.last, lost.isEmpty || !lost.isSubset(of: step.statements)
            else { continue }
            // It stands before the first step that ended later.
            let end = steps.count - (hasLast ? 1 : 0)
            let place = steps[..<end].firstIndex { ($0.statements.last ?? -1) > last }
            steps.insert(step, at: place ?? end)
        }
    }
}
