internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension ChangeDetail {
    /// Compares two files that nothing else uses.
    ///
    /// - Parameters:
    ///   - old: The path of the earlier file.
    ///   - new: The path of the later file.
    ///   - budget: The bytes and the time that are left. The bytes used are subtracted.
    /// - Throws: An error if the files cannot be read.
    init(from old: String, to new: String, _ budget: ReadingBudget) throws {
        do {
            let comparison = try StoreComparison(
                a: StoreComparison.Side(path: old, isPrivate: true),
                b: StoreComparison.Side(path: new, isPrivate: true), deadline: budget.deadline)
            schema = comparison.schemaChanges()
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
                        name: coreData?.title(of: table) ?? table.name, counts: counts, rows: rows,
                        problem: table.problem))
            }
        } catch let error as SQLiteError where error.isInterrupted {
            isComplete = false
        }
    }

    var isEmpty: Bool { schema.isEmpty && tables.isEmpty }
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
    /// Reads the last transactions of the history.
    mutating func readHistory(
        of bundle: BundleReader, _ choice: StoreChoice, scratch: String, _ budget: ReadingBudget
    ) throws {
        let history = try bundle.extractHistory(of: choice, below: scratch)
        let all = history.reader.transactions
        transactionCount = all.count
        let first = max(0, all.count - budget.limits.transactions)
        let old = try history.rebuild(first)
        let new = try history.rebuild(first, to: old + ".next")
        // The evidence by which statements are matched to transactions.
        var outlines: [LoggedTransactions.Transaction] = []
        for index in first..<all.count {
            guard Instant.now < budget.deadline else {
                notes.append(
                    "The time was up: the changes of transactions \(index + 1) to \(all.count) are not shown. "
                        + "'failure-artifacts history' has them all.")
                break
            }
            try history.advance(new, from: index)
            if !statements.isEmpty {
                outlines.append(
                    .init(
                        pages: all[index].pages.count,
                        changes: try StateChanges.count(from: old, to: new, pages: Set(all[index].pages))
                    ))
            }
            changes.append(
                TransactionDetail(
                    number: index + 1, pages: all[index].pages.count,
                    change: try ChangeDetail(from: old, to: new, budget)))
            try history.advance(old, from: index)
        }
        guard !statements.isEmpty, changes.count == all.count - first else { return }
        let found = LoggedTransactions(statements, of: store).statements(
            of: outlines, isWhole: first == 0 && store.history?.reason == nil)
        for (index, statements) in found.enumerated() { changes[index].statements = statements }
    }
}
