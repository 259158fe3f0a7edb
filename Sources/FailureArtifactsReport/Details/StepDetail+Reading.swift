internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension ChangeDetail {
    /// Compares two files that nothing else uses.
    ///
    /// - `budget`: the bytes and the time that are left. The bytes used are subtracted.
    init(from old: String, to new: String, _ budget: ReadingBudget) throws {
        do {
            let comparison = try StoreComparison(
                a: StoreComparison.Side(path: old, isPrivate: true),
                b: StoreComparison.Side(path: new, isPrivate: true), deadline: budget.deadline)
            schema = comparison.schemaChanges().map(Self.text)
            let coreData = CoreDataChanges(
                from: StoreComparison.Side(path: old, isPrivate: true),
                to: StoreComparison.Side(path: new, isPrivate: true))
            for table in try comparison.tables() {
                var rows: [RowChange] = []
                let counts = try comparison.forEachRowChange(
                    in: table, limit: budget.bytes > 0 ? Int64(budget.limits.changedRows) : 0,
                    valueLimit: 200
                ) { change in
                    guard budget.bytes > 0 else { return }
                    budget.bytes -= change.size
                    rows.append(coreData?.change(change, in: table) ?? change)
                }
                guard counts.total > 0 || table.problem != nil else { continue }
                tables.append(
                    Table(
                        name: coreData?.title(of: table) ?? table.name, source: table.name,
                        counts: counts, rows: rows, problem: table.problem))
            }
        } catch let error as SQLiteError where error.isInterrupted {
            isComplete = false
        }
    }

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

    private static func text(of change: SchemaChange) -> String {
        let subject = change.subject.rawValue + (change.name.isEmpty ? "" : " " + change.name)
        switch change.kind {
        case .added: return subject + " added"
        case .removed: return subject + " removed"
        case .changed:
            guard change.name.isEmpty else { return subject + " changed" }
            return "\(subject) \(change.old ?? "") → \(change.new ?? "")"
        }
    }
}

extension RowChange {
    /// The approximate number of bytes that it takes on the page.
    fileprivate var size: Int {
        cells.reduce(80) { $0 + 40 + $1.column.utf8.count + ($1.old?.size ?? 0) + ($1.new?.size ?? 0) }
    }
}

extension StoredValue {
    fileprivate var size: Int {
        switch content {
        case .null, .integer, .real: 12
        case .text(let bytes), .blob(let bytes): 12 + bytes.count
        }
    }
}

extension StoreDetail {
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
