internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A transaction, such as a migration, that left a table without rows or a column without values.
enum EmptiedTable: FindingRule {
    static let code = Finding.Code.emptiedTable

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        var counts: [String: Int64] = [:]
        for table in store.tables {
            counts[folded(table.name)] = try store.count(
                "SELECT count(*) FROM \(quotedIdentifier(table.name))")
        }
        // The tables that had rows before a later step, so an earlier step didn't leave them empty.
        var refilled = Set(counts.filter { $0.value > 0 }.keys)
        for (index, step) in store.steps.enumerated().reversed() {
            // Without the number of changed rows, the number before is unknown.
            refilled.formUnion(step.changes.tables.filter { $0.problem != nil }.map { folded($0.name) })
            for changed in step.tables {
                let name = changed.table.name
                let after = counts[folded(name)] ?? 0
                let before = after - changed.counts.inserted + changed.counts.deleted
                counts[folded(name)] = before
                let isRefilled = refilled.contains(folded(name))
                if before > 0 { refilled.insert(folded(name)) }
                guard !step.isEarlier else { continue }
                let isMigration = step.changes.schema.contains { $0.type == "table" }
                if before > 0, after == 0, changed.counts.deleted > 0 {
                    let isDropped = store.schema.tables[folded(name)] == nil
                    if isRefilled || (isDropped && isRenamed(name, in: step)) { continue }
                    let origin = store.origin(inStep: index, of: name, by: [.delete, .definition])
                    let target = isDropped ? nil : moveTarget(of: changed, in: step)
                    let isReset = !isMigration && isReset(origin.statement, of: name, in: store)
                    findings.append(
                        Finding(
                            code: code,
                            title: isDropped
                                ? "Table \(name) was dropped with its \(Counted.items(before, "row"))"
                                : "Table \(name) lost its \(Counted.items(before, "row"))",
                            confidence: .possible, store: store.name,
                            rows: changed.rows.prefix(10).map { StoreEvidence.row($0, in: changed) },
                            transaction: step.number, statement: origin.statement?.record,
                            explanation: store.title(of: step)
                                + (isMigration ? ", which also changed the schema," : "")
                                + " removed the \(Counted.items(before, "row")) that it had"
                                + (target.map { " and inserted as many into \($0)" } ?? "") + ".",
                            relevance: target != nil ? 10 : isMigration ? 45 : 20,
                            likelyFrom: target == nil && !isReset ? 75 : nil))
                }
                findings += emptiedColumns(changed, step, index, isMigration, rows: after, in: store)
            }
        }
        return try findings + unfilledColumns(in: store)
    }

    /// Returns the columns without any value after a statement that should have filled them, such as a migration's.
    private static func unfilledColumns(in store: StoreEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            let columns = Outliers.columns(of: table)
            let name = quotedIdentifier(table.name)
            let counts = columns.map { "count(\(quotedIdentifier($0.name)))" }.joined(separator: ", ")
            guard !columns.isEmpty,
                let row = try store.rows("SELECT count(*), \(counts) FROM \(name)").first,
                (row[0].number ?? 0) > 1
            else { continue }
            for (column, count) in zip(columns, row.dropFirst()) where count.number == 0 {
                guard let statement = emptying(folded(column.name), of: folded(table.name), in: store),
                    !findings.contains(where: { $0.statement?.order == statement.order })
                else { continue }
                let key = store.keyColumns(of: table.name)
                let keys = try store.rows(
                    "SELECT \(key.map(quotedIdentifier).joined(separator: ", ")) FROM \(name)", limit: 10
                )
                findings.append(
                    Finding(
                        code: code,
                        title: "No row of \(table.name) has \(Article.indefinite(column.name))",
                        confidence: .possible, store: store.name,
                        rows: keys.map { values in
                            Finding.Row(
                                table: table.name,
                                key: Finding.Row.key(key, values),
                                change: .present,
                                columns: [.init(column: column.name, old: nil, new: StoredValue(.null))])
                        }, transaction: store.step(of: statement).flatMap { store.steps[$0].number },
                        statement: statement.record,
                        explanation: statement.outline.kind == .update
                            ? "The statement set it to NULL in "
                                + "\(Counted.items(Int64(statement.record.changedRows ?? 0), "row"))."
                            : "The statement copied the rows to a new table, without this column.",
                        relevance: 45, likelyFrom: 70))
            }
        }
        return findings
    }

    /// Returns the statement that left a column without a value: an `UPDATE` of it, or the copy of the table's rows.
    private static func emptying(
        _ column: String, of table: String, in store: StoreEvidence
    ) -> StoreEvidence.Statement? {
        let writes = store.testStatements.filter {
            ($0.record.changes ?? 0) > 0 && $0.record.error == nil
        }
        let updates = writes.filter {
            $0.outline.kind == .update && $0.outline.table == table && $0.parts.assigned.contains(column)
        }
        // A caller may have given NULL on purpose.
        if let last = updates.last, !last.record.sql.contains("?"), !last.parts.words.contains("null"),
            hasEmptied(last, column, of: table, in: store)
        {
            return last
        }
        // A rebuilt table had another name when it was filled.
        let names = store.testStatements.compactMap { statement -> String? in
            let words = Array(statement.parts.words.prefix(12))
            guard words.starts(with: ["alter", "table"]), words.count > 5, words.contains("rename"),
                words.last(where: { $0 != ";" }) == table
            else { return nil }
            return words[2]
        }
        let copies = writes.filter { statement in
            let words = statement.parts.words
            return statement.outline.kind == .insert && names.contains(statement.outline.table ?? "")
                && words.contains("select") && !words.contains(column) && !words.contains("*")
        }
        return copies.last
    }

    /// True if the last `UPDATE` of a column, which has no value at the failure, set it to NULL.
    ///
    /// Without a history, rows that were deleted later may have had values.
    private static func hasEmptied(
        _ update: StoreEvidence.Statement, _ column: String, of table: String, in store: StoreEvidence
    ) -> Bool {
        if let step = store.step(of: update) {
            let rows = store.steps[step].table(table)?.rows ?? []
            return rows.contains { $0.kind == .updated && $0.cell(column)?.new?.isNull == true }
        }
        return store.hasWholeLog && store.linked?.isSetDirectly(table) == true
            && !store.testStatements.contains { later in
                guard later.order > update.order, later.mayHaveChanged else { return false }
                guard later.outline.isWrite else {
                    return later.outline.kind == .other || later.parts.words.contains(table)
                }
                return later.outline.table == table
                    ? later.outline.kind == .delete
                        || later.outline.kind == .insert && later.outline.mayHaveNoEffect
                    : store.linked?.mayChangeOthers(later.outline) ?? true
            }
    }

    /// Returns the table that got as many rows as a step deleted, so that they may have been moved.
    static func moveTarget(of changed: ChangedTable, in step: StoreEvidence.Step) -> String? {
        step.tables.first {
            $0.counts.inserted == changed.counts.deleted && $0.counts.deleted == 0
                && folded($0.table.name) != folded(changed.table.name)
        }?.table.name
    }

    /// True if the same step created a table that may have the rows now.
    private static func isRenamed(_ table: String, in step: StoreEvidence.Step) -> Bool {
        step.tables.contains { $0.counts.inserted > 0 && folded($0.table.name) != folded(table) }
    }

    private static func emptiedColumns(
        _ changed: ChangedTable, _ step: StoreEvidence.Step, _ index: Int, _ isMigration: Bool,
        rows: Int64,
        in store: StoreEvidence
    ) -> [Finding] {
        let updated = changed.rows.filter { $0.kind == .updated }
        guard updated.count > 1 else { return [] }
        var findings: [Finding] = []
        for column in changed.table.commonColumns {
            let emptied = updated.filter { row in
                guard let cell = row.cell(column), let old = cell.old, let new = cell.new else {
                    return false
                }
                return !old.isNull && isEmpty(new) && !isEmpty(old)
            }
            guard emptied.count > 1, Int64(emptied.count) * 2 > min(rows, Int64(updated.count)),
                isMigration || Int64(emptied.count) >= rows
            else { continue }
            let origin = store.origin(
                inStep: index, of: changed.table.name, by: [.update, .insert, .definition])
            findings.append(
                Finding(
                    code: code,
                    title:
                        "\(Counted.items(Int64(emptied.count), "row")) of \(changed.table.name) lost the value of \(column)",
                    confidence: .possible, store: store.name,
                    rows: emptied.prefix(10).map {
                        StoreEvidence.row($0, in: changed, columns: [folded(column)])
                    },
                    transaction: step.number, statement: origin.statement?.record,
                    explanation: store.title(of: step)
                        + (isMigration ? ", which also changed the schema," : "")
                        + " replaced the values by NULL, 0 or nothing.",
                    relevance: isMigration ? 45 : 25,
                    likelyFrom: !isMigration
                        && isReset(origin.statement, of: changed.table.name, in: store)
                        ? nil : 75))
        }
        return findings
    }

    /// True if a statement is written to clear the table.
    private static func isReset(
        _ statement: StoreEvidence.Statement?, of table: String, in store: StoreEvidence
    ) -> Bool {
        guard let statement, statement.outline.table == folded(table),
            [.update, .delete].contains(statement.outline.kind),
            let shape = store.schema.tables[folded(table)]
        else { return false }
        return BroadWrite.isReset(statement, of: shape)
    }

    private static func isEmpty(_ value: StoredValue) -> Bool {
        switch value.content {
        case .null: true
        case .text(let bytes), .blob(let bytes): bytes.isEmpty
        case .integer(let number): number == 0
        case .real(let number): number == 0
        }
    }
}
