internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Invariants that the store breaks at the failure.
enum InvariantBroken: FindingRule {
    static let code = Finding.Code.invariantBroken

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        failure.invariants[store.name, default: []].map { broken($0, in: store) }
    }

    private static func broken(_ evidence: InvariantEvidence, in store: Timeline) -> Finding {
        let invariant = evidence.invariant
        let isMany = evidence.count == InvariantEvidence.countLimit
        let count = (isMany ? "at least " : "") + Counted.items(Int64(evidence.count), "row")
        var finding = Finding(
            code: code, title: "Invariant broken by \(count): \(SafeText.line(invariant.title))",
            confidence: .certain, store: store.name,
            explanation: "The query in \(SafeText.line(invariant.name)) must return no rows. It returns "
                + "\(count)" + returned(evidence) + ".",
            assertion: RowAssertion(noRowOf: invariant.sql), evidence: .brokenRule)
        // The states from the last one that held to the failure.
        let since = evidence.history.lastIndex(of: false).map { $0 + 1 }
        var step: Int?
        if let since, since < evidence.history.count {
            step = store.steps.firstIndex { $0.number == since }
            finding.transaction = since
            finding.explanation += " It has been broken since transaction \(since)."
            if evidence.history[..<since].contains(true) {
                finding.explanation += " Earlier transactions broke and restored it, too."
            }
        } else if since != nil {
            step = store.steps.firstIndex { $0.number == nil }
            finding.explanation +=
                store.store.isBeforeRollback
                ? " The transaction that was rolled back broke it."
                : " The transaction that was open at the failure broke it."
        } else if !evidence.history.isEmpty {
            finding.explanation += " It was broken before the first transaction of the history."
        }
        finding.rows = keyedRows(evidence, in: store)
        add(step, to: &finding, of: invariant, in: store)
        return finding
    }

    /// Adds the statement of the step, and its rows if the finding has none.
    private static func add(
        _ step: Int?, to finding: inout Finding, of invariant: Invariant, in store: Timeline
    ) {
        guard let step else { return }
        let words = SQLText(invariant.sql).words
        let tables = store.steps[step].tables.filter { words.contains(folded($0.table.name)) }
        // A change of the returned rows themselves is closest to the cause.
        var changed: [ChangedTable] = []
        for (index, row) in finding.rows.enumerated() {
            guard let table = tables.first(where: { folded($0.table.name) == folded(row.table) }),
                let change = table.rows.first(where: { $0.key == row.key.map(\.value) })
            else { continue }
            finding.rows[index] = Timeline.row(change, in: table)
            changed.append(table)
        }
        if finding.rows.isEmpty {
            finding.rows = tables.flatMap { table in
                table.rows.prefix(5).map { Timeline.row($0, in: table) }
            }
        }
        for table in changed.prefix(1) + tables where finding.statement == nil {
            let kinds: Set<StatementOutline.Kind> =
                table.counts.inserted + table.counts.updated == 0 ? [.delete] : [.insert, .update]
            finding.statement =
                store.origin(inStep: step, of: table.table.name, by: kinds).statement?.record
        }
    }

    /// Returns text such as ` (id 31, amount 5; id 32, amount 9)`.
    private static func returned(_ evidence: InvariantEvidence) -> String {
        let rows = evidence.rows.prefix(3).map { row in
            StoredText.pairs(evidence.columns.prefix(6).map { String($0.prefix(60)) }, row)
        }
        return rows.isEmpty
            ? "" : ": " + rows.joined(separator: "; ") + (evidence.count > rows.count ? "; …" : "")
    }

    /// Returns the rows that the query names by their key, of the table with most of the columns; empty without one.
    private static func keyedRows(
        _ evidence: InvariantEvidence, in store: Timeline
    ) -> [Finding.Row] {
        let words = Set(SQLText(evidence.invariant.sql).words)
        let candidates = store.tables.filter { words.contains(folded($0.name)) }
            .map { rows(of: $0, evidence, in: store) }
            .filter { !$0.isEmpty && $0.count == evidence.rows.count }
            .sorted { $0[0].columns.count > $1[0].columns.count }
        guard let first = candidates.first else { return [] }
        let isOnly = candidates.dropFirst().allSatisfy { $0[0].columns.count < first[0].columns.count }
        return isOnly ? first : []
    }

    /// Returns the query's rows as rows of a table; empty if the table doesn't have all of them.
    private static func rows(
        of table: TableShape, _ evidence: InvariantEvidence, in store: Timeline
    ) -> [Finding.Row] {
        let names = evidence.columns.map(folded)
        let key = store.keyColumns(of: table.name).map { names.firstIndex(of: folded($0)) }
        let own = Set(table.columns.map { folded($0.name) })
        let others = names.indices.filter { own.contains(names[$0]) && !key.contains($0) }
        return evidence.rows.reduce(into: []) { rows, values in
            let places = key.compactMap(\.self) + others
            let bound = places.compactMap { values[$0].bindable }
            let sql =
                "SELECT 1 FROM \(quotedIdentifier(table.name)) WHERE "
                + rowCondition(places.map { evidence.columns[$0] })
            guard !key.contains(nil), bound.count == places.count,
                (try? store.rows(sql, bound, limit: 1))?.isEmpty == false
            else { return }
            rows.append(
                Finding.Row(
                    table: table.name,
                    key: zip(store.keyColumns(of: table.name), places)
                        .map { .init(column: $0, value: values[$1]) },
                    change: .present,
                    columns: others.map {
                        .init(column: evidence.columns[$0], old: nil, new: values[$0])
                    }))
        }
    }
}
