internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsBundle

/// Changes that a rollback discarded, with the error that caused it.
enum RolledBack: FindingRule {
    static let code = Finding.Code.rolledBack

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        Array(store.rolledBackTransactions().compactMap { finding($0, in: store, failure) }.suffix(3))
    }

    private static func finding(
        _ attempt: Timeline.RolledBackTransaction, in store: Timeline,
        _ failure: FailureEvidence
    ) -> Finding? {
        let writes = attempt.writes
        guard !writes.isEmpty else { return nil }
        let names = writes.compactMap {
            $0.outline.table.flatMap { store.schema.tables[$0]?.name }
        }
        var tables: [String] = []
        for name in names where !tables.contains(name) { tables.append(name) }
        let rows = writes.reduce(0) { $0 + ($1.record.changedRows ?? 0) }
        var lost: [Finding.Row] = []
        if let step = store.steps.last, step.number == nil, let first = step.statements.first,
            attempt.statements.contains(where: { $0.order == first.order })
        {
            lost = step.tables.flatMap { table in
                table.rows.prefix(5).map { Timeline.row($0, in: table) }
            }
        }
        let isRead = !store.asked.tables.isDisjoint(with: tables.map(folded))
        let subject =
            rows > 0
            ? "\(Counted.items(Int64(rows), "change")) in \(tables.isEmpty ? "the store" : tables.joined(separator: ", "))"
            : "A transaction"
        let verb = rows > 1 ? "were" : "was"
        return Finding(
            code: code, title: "\(subject) \(verb) rolled back",
            confidence: confidence(attempt, failure.message), store: store.name,
            rows: Array(lost.prefix(10)),
            statement: (attempt.error ?? writes.last ?? attempt.end).record,
            explanation: explanation(attempt),
            evidence: isRead ? .loss : .other)
    }

    private static func confidence(
        _ attempt: Timeline.RolledBackTransaction, _ message: FailureMessage
    ) -> Finding.Confidence {
        guard let error = attempt.error else { return .possible }
        if error.outline.kind == .commit {
            // The row that made it fail is another finding, and tells more.
            return message.text.contains(error.record.sql) ? .likely : .possible
        }
        return error.record.error.map(message.names) == true ? .certain : .possible
    }

    private static func explanation(_ attempt: Timeline.RolledBackTransaction) -> String {
        guard let error = attempt.error else {
            return attempt.isWhole
                ? "The transaction ended with ROLLBACK. The log has no error of its statements."
                : "ROLLBACK TO undid what was changed since a savepoint. The log has no error of its statements."
        }
        let message = error.record.error.map { SafeText.line($0.message) }
        guard error.outline.kind != .commit else {
            return "Its COMMIT failed"
                + (message.map { ": \($0)." }
                    ?? ", because a row violated a deferred foreign key or the database was locked.")
        }
        return
            "A statement of the transaction failed: \(message ?? ""). The changes before it are lost, too."
    }
}
