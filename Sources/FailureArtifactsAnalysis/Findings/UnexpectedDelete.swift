internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that a trigger or a foreign key's action deleted, while no statement named their table.
enum UnexpectedDelete: FindingRule {
    static let code = Finding.Code.unexpectedDelete

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for step in store.steps where !step.isEarlier && !step.statements.isEmpty {
            try store.checkTime()
            for changed in step.tables where changed.counts.deleted > 0 {
                let name = changed.table.name
                let writers = step.statements.filter { $0.writes && $0.record.error == nil }
                let named = step.statements.contains {
                    $0.outline.table == folded(name)
                        || $0.outline.kind == .other && $0.parts.words.contains(folded(name))
                }
                let isDropped = step.changes.schema.contains { folded($0.name) == folded(name) }
                guard !named, !isDropped, let writer = writers.last(where: { deletes($0) }) else {
                    continue
                }
                // Rows that get another key are deleted and inserted.
                if writer.outline.kind == .update, changed.counts.inserted >= changed.counts.deleted {
                    continue
                }
                let isReplace = writer.outline.kind == .insert
                let deleted = changed.rows.filter { $0.kind == .deleted }
                findings.append(
                    Finding(
                        code: code,
                        title: "\(Counted.items(changed.counts.deleted, "row")) of \(name) "
                            + "\(changed.counts.deleted == 1 ? "was" : "were") deleted without a statement on \(name)",
                        confidence: isReplace ? .likely : .possible, store: store.name,
                        rows: deleted.prefix(20).map { StoreEvidence.row($0, in: changed) },
                        transaction: step.number, statement: writer.record,
                        explanation: isReplace
                            ? "REPLACE deletes the old row first, and a foreign key or a trigger then deleted its rows in "
                                + "\(name)."
                            : "A foreign key's action or a trigger deleted them along with rows of "
                                + "\(writer.outline.table ?? "another table").",
                        relevance: isReplace ? 50 : 30,
                        // A few rows are as many as the assertion missed by chance.
                        likelyFrom: isReplace || changed.counts.deleted > 2 ? 80 : nil))
            }
        }
        return try Array(findings.suffix(4)) + replaced(in: store) + replacements(in: store)
            + vanished(in: store)
    }

    /// Returns the rows that `REPLACE` deleted in the statement's own table, and that differ from the new row in more
    /// than their integer key.
    private static func replaced(in store: StoreEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for step in store.steps where !step.isEarlier {
            try store.checkTime()
            let writers = step.statements.filter(\.hasChangedRows)
            guard writers.count == 1, writers[0].outline.kind == .insert, deletes(writers[0]),
                let table = writers[0].outline.table, !store.effects.hasTrigger(table),
                let changed = step.table(table), changed.isComplete,
                changed.counts.deleted == 1, changed.counts.inserted == 1,
                let old = changed.rows.first(where: { $0.kind == .deleted }),
                let new = changed.rows.first(where: { $0.kind == .inserted })
            else { continue }
            let other = references(of: table, in: store).first { column in
                guard let old = old.cell(column)?.old, let new = new.cell(column)?.new else {
                    return false
                }
                return !old.isNull && !new.isNull && old != new
            }
            guard let other else { continue }
            let name = changed.table.name
            findings.append(
                Finding(
                    code: code,
                    title: "REPLACE deleted a row of \(name) that has another \(SafeText.line(other))",
                    confidence: .possible, store: store.name,
                    rows: [StoreEvidence.row(old, in: changed), StoreEvidence.row(new, in: changed)],
                    transaction: step.number, statement: writers[0].record,
                    explanation:
                        "REPLACE deletes each row that has a unique value of the new one. The deleted row differs in "
                        + "\(SafeText.line(other)).",
                    relevance: 40, likelyFrom: 95))
        }
        return Array(findings.suffix(3))
    }

    /// Returns the columns that refer to other rows, such as `userId`.
    private static func references(of table: String, in store: StoreEvidence) -> [String] {
        guard let shape = store.schema.tables[table] else { return [] }
        return shape.columns.filter {
            $0.keyPosition == 0 && Relevance.isReference($0.name)
                || store.effects.refers($0.name, of: table)
        }.map(\.name)
    }

    /// Returns the `REPLACE` statements on tables whose rows other tables' foreign keys follow, in a store without a
    /// history.
    private static func replacements(in store: StoreEvidence) throws -> [Finding] {
        guard store.steps.isEmpty else { return [] }
        var findings: [Finding] = []
        var seen: Set<String> = []
        for statement in store.testStatements.reversed() {
            guard statement.outline.kind == .insert, deletes(statement),
                let table = statement.outline.table,
                statement.record.error == nil, seen.insert(statement.record.sql).inserted
            else { continue }
            for child in store.tables {
                let keys = try store.rows(
                    "SELECT 1 FROM pragma_foreign_key_list(?) WHERE lower(\"table\") = ? AND on_delete = 'CASCADE'",
                    [.text(child.name), .text(table)], limit: 1)
                guard !keys.isEmpty else { continue }
                findings.append(
                    Finding(
                        code: code,
                        title:
                            "REPLACE in \(table) can delete the rows of \(child.name) that refer to a replaced row",
                        confidence: .possible, store: store.name, statement: statement.record,
                        explanation:
                            "REPLACE deletes the old row first, and \(child.name) has a foreign key with "
                            + "ON DELETE CASCADE. \(store.missingSteps), so the rows aren't known.",
                        relevance: 30))
            }
        }
        return findings
    }

    /// Returns the `INSERT` statements whose rows a trigger deleted in the same transaction.
    private static func vanished(in store: StoreEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for statement in store.testStatements
        where statement.outline.kind == .insert && (statement.record.changes ?? 0) > 0
            && !deletes(statement)
        {
            try store.checkTime()
            guard let table = statement.outline.table.flatMap({ store.schema.tables[$0] }),
                let step = store.step(of: statement)
            else { continue }
            let counts = store.steps[step].counts(of: table.name)
            let trigger = store.schema.objects.first {
                $0.type == "trigger" && folded($0.table) == folded(table.name)
                    && $0.sql.uppercased().contains("DELETE")
            }
            // SQLite counts the rows that a trigger deletes, but not those that the table's ON CONFLICT REPLACE deletes.
            let counted = Int64(statement.record.changes ?? 0)
            guard store.isOnlyWriter(statement, inStep: step),
                counts == nil || counts?.inserted == 0 || (counts?.deleted ?? 0) > 0,
                let trigger, counted > counts?.inserted ?? 0
            else { continue }
            findings.append(
                Finding(
                    code: code,
                    title:
                        "The trigger \(SafeText.line(trigger.name)) deleted rows of \(table.name) after an INSERT",
                    confidence: .possible, store: store.name,
                    rows: (store.steps[step].table(table.name)?.rows ?? []).filter {
                        $0.kind == .deleted
                    }
                    .prefix(20).compactMap { row in
                        store.steps[step].table(table.name).map { StoreEvidence.row(row, in: $0) }
                    },
                    transaction: store.steps[step].number, statement: statement.record,
                    explanation:
                        "No statement deleted them: the transaction only inserted into \(table.name).",
                    relevance: 40,
                    // A trigger that keeps the new row and deletes older ones limits their number.
                    likelyFrom: counts?.inserted ?? 0 > 0 ? nil : 70))
        }
        return Array(findings.suffix(2))
    }

    private static func deletes(_ statement: StoreEvidence.Statement) -> Bool {
        if statement.outline.kind == .delete { return true }
        let words = statement.parts.words.prefix(8)
        if statement.outline.kind == .insert { return words.contains("replace") }
        return statement.outline.kind == .update
    }
}
