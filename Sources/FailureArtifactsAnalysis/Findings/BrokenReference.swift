internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that refer to a row that doesn't exist, by a declared foreign key or by a column such as `transferID`.
enum BrokenReference: FindingRule {
    static let code = Finding.Code.foreignKeyViolation

    private static let limit = 200

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        // A foreign key may name a missing column.
        store.references.flatMap { (try? findings(of: $0, in: store, failure)) ?? [] }
    }

    private static func findings(
        of reference: Reference, in store: Timeline, _ failure: FailureEvidence
    ) throws -> [Finding] {
        let table = "\(quotedIdentifier(reference.table)) c WHERE "
        let total = try store.count("SELECT count(*) FROM \(table)\(reference.presence)")
        let matching =
            try total - store.count("SELECT count(*) FROM \(table)\(reference.danglingCondition)")
        guard matching < total else { return [] }
        return try breaks(of: reference, in: store).compactMap { broken in
            var finding = broken.finding(in: store)
            if let removal = broken.step.flatMap({ store.steps[$0].statements.last }),
                let setting = store.setting("foreign_keys", of: removal),
                setting.outline.isOn("foreign_keys") == false
            {
                let place = setting.record.source.map { " at \(SafeText.line($0.place))" } ?? ""
                finding.explanation += " A PRAGMA\(place) had switched foreign keys off."
                finding.add([store.otherTest(of: [setting])].compactMap(\.self))
            }
            let isOfTest = broken.step.map { !store.steps[$0].isOfOtherTest } ?? false
            let reads = [reference.table, reference.parent].map {
                store.asked.tables.contains(folded($0))
            }
            if reference.isDeclared {
                // A violation in tables that the assertion didn't read, or from before the test, may be there in runs
                // that pass, too. Without a history, it isn't known when the reference was broken.
                let isUnrelated = !reads.contains(true) && !store.asked.tables.isEmpty
                // Without enforcement, the rows may be meant to outlive their parents. A join of both tables misses them.
                if failure.message.text.contains("FOREIGN KEY") {
                    finding.confidence = .certain
                } else if isOfTest || store.steps.isEmpty, !isUnrelated {
                    finding.confidence =
                        store.hasForeignKeys()
                        ? .certain : reads == [true, true] ? .likely : .possible
                }
                return finding
            }
            // Without a history, the store at the failure must be evidence enough.
            guard isOfTest || store.steps.isEmpty && matching > 0 else { return nil }
            // A reference that most rows obey is one.
            let isObeyed = broken.isParentRemoved || matching * 2 >= total
            finding.code = .orphan
            finding.explanation +=
                " No foreign key is declared; \(matching) of \(total) rows have a match."
            finding.evidence = isObeyed ? .brokenRule : .other
            // A row that outlived its parent is seen without it, too.
            let isRead = reads[0] && (broken.isParentRemoved || reads[1])
            let isMeant =
                broken.isCopy || store.asked.optionalTables.contains(folded(reference.parent))
            if isOfTest, isObeyed, isRead, !isMeant { finding.confidence = .likely }
            return finding
        }
    }

    fileprivate struct Break {
        let reference: Reference
        /// The last step that broke the reference; nil if it was broken before the first known transaction.
        let step: Int?
        /// True if the step removed the parent rather than added the reference.
        let isParentRemoved: Bool
        var rows: [Finding.Row] = []
        var parents: [Finding.Row] = []
        /// True if a row copied a text of the removed one, as a receipt does, and so is there to outlive it.
        var isCopy = false
    }

    /// Finds the rows of a reference that lead nowhere, by the transaction that broke them, the last one first.
    private static func breaks(of reference: Reference, in store: Timeline) throws -> [Break] {
        let key = store.keyColumns(of: reference.table)
        let names = (store.schema.tables[folded(reference.table)]?.columns ?? []).map(\.name)
            .filter { !Reference.isName($0) }
        let selected = (key + reference.columns + names).map { "c." + quotedIdentifier($0) }
        let query =
            "SELECT \(selected.joined(separator: ", ")) FROM \(quotedIdentifier(reference.table)) c "
            + "WHERE \(reference.danglingCondition)"
        var found: [Break] = []
        for values in try store.rows(query, limit: limit) {
            let rowKey = Array(values.prefix(key.count))
            let target = Array(values.dropFirst(key.count).prefix(reference.columns.count))
            let others = values.dropFirst(key.count + target.count)
            let child = store.lastStep(
                where: { _, change in
                    change.key == rowKey && change.kind != .deleted
                        && zip(reference.columns, target).contains { change.cell($0)?.new == $1 }
                }, of: reference.table)
            let parent = store.lastStep(
                where: { _, change in
                    change.kind != .inserted
                        && zip(reference.parentColumns, target).allSatisfy { change.cell($0)?.old == $1 }
                }, of: reference.parent)
            let isParent = parent.map { $0.index >= child?.index ?? -1 } ?? false
            var row = Finding.Row(
                table: reference.table, key: Finding.Row.key(key, rowKey), change: .present,
                columns: zip(reference.columns, target).map { .init(column: $0, old: nil, new: $1) })
            if !isParent, let child {
                row.change = .init(child.row.kind)
                row.columns = reference.columns.compactMap { child.row.cell($0) }
            }
            let step = isParent ? parent?.index : child?.index
            var index = found.firstIndex { $0.step == step && $0.isParentRemoved == isParent }
            if index == nil {
                index = found.count
                found.append(Break(reference: reference, step: step, isParentRemoved: isParent))
            }
            guard let index else { continue }
            found[index].rows.append(row)
            if isParent, let parent, let table = store.steps[parent.index].table(reference.parent) {
                let removed = Timeline.row(parent.row, in: table, columns: [])
                if !found[index].parents.contains(removed) { found[index].parents.append(removed) }
                found[index].isCopy =
                    found[index].isCopy
                    || zip(names, others).contains { name, value in
                        value.string?.count ?? 0 > 1 && parent.row.cell(name)?.old == value
                    }
            }
        }
        return found.sorted { $0.step ?? -1 > $1.step ?? -1 }
    }
}

extension BrokenReference.Break {
    fileprivate func finding(in store: Timeline) -> Finding {
        let origin = origin(in: store)
        return Finding(
            code: .foreignKeyViolation, title: title, confidence: .possible, store: store.name,
            rows: rows + parents, transaction: origin.transaction, statement: origin.statement?.record,
            explanation: explanation(origin, in: store),
            assertion: RowAssertion(noRowOf: reference.danglingRows),
            evidence: .brokenRule)
    }

    private func origin(in store: Timeline) -> Timeline.Origin {
        guard isParentRemoved else {
            return store.origin(inStep: step, of: reference.table, by: [.insert, .update])
        }
        let deletion = store.origin(inStep: step, of: reference.parent, by: [.delete])
        return deletion.statement != nil
            ? deletion : store.origin(inStep: step, of: reference.parent, by: [.update, .insert])
    }

    private var title: String {
        let count = Int64(rows.count)
        let verb = count == 1 ? "refers" : "refer"
        return
            "\(count == 1 ? "A row" : Counted.items(count, "row")) of \(reference.table) \(verb) to a row of "
            + "\(reference.parent) that does not exist"
    }

    private func explanation(_ origin: Timeline.Origin, in store: Timeline) -> String {
        let columns = "\(reference.table).\(reference.columns.joined(separator: ", "))"
        guard step != nil else { return "\(columns) has no matching row in \(reference.parent)." }
        let when = store.title(ofTransaction: origin.transaction)
        if isParentRemoved {
            let parent = parents.first?.title ?? "the row of \(reference.parent)"
            return "\(when) removed \(parent), which \(columns) still names."
        }
        let values = (rows.first?.columns ?? []).compactMap(\.new).map {
            StoredText.text(of: $0, width: 40)
        }
        return
            "\(when) wrote \(columns) = \(values.joined(separator: ", ")), and \(reference.parent) has no such row."
    }
}
