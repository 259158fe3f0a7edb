internal import FailureArtifactsSQLite
internal import FailureArtifactsBundle

/// Changes that a rollback discarded, with the error that caused it.
enum RolledBack: FindingRule {
    static let code = Finding.Code.rolledBack

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        Array(store.rolledBackTransactions().compactMap { finding($0, in: store, failure) }.suffix(3))
    }

    private static func finding(
        _ attempt: StoreEvidence.RolledBackTransaction, in store: StoreEvidence,
        _ failure: FailureEvidence
    ) -> Finding? {
        let writes = attempt.writes
        guard !writes.isEmpty else { return nil }
        let names = writes.compactMap {
            $0.outline.table.flatMap { store.schema.tables[$0]?.name }
        }
        var tables: [String] = []
        for name in names where !tables.contains(name) { tables.append(name) }
        let rows = writes.reduce(0) { $0 + ($1.record.changes ?? 0) }
        let message = attempt.error?.record.error?.message
        let isNamed = message.map { failure.message.text.contains($0) } ?? false
        let isSaved = store.store.capture.method == "beforeRollback"
        var lost: [Finding.Row] = []
        if isSaved, let step = store.steps.last, step.number == nil {
            lost = step.tables.flatMap { table in
                table.rows.prefix(5).map { StoreEvidence.row($0, in: table) }
            }
        }
        let subject =
            rows > 0
            ? "\(Counted.items(Int64(rows), "change")) in \(tables.isEmpty ? "the store" : tables.joined(separator: ", "))"
            : "A transaction"
        let verb = rows > 1 ? "were" : "was"
        return Finding(
            code: code, title: "\(subject) \(verb) rolled back",
            confidence: isNamed ? .certain : .possible, store: store.name, rows: Array(lost.prefix(10)),
            statement: (attempt.error ?? writes.last ?? attempt.end).record,
            explanation: message.map {
                "A statement of the transaction failed: \(SafeText.line($0)). "
                    + "The changes before it are lost, too."
            } ?? "The transaction ended with ROLLBACK, although none of its statements failed.",
            relevance: message == nil ? 15 : 25, likelyFrom: 65)
    }
}
